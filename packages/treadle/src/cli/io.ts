import type { Writable } from 'node:stream';

/** Standard output or standard error. */
export type OutputStream = Writable & { readonly isTTY?: boolean };

/** Standard input: its bytes, and whether a person is typing. */
export type InputStream = AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean };

/** The signals the command line answers to. */
export type InterruptSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** Everything outside that the command line touches, so that a test can be its outside. */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** An absolute path. */
  readonly cwd: string;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Calls `listener` for each signal; returns a function that ends it. */
  onSignal(listener: (signal: InterruptSignal) => void): () => void;
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
  /** Calls `fn` after so many milliseconds, without keeping the process alive; returns a function that cancels it. */
  after(ms: number, fn: () => void): () => void;
  /**
   * Takes what looks like secrets out of what the system shows of this process's environment, as far as that can be done;
   * `env` stays as it is. Absent where that isn't the command line's to do.
   */
  hideEnvironment?(): Promise<unknown>;
  /**
   * Keeps what is typed from being shown, key by key, until `show`. Absent where that can't be done. `interrupt` does what
   * Ctrl-C does else.
   */
  hideTyping?(): { show(): void; interrupt(): void };
  /** Ends the process at once. */
  exit(code: number): void;
}

/** A stream to print to. What is printed is plain text in order; nothing is ever printed over. */
export interface Printer {
  readonly isTTY: boolean;
  print(text: string): void;
  /** Null while the stream keeps up; else it resolves when there is room again, or the reader is gone. */
  flowing(): Promise<void> | null;
  /** Resolves when everything printed has left the process, or the reader is gone. */
  flushed(): Promise<void>;
  /** Ends the line that is open, if one is. */
  endLine(): void;
  /** True when what was printed last has no end of line. */
  readonly isLineOpen: boolean;
  /** True when the reader closed its end (`EPIPE`) or a write failed otherwise: what is printed goes nowhere. */
  readonly isClosed: boolean;
  /** Why a write failed; null when none did, and when it was only that the reader left. Certain once `flushed`. */
  readonly failure: Error | null;
  /** Calls `listener` once when that happens, at once if it has. */
  onClosed(listener: () => void): void;
}

/** Prints a text that is all there is to do, and returns the exit code. */
export function printed(out: Printer, text: string): number {
  out.print(text);
  return 0;
}

export function createPrinter(stream: OutputStream): Printer {
  const closedListeners: (() => void)[] = [];
  let isClosed = false;
  let failure: Error | null = null;
  let lineIsOpen = false;
  let clogged = false;
  let waiting: (() => void)[] = [];

  const release = (): void => {
    clogged = false;
    const released = waiting;
    waiting = [];
    for (const resolve of released) resolve();
  };
  const close = (error: Error | null): void => {
    const wasClosed = isClosed;
    isClosed = true;
    // The first one is the cause; a stream that is closed only says so about every later write.
    if (!wasClosed && error !== null && !isReaderGone(error)) failure = error;
    release();
    if (!wasClosed) for (const listener of closedListeners) listener();
  };
  // A write hears of its failure before the stream's listeners do, and whoever waits for the write looks at once.
  const written = (error?: Error | null): void => {
    if (error) close(error);
  };
  stream.on('error', close);
  stream.on('close', () => close(null));
  stream.on('drain', release);

  function print(text: string): void {
    if (text === '') return;
    lineIsOpen = !text.endsWith('\n');
    if (!isClosed) clogged = !stream.write(text, written);
  }

  return {
    get isTTY() {
      return stream.isTTY === true;
    },
    get isClosed() {
      return isClosed;
    },
    get failure() {
      return failure;
    },
    print,
    get isLineOpen() {
      return lineIsOpen;
    },
    endLine() {
      if (lineIsOpen) print('\n');
    },
    onClosed(listener) {
      if (isClosed) listener();
      else closedListeners.push(listener);
    },
    flowing: () => (clogged && !isClosed ? new Promise((resolve) => waiting.push(resolve)) : null),
    flushed() {
      if (isClosed) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.push(resolve);
        // An empty write is called back after all that was written before it, also with an error.
        stream.write('', (error) => {
          written(error);
          resolve();
        });
      });
    },
  };
}

const isReaderGone = (error: Error): boolean => 'code' in error && error.code === 'EPIPE';
