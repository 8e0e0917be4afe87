// The command line in a test: a world of its own, and everything it printed.

import { memoryJournal, type Model } from '@treadle/core';

import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';

import type { CliIo, InterruptSignal, OutputStream } from '../cli/io.ts';
import { main } from '../cli/main.ts';
import { DEFAULT_PARTS, type CliParts } from '../cli/parts.ts';

export interface CliOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What is piped in. Absent: standard input is a terminal at which nobody types. */
  readonly stdin?: string | AsyncIterable<Uint8Array | string>;
  /** Standard output is a terminal; `both`: standard error is the same one. */
  readonly isTTY?: boolean | 'both';
  /** Every write to standard output fails with this error. */
  readonly outputError?: Error;
  /** Nobody reads standard output: what is printed stays where it is. */
  readonly clogged?: boolean;
  /** Answers instead of the model that the arguments name. */
  readonly model?: Model;
  readonly parts?: Partial<CliParts>;
  /** Passes this many milliseconds at once where the command line waits for input. */
  readonly after?: CliIo['after'];
}

export interface CliOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What a terminal shows that is both. */
  readonly screen: string;
}

/** A call of the command line that is under way. */
export interface CliCall {
  readonly outcome: Promise<CliOutcome>;
  signal(name: InterruptSignal): void;
  /** The reader of standard output goes away. */
  closeOutput(): void;
  /** Codes with which the process was to end at once. */
  readonly exits: readonly number[];
  /** What standard output has so far. */
  stdout(): string;
  /** Resolves once standard output has this text. */
  printed(text: string): Promise<void>;
  /** Resolves once standard output and standard error together have this text, so many times. */
  shown(text: string, times?: number): Promise<void>;
}

export function startCli(argv: readonly string[], options: CliOptions = {}): CliCall {
  const listeners = new Set<(signal: InterruptSignal) => void>();
  let screen = '';
  let waiting: { readonly isThere: () => boolean; readonly resolve: () => void }[] = [];
  const show = (text: string): void => {
    screen += text;
    const ready = waiting.filter((one) => one.isThere());
    waiting = waiting.filter((one) => !ready.includes(one));
    for (const { resolve } of ready) resolve();
  };
  const { isTTY = false, clogged = false, outputError } = options;
  const stdout = collector({ isTTY: isTTY !== false, clogged, show, ...(outputError && { fails: outputError }) });
  const stderr = collector({ isTTY: isTTY === 'both', clogged: false, show });
  const exits: number[] = [];
  const { stdin } = options;
  const io: CliIo = {
    env: options.env ?? {},
    cwd: options.cwd ?? tmpdir(),
    stdin:
      stdin === undefined
        ? Object.assign(Readable.from([]), { isTTY: true })
        : typeof stdin === 'string'
          ? Readable.from([Buffer.from(stdin)])
          : stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    onSignal(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    now: () => Date.now(),
    after: options.after ?? (() => () => {}),
    exit: (code) => exits.push(code),
  };
  const { model } = options;
  const ownModel = model === undefined ? {} : { model: async () => model };
  const journals = { journal: async () => memoryJournal() };
  const isKept = options.env?.['TREADLE_HOME'] !== undefined || options.env?.['HOME'] !== undefined;
  const parts = { ...DEFAULT_PARTS, ...(isKept ? {} : journals), ...ownModel, ...options.parts };
  return {
    outcome: main(argv, io, parts).then((code) => ({ code, stdout: stdout.text(), stderr: stderr.text(), screen })),
    signal(name) {
      for (const listener of listeners) listener(name);
    },
    closeOutput: stdout.close,
    exits,
    stdout: stdout.text,
    printed: stdout.printed,
    shown: (text, times = 1) =>
      new Promise<void>((resolve) => {
        const isThere = (): boolean => screen.split(text).length > times;
        if (isThere()) resolve();
        else waiting.push({ isThere, resolve });
      }),
  };
}

/** Calls the command line and waits for its end. */
export function runCli(argv: readonly string[], options: CliOptions = {}): Promise<CliOutcome> {
  return startCli(argv, options).outcome;
}

interface CollectorOptions {
  readonly isTTY: boolean;
  readonly clogged: boolean;
  readonly show: (text: string) => void;
  readonly fails?: Error;
}

function collector({ isTTY, clogged, show, fails }: CollectorOptions) {
  let collected = '';
  let isClosed = false;
  let waiting: { readonly text: string; readonly resolve: () => void }[] = [];
  const stream: OutputStream = Object.assign(
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        if (isClosed) {
          done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
          return;
        }
        if (fails) {
          done(fails);
          return;
        }
        collected += chunk.toString();
        show(chunk.toString());
        const ready = waiting.filter(({ text }) => collected.includes(text));
        waiting = waiting.filter((one) => !ready.includes(one));
        for (const { resolve } of ready) resolve();
        if (!clogged) done();
      },
    }),
    { isTTY },
  );
  return {
    stream,
    text: () => collected,
    close: () => {
      isClosed = true;
    },
    printed: (text: string) =>
      collected.includes(text) ? Promise.resolve() : new Promise<void>((resolve) => waiting.push({ text, resolve })),
  };
}

/** A folder that is removed with `await using`. Its path is real. */
export async function temporaryFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'treadle-cli-')));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The JSON lines of `--output-format events`. */
export function jsonLines<Line>(text: string): Line[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}
