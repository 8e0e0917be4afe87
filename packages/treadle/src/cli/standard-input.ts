import type { CliIo } from './io.ts';
import { UsageError } from './usage-error.ts';

/** Milliseconds that standard input has to begin, when the prompt is there already. */
const PATIENCE_MS = 3000;
const MOST_BYTES = 10_000_000;

/**
 * What was piped in, or null when there is nothing. `patient` waits for as long as it takes. `brief` gives input 3 seconds
 * to begin, because a program that starts another often leaves its standard input open and never writes to it.
 */
export async function readStandardInput(
  io: CliIo,
  wait: 'patient' | 'brief',
  say: (text: string) => void,
): Promise<string | null> {
  const iterator = io.stdin[Symbol.asyncIterator]();
  const first = iterator.next();
  const begun = await within(io, first, () => {
    if (wait === 'patient')
      say('Waiting for standard input. It ends with Ctrl-D, or when the program that writes it ends.');
    return wait === 'patient';
  });
  if (!begun) {
    // Whatever comes of it, nobody waits for it any more.
    first.catch(() => {});
    say(
      'Nothing came on standard input within 3 s: going on without it. (--stdin waits for it, --no-stdin skips this.)',
    );
    return null;
  }
  return readAll(await first, iterator);
}

/** True once `work` has settled. When it takes longer than the patience, `late` says whether to go on waiting. */
function within(io: CliIo, work: Promise<unknown>, late: () => boolean): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = io.after(PATIENCE_MS, () => {
      if (!late()) resolve(false);
    });
    const settled = (): void => {
      cancel();
      resolve(true);
    };
    work.then(settled, settled);
  });
}

async function readAll(
  first: IteratorResult<Uint8Array | string>,
  iterator: AsyncIterator<Uint8Array | string>,
): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (let next = first; next.done !== true; next = await iterator.next()) {
    const chunk = Buffer.from(next.value);
    bytes += chunk.length;
    if (bytes > MOST_BYTES)
      throw new UsageError('Standard input has more than 10 MB. Put it into a file and name the file.');
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  if (whole.includes(0)) throw new UsageError('Standard input is not text: it has NUL bytes.');
  const text = whole
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimEnd();
  return text.trim() === '' ? null : text;
}
