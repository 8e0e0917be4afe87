// The real command line, in a process of its own.

import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const packageFolder = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The repository. */
export const root = dirname(dirname(packageFolder));
export const bin = join(packageFolder, 'bin/treadle.js');

/** Starts the command line that `npm run build` has made, instead of the sources. */
export const BUILT: readonly string[] = [process.execPath, join(import.meta.dirname, 'built-process.ts')];

export interface ProcessOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments for Node itself. */
  readonly nodeArgs?: readonly string[];
  /** Default: standard input is empty. `open` never says anything and never ends. */
  readonly stdin?: 'empty' | 'open';
}

export interface RunningProcess {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** Resolves once standard output has this text; rejects when the process ends without it. */
  printed(text: string): Promise<void>;
  readonly ended: Promise<{
    readonly code: number | null;
    readonly signal: NodeJS.Signals | null;
    readonly stdout: string;
    readonly stderr: string;
  }>;
}

/** What the child sees of this machine: programs, and what the test says. No keys, no proxies. */
const environment = (env: Readonly<Record<string, string>>): Record<string, string> => ({
  PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  HOME: '/nonexistent',
  // What Node made of the sources is kept between the processes of all tests.
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
  ...env,
});

/** Starts the command line; `argv` are its arguments. */
export function startProcess(argv: readonly string[], options: ProcessOptions): RunningProcess {
  return startCommand(process.execPath, [...(options.nodeArgs ?? []), bin, ...argv], options);
}

/** Starts any program as the command line is started. */
export function startCommand(file: string, args: readonly string[], options: ProcessOptions): RunningProcess {
  const child = spawn(file, args, {
    cwd: options.cwd,
    env: environment(options.env ?? {}),
    stdio: [options.stdin === 'open' ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    // With standard input open it has a stream more, which no test writes to.
  }) as ChildProcessByStdio<null, Readable, Readable>;
  const collected = { stdout: '', stderr: '' };
  const waiting = new Set<{ readonly text: string; resolve(): void; reject(error: Error): void }>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    collected.stdout += text;
    for (const one of waiting) {
      if (!collected.stdout.includes(one.text)) continue;
      waiting.delete(one);
      one.resolve();
    }
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    collected.stderr += text;
  });
  const ended = new Promise<Awaited<RunningProcess['ended']>>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      for (const one of waiting) {
        one.reject(new Error(`It ended (${code ?? signal}) without printing '${one.text}':\n${collected.stderr}`));
      }
      resolve({ code, signal, ...collected });
    });
  });
  return {
    child,
    ended,
    printed: (text) =>
      collected.stdout.includes(text)
        ? Promise.resolve()
        : new Promise((resolve, reject) => waiting.add({ text, resolve, reject })),
  };
}
