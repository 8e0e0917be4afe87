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
  /** Forgets what is typed until the next question has been seen: it is for one that somebody else has answered. Absent where nothing is typed ahead. */
  forget?(): void;
  /** The same for a secret: nothing of what is typed is shown. */
  askSecret(question: string, until: Promise<unknown>): Promise<string | null>;
  /**
   * Lets the user choose from a list: its place there, or null. With `takesWords`, words that match nothing are an answer.
   * Absent where only lines are typed.
   */
  pick?(
    title: string,
    items: readonly Choice[],
    until: Promise<unknown>,
    takesWords?: boolean,
  ): Promise<number | string | null>;
}

/** Something to choose, and what is to be known of it. */
export interface Choice {
  readonly text: string;
  readonly about?: string;
}

/** Nobody types lines this long; a program that does would fill the memory. */
const LONGEST_LINE = 100_000;

/** Milliseconds in which nobody has read a question. */
const SEEN_MS = 300;

/** @param lines what is typed, shared by all who ask */
export function openTerminal(io: CliIo, out: Printer, lines: LineReader): Terminal {
  const isThere = io.stdin.isTTY === true && out.isTTY;
  let before: Promise<unknown> = Promise.resolve();
  /** What was typed before the next question was seen is for another one. */
  let isStale = false;

  async function askNow(question: string, until: Promise<unknown>): Promise<string | null> {
    out.endLine();
    out.print(question);
    if (isStale) await Promise.race([new Promise<void>((resolve) => void io.after(SEEN_MS, resolve)), until]);
    isStale = false;
    return Promise.race([lines.next(), until.then(() => null)]);
  }

  async function askSecretNow(question: string, until: Promise<unknown>): Promise<string | null> {
    out.endLine();
    const typing = io.hideTyping?.();
    try {
      out.print(question);
      const line = await Promise.race([lines.next(typing && { keys: true }), until.then(() => null)]);
      out.print('\n');
      if (line === INTERRUPTED) {
        typing?.interrupt();
        // Nothing else keeps the process until the signal has come.
        await Promise.race([until, new Promise<void>((resolve) => void io.after(1000, resolve))]);
      }
      return line === INTERRUPTED ? null : line;
    } finally {
      typing?.show();
    }
  }

  function inTurn(work: () => Promise<string | null>): Promise<string | null> {
    if (!isThere) return Promise.resolve(null);
    const asked = before.then(work);
    before = asked.catch(() => {});
    return asked;
  }

  return {
    isThere,
    ask: (question, until) => inTurn(() => askNow(question, until)),
    forget() {
      isStale = true;
      lines.forget();
    },
    askSecret: (question, until) => inTurn(() => askSecretNow(question, until)),
  };
}

/** The lines of an input. */
export interface LineReader {
  /**
   * The next line without its end; null when there is none. With `keys`, the terminal hands on each key as it is pressed:
   * Backspace and Ctrl-U are done here, Ctrl-D at the beginning ends, and Ctrl-C is `INTERRUPTED`.
   */
  next(how?: { readonly keys: true }): Promise<string | null>;
  /** Forgets what was read, and all that comes before the next call of `next`. */
  forget(): void;
}

/** Ctrl-C as a line, where keys come as they are pressed. */
const INTERRUPTED = '\u0003';

/** The line that keys come to, and where it ends; null while it is open. */
function lineOfKeys(text: string): { readonly line: string | null; readonly end: number } | null {
  let line = '';
  for (const [at, key] of [...text].entries()) {
    if (key === '\r' || key === '\n') return { line, end: at + 1 };
    if (key === INTERRUPTED) return { line: INTERRUPTED, end: at + 1 };
    if (key === '\u0004' && line === '') return { line: null, end: at + 1 };
    if (key === '\u0015') line = '';
    else if (key === '\u007f' || key === '\b') line = line.slice(0, -1);
    else line += key;
  }
  return null;
}

/** Reads lines, from the moment on that somebody asks for one. */
export function readLines(input: AsyncIterable<Uint8Array | string>): LineReader {
  let iterator: AsyncIterator<Uint8Array | string> | undefined;
  const decoder = new TextDecoder();
  let text = '';
  let ended = false;
  /** A line that somebody stopped waiting for is the next one's. */
  let pending: Promise<void> | undefined;
  let isForgetting = false;
  /** Who stopped waiting takes no line from the one who waits now. */
  let turn = 0;

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

  function read(): Promise<void> {
    pending ??= more().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  async function forgetAll(): Promise<void> {
    while (isForgetting && !ended) {
      text = '';
      await read();
    }
  }

  return {
    forget() {
      if (isForgetting) return;
      turn += 1;
      isForgetting = true;
      void forgetAll();
    },
    async next(how) {
      if (isForgetting) text = '';
      isForgetting = false;
      turn += 1;
      const own = turn;
      for (;;) {
        const typed = how && lineOfKeys(text);
        if (typed) {
          text = [...text].slice(typed.end).join('');
          return typed.line;
        }
        const end = how ? -1 : text.indexOf('\n');
        if (end !== -1) {
          const line = text.slice(0, end).replace(/\r$/, '');
          text = text.slice(end + 1);
          return line;
        }
        if (ended) return null;
        await read();
        if (own !== turn) return null;
      }
    },
  };
}
