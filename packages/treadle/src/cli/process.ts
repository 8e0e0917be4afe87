import process from 'node:process';

import type { CliIo, InterruptSignal } from './io.ts';
import { main } from './main.ts';
import { DEFAULT_PARTS, type CliParts } from './parts.ts';

const SIGNALS: readonly InterruptSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** This process as the outside of the command line. */
export function processIo(): CliIo {
  return {
    env: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    onSignal(listener) {
      for (const signal of SIGNALS) process.on(signal, listener);
      return () => {
        for (const signal of SIGNALS) process.off(signal, listener);
      };
    },
    now: () => Date.now(),
    after(ms, fn) {
      const timer = setTimeout(fn, ms);
      return () => clearTimeout(timer);
    },
    hideEnvironment: async () => (await import('@treadle/tools')).hideEnvironment(),
    hideTyping() {
      process.stdin.setRawMode?.(true);
      return {
        show: () => void process.stdin.setRawMode?.(false),
        interrupt: () => void process.kill(process.pid, 'SIGINT'),
      };
    },
    exit: (code) => process.exit(code),
  };
}

/** Runs the command line with this process's arguments, then ends the process. */
export async function runProcess(parts: CliParts = DEFAULT_PARTS): Promise<void> {
  const code = await main(process.argv.slice(2), processIo(), parts);
  // Not left to itself: an open standard input or a kept connection would hold the process.
  process.exit(code);
}
