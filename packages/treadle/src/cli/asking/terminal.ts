import type { CliIo, Printer } from '../io.ts';

/** A person at a terminal who can be asked: standard input and output are one. */
export interface Terminal {
  /** False when nobody is there to answer. */
  readonly isThere: boolean;
  /**
   * Prints a question and waits for a line. Null when there is no more to come (Ctrl-D), or `until` resolved first. One
   * question at a time: a second one waits for the first to be answered.
   */
  ask(question: string, until: Promise<unknown>): Promise<string | null>;
}

/** Nobody types lines this long; a program that does would fill the memory. */
const LONGEST_LINE = 100_000;

/** @param lines what is typed, shared by all who ask */
export function openTerminal(io: CliIo, out: Printer, lines: LineReader): Terminal {
  const isThere = io.stdin.isTTY === true && out.isTTY;
  let before: Promise<unknown> = Promise.resolve();

  async function askNow(question: string, until: Promise<unknown>): Promise<string | null> {
    out.endLine();
    out.print(question);
    return Promise.race([lines.next(), until.then(() => null)]);
  }

  return {
    isThere,
    ask(question, until) {
      if (!isThere) return Promise.resolve(null);
      const asked = before.then(() => askNow(question, until));
      before = asked.catch(() => {});
      return asked;
    },
  };
}

/** The lines of an input. */
export interface LineReader {
  /** The next line without its end; null when there is none. */
  next(): Promise<string | null>;
}

/** Reads lines, from the moment on that somebody asks for one. */
export function readLines(input: AsyncIterable<Uint8Array | string>): LineReader {
  let iterator: AsyncIterator<Uint8Array | string> | undefined;
  const decoder = new TextDecoder();
  let text = '';
  let ended = false;
  /** A line that somebody stopped waiting for is the next one's. */
  let pending: Promise<void> | undefined;

  async function more(): Promise<void> {
    iterator ??= input[Symbol.asyncIterator]();
    const next = await iterator.next();
    if (next.done === true) {
      ended = true;
      return;
    }
    if (text.length >= LONGEST_LINE) return;
    text += typeof next.value === 'string' ? next.value : decoder.decode(next.value, { stream: true });
  }

  return {
    async next() {
      for (;;) {
        const end = text.indexOf('\n');
        if (end !== -1) {
          const line = text.slice(0, end).replace(/\r$/, '');
          text = text.slice(end + 1);
          return line;
        }
        if (ended) return null;
        pending ??= more().finally(() => {
          pending = undefined;
        });
        await pending;
      }
    },
  };
}
