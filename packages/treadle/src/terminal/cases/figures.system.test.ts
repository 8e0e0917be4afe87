import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';

import { describe, expect, it } from 'vitest';

import { BUILT, root } from '../../test-support/process.ts';
import { cpuMs, figure, residentMb } from '../../test-support/process-figures.ts';
import { longReply, STATUS, terminalWorld } from '../../test-support/terminal-world.ts';

const TOKENS = 2000;
const PLAIN = [process.execPath, '--conditions=treadle-source'];
const STREAMED = { text: longReply(13_400), chunkSize: 7, chunkDelayMs: 5 };

describe('the figures of the terminal', () => {
  it(
    'costs little for each token, nothing when idle, and no memory for what has been shown',
    { timeout: 90_000 },
    async () => {
      await using world = await terminalWorld([STREAMED, STREAMED, STREAMED, 'x\n'.repeat(5000)]);
      const writer = join(root, 'packages/treadle/src/test-support/plain-writer-process.ts');
      const terminal = world.open([], { columns: 100, rows: 30, command: BUILT });
      await terminal.shows(STATUS);
      const plain = world.open([writer, world.provider.url], { command: PLAIN });
      await plain.shows('ready');
      // What is made ready behind the input line is over when the commands are known.
      terminal.type('/help\r');
      await terminal.shows('/thinking');
      await new Promise((resolve) => setTimeout(resolve, 2000));
      const idle = { cpu: cpuMs(terminal.pid), bytes: terminal.emulator.raw().length };
      await new Promise((resolve) => setTimeout(resolve, 3000));
      figure('CPU in 3 idle seconds', cpuMs(terminal.pid) - idle.cpu, 0.3, 'ms', expect);
      expect(terminal.emulator.raw().length).toBe(idle.bytes);

      const oneShot = world.open(['run', 'Go'], { command: BUILT });
      const before = { cpu: cpuMs(terminal.pid), bytes: terminal.emulator.raw().length, at: performance.now() };
      const plainBefore = cpuMs(plain.pid);
      terminal.type('Go\r');
      plain.type('\r');
      await oneShot.shows('Heading 9', 60_000);
      const oneShotMb = residentMb(oneShot.pid);
      await plain.shows(/^over$/m, 60_000);
      await terminal.shows(/1 turn · /, 60_000);
      const seconds = (performance.now() - before.at) / 1000;
      const sent = terminal.emulator.raw().slice(before.bytes);
      const tokenMs = (cpuMs(terminal.pid) - before.cpu) / TOKENS;
      const plainMs = (cpuMs(plain.pid) - plainBefore) / TOKENS;
      figure('CPU per token of a plain write', plainMs, Infinity, 'ms', expect);
      figure('CPU per token', tokenMs, Math.max(0.4, 1.5 * plainMs), 'ms', expect);
      figure('bytes per token', sent.length / TOKENS, 60, 'B', expect);
      figure('writes per second', sent.split('\u001b[?2026h').length / seconds, 31, '', expect);
      const held = residentMb(terminal.pid);
      figure('memory beside treadle run', held - oneShotMb, 25, 'MB', expect);
      terminal.type('Go\r');
      await terminal.shows(/1 turn · [^]*1 turn · /, 60_000);
      figure('memory of 5,000 more lines', residentMb(terminal.pid) - held, 5, 'MB', expect);
    },
  );

  it('takes a large paste, and looks through 50,000 files, while nobody has to wait', async () => {
    await using world = await terminalWorld([]);
    // In Git's index alone: nothing reads them.
    const git = (args: readonly string[], input: string): string =>
      execFileSync('git', args, { cwd: world.folder, input }).toString().trim();
    git(['init', '-q'], '');
    const hash = git(['hash-object', '--stdin'], '');
    const files = Array.from({ length: 50_000 }, (_, file) => `100644 ${hash}\tpart-${file % 100}/module-${file}.ts`);
    git(['update-index', '--index-info'], files.join('\n'));
    const terminal = world.open([], { command: BUILT });
    terminal.type('/help\r');
    await terminal.shows('/thinking');
    /** Milliseconds from keys to this on the screen. */
    const until = async (keys: string, shown: RegExp): Promise<number> => {
      const { length } = terminal.emulator.raw();
      const at = performance.now();
      terminal.type(keys);
      while (!shown.test(terminal.emulator.raw().slice(length))) await new Promise((resolve) => setImmediate(resolve));
      return performance.now() - at;
    };
    const paste = Array.from({ length: 2000 }, (_, line) => `line ${line}\t${'x'.repeat(90)}`).join('\n');
    const pasted = await until(`\u001b[200~${paste}\u001b[201~`, /2,000 lines/);
    figure('a paste of 200 KB', pasted, 100, 'ms', expect);
    terminal.type('\u0015@');
    await terminal.shows(/^❯ @part-/m);
    const keys: number[] = [];
    for (const key of 'mod49zz') keys.push(await until(key, /./));
    figure('completion in 50,000 files, slowest key', Math.max(...keys), 50, 'ms', expect);
  });

  it('shows the input line soon', async () => {
    await using world = await terminalWorld([]);
    const start = async (args: readonly string[], shows: RegExp): Promise<number> => {
      const at = performance.now();
      const terminal = world.open(args, { command: BUILT });
      while (!shows.test(terminal.emulator.raw())) await new Promise((resolve) => setTimeout(resolve, 5));
      const took = performance.now() - at;
      await terminal[Symbol.asyncDispose]();
      return took;
    };
    const [version, prompt]: [number[], number[]] = [[], []];
    for (let round = 0; round < 7; round += 1) {
      version.push(await start(['--version'], /\d\.\d/));
      prompt.push(await start([], /> /));
    }
    const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[3] ?? Infinity;
    figure('start to version, median of 7', median(version), Infinity, 'ms', expect);
    figure('start to input line', median(prompt), 300, 'ms', expect);
  });
});
