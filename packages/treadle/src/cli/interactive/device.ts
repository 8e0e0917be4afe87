import process from 'node:process';

import type { TerminalDevice } from '../../terminal/ui/device.ts';
import type { PlainDevice } from '../../terminal/ui/plain.ts';
import { readLines } from '../asking/terminal.ts';
import type { CommandContext } from '../context.ts';
import type { CliIo } from '../io.ts';

/** This process's terminal; null where there is none to draw on. */
export function processDevice(io: CliIo): TerminalDevice | null {
  const { stdin, stdout } = process;
  if (io.stdin !== stdin || io.stdout !== stdout || !stdin.isTTY || !stdout.isTTY) return null;
  return {
    env: io.env,
    get columns() {
      return stdout.columns;
    },
    get rows() {
      return stdout.rows;
    },
    write: (bytes) => void stdout.write(bytes),
    readKeys(take) {
      stdin.setRawMode(true);
      stdin.on('data', take);
      stdin.resume();
      return () => {
        stdin.off('data', take);
        stdin.setRawMode(false);
        stdin.pause();
      };
    },
    onResize(changed) {
      stdout.on('resize', changed);
      return () => stdout.off('resize', changed);
    },
    suspend(back) {
      process.once('SIGCONT', back);
      // The shell's job: the whole group stops, as with its own key.
      process.kill(0, 'SIGTSTP');
    },
    now: io.now,
    after(ms, fn) {
      const timer = setTimeout(fn, ms);
      return () => clearTimeout(timer);
    },
  };
}

/** Lines in, lines out. */
export function plainDevice({ io, out }: CommandContext): PlainDevice {
  const reader = readLines(io.stdin);
  return {
    write: (text) => out.print(text),
    now: io.now,
    lines: (async function* lines() {
      for (let line = await reader.next(); line !== null; line = await reader.next()) yield line;
    })(),
  };
}
