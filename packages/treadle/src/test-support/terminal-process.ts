// The real command line in a real pseudo-terminal, with an emulator behind it.

import { createRequire } from 'node:module';
import process from 'node:process';

import { createEmulator, type Emulator } from './emulator.ts';
import { bin } from './process.ts';

interface Pty {
  readonly pid: number;
  onData(take: (text: string) => void): unknown;
  onExit(take: (end: { readonly exitCode: number; readonly signal?: number }) => void): unknown;
  write(text: string): void;
  resize(columns: number, rows: number): void;
  kill(signal: string): void;
}

const { spawn } = createRequire(import.meta.url)('@lydell/node-pty') as {
  spawn(file: string, args: readonly string[], options: object): Pty;
};

export interface TerminalProcess extends AsyncDisposable {
  readonly emulator: Emulator;
  readonly pid: number;
  /** Sends keys. */
  type(keys: string): void;
  /** Resolves with the lines of history and screen once they hold this; rejects with them after so many milliseconds. */
  shows(what: string | RegExp, ms?: number): Promise<string>;
  resize(columns: number, rows: number): Promise<void>;
  kill(signal: string): void;
  readonly ended: Promise<number>;
}

export interface TerminalOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
  /** It answers no questions, like an old terminal. */
  readonly isMute?: boolean;
  /** What it answers to questions that the emulator leaves open. */
  readonly answers?: Readonly<Record<string, string>>;
  /** Milliseconds until each answer is there. Default 0. */
  readonly answersAfterMs?: number;
  /** Sees each piece of output as it comes. */
  readonly onOutput?: (text: string) => void;
  /** Instead of the command line. */
  readonly command?: readonly string[];
}

/** Starts `treadle` with these arguments in a terminal. */
export function startInTerminal(args: readonly string[], options: TerminalOptions): TerminalProcess {
  const { cwd, env = {}, columns = 80, rows = 24, command = [process.execPath, bin] } = options;
  const [file = '', ...before] = command;
  const emulator = createEmulator(columns, rows);
  const pty = spawn(file, [...before, ...args], {
    cols: columns,
    rows,
    cwd,
    env: {
      PATH: process.env['PATH'],
      HOME: cwd,
      LANG: 'C.UTF-8',
      TERM: 'xterm-256color',
      TREADLE_MODEL: 'demo',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      ...env,
    },
  });
  const { answersAfterMs = 0 } = options;
  const later = (answer: string): void => {
    if (answersAfterMs === 0) pty.write(answer);
    else setTimeout(() => pty.write(answer), answersAfterMs);
  };
  const asked = new Map<string, number>();
  pty.onData((text) => {
    emulator.write(text);
    for (const [question, answer] of Object.entries(options.answers ?? {})) {
      const times = emulator.raw().split(question).length - 1;
      if (times > (asked.get(question) ?? 0)) later(answer);
      asked.set(question, times);
    }
    options.onOutput?.(text);
  });
  if (options.isMute !== true) emulator.onAnswer(later);
  const ended = new Promise<number>(
    (resolve) => void pty.onExit(({ exitCode, signal }) => resolve(exitCode || (signal ?? 0))),
  );
  return {
    emulator,
    pid: pty.pid,
    ended,
    type: (keys) => pty.write(keys),
    async shows(what, ms = 20_000) {
      const until = Date.now() + ms;
      for (;;) {
        const text = (await emulator.lines()).join('\n');
        if (typeof what === 'string' ? text.includes(what) : what.test(text)) return text;
        if (Date.now() > until) throw new Error(`The terminal never showed ${String(what)}, but:\n${text}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async resize(width, height) {
      await emulator.resize(width, height);
      pty.resize(width, height);
    },
    kill: (signal) => pty.kill(signal),
    async [Symbol.asyncDispose]() {
      pty.kill('SIGKILL');
      await ended;
    },
  };
}
