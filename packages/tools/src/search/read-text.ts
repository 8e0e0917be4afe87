import type { OpenedFile } from '../root/open.ts';
import { sniff } from '../text/decode.ts';
import { readAt } from '../files/read-file.ts';

const sniffedBytes = 8192;
const blockBytes = 1024 * 1024;
/** A line longer than this is treated as several. */
const longestLine = 4 * 1024 * 1024;

/**
 * Reads a text file in pieces of whole lines, decoded like ripgrep does: UTF-8, or UTF-16 with a byte order mark. A
 * file with NUL characters counts as binary: nothing is given from the block on that has one. `take` returns false to
 * stop.
 */
export async function readText(
  file: OpenedFile,
  take: (text: string) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const start = await readAt(file, 0, sniffedBytes, signal);
  const sniffed = sniff(start, start.length < sniffedBytes);
  const wide = sniffed.kind === 'text' && (sniffed.encoding === 'utf-16le' || sniffed.encoding === 'utf-16be');
  const decoder = new TextDecoder(wide ? sniffed.encoding : 'utf-8');
  let open = '';
  let position = 0;
  for (;;) {
    // What was sniffed is not read again: most files are smaller.
    const block = position === 0 ? start : await readAt(file, position, blockBytes, signal);
    position += block.length;
    const last = block.length === 0 || (position === start.length && start.length < sniffedBytes);
    if (!wide && block.includes(0)) return;
    const text = open + decoder.decode(block, { stream: !last });
    const end = last || text.length > longestLine ? text.length : text.lastIndexOf('\n') + 1;
    open = text.slice(end);
    if (end > 0 && !(await take(text.slice(0, end)))) return;
    if (last) return;
  }
}
