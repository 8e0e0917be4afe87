import process from 'node:process';

import type { TerminalDevice } from '../../terminal/ui/device.ts';
import type { PlainDevice } from '../../terminal/ui/plain.ts';
import { readLines } from '../asking/terminal.ts';
import type { CommandContext } from '../context.ts';
import type { CliIo } from '../io.ts';

/** Milliseconds that the system has to stop the process in. */
const STOPPING_MS = 500;

/** Lets pending input be read. */
export const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** This process's terminal; null where there is none to draw on. */
export function processDevice(io: CliIo): TerminalDevice | null {
  const { stdin } = process;
  const stdout: NodeJS.WriteStream & { _refreshSize?(): void } = process.stdout;
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
    // Node hears of another size only at the next turn of its loop: what is drawn for the old one would be wrapped.
    measure: () => stdout._refreshSize?.(),
    readKeys(take) {
      stdin.setRawMode(true);
      // Typed before the keys were read: the terminal's own line has made a line feed of Enter.
      let isTypedAhead = true;
      void turnOfLoop().then(() => {
        isTypedAhead = false;
      });
      const read = (bytes: Uint8Array): void =>
        take(isTypedAhead ? bytes.map((byte) => (byte === 10 ? 13 : byte)) : bytes);
      stdin.on('data', read);
      stdin.resume();
      return () => {
        stdin.off('data', read);
        stdin.setRawMode(false);
        stdin.pause();
      };
    },
    onResize(changed) {
      stdout.on('resize', changed);
      return () => stdout.off('resize', changed);
    },
    suspend(back) {
      // No key is read meanwhile: without a timer, nothing would keep the process until it hears of the signal. Where nobody
      // could wake it, as without a shell, the system doesn't stop it: then the timer is over soon.
      const goOn = (): void => {
        clearTimeout(soon);
        process.off('SIGCONT', goOn);
        back();
      };
      const soon = setTimeout(goOn, STOPPING_MS);
      process.once('SIGCONT', goOn);
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
    after: io.after,
    echoes: io.stdin.isTTY ?? false,
    lines: (async function* lines() {
      for (let line = await reader.next(); line !== null; line = await reader.next()) yield line;
    })(),
  };
}
