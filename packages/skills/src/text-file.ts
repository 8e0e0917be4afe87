import { openRoot } from '@treadle/tools';

const MAX_BYTES = 1_000_000;

/**
 * The text of a file inside a folder. Nothing outside the folder is read, whatever its links say.
 *
 * @throws Error when it can't be read, is too large, or is no text.
 */
export async function readTextFile(folder: string, file: string, hardLinks: 'refuse' | 'allow'): Promise<string> {
  const { handle, stats } = await openRoot(folder, { hardLinks }).open(file);
  try {
    if (stats.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
    const buffer = Buffer.alloc(stats.size);
    const { bytesRead } = await handle.read(buffer, 0, stats.size, 0);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(buffer.subarray(0, bytesRead));
    if (text.includes('\0')) throw new Error('it is no text');
    return text;
  } finally {
    await handle.close();
  }
}
