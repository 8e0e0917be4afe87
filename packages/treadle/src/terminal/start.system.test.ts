import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';

import { temporaryFolder } from '../test-support/harness.ts';
import { bin } from '../test-support/process.ts';
import { startInTerminal } from '../test-support/terminal-process.ts';

/** Milliseconds from the start to the input line, on a machine where Node alone takes FLOOR_MS to print a line. */
const BOUND_MS = 300;
const FLOOR_MS = 50;
const PROMPT = /^>/m;

const TRACE = `import { registerHooks } from 'node:module';
import { appendFileSync } from 'node:fs';
registerHooks({ load(url, context, next) { appendFileSync(process.env.LOADED, url + '\\n'); return next(url, context); } });
`;

it('loads neither the agent nor a provider before the input line is there', async () => {
  await using folder = await temporaryFolder();
  const [trace, log] = [join(folder.path, 'trace.mjs'), join(folder.path, 'loaded')];
  await writeFile(trace, TRACE);
  const command = [process.execPath, '--import', trace, bin];
  await using terminal = startInTerminal([], { cwd: folder.path, command, env: { LOADED: log } });
  await terminal.shows(PROMPT);
  const loaded = (await readFile(log, 'utf8')).trim().split('\n');
  // All that is needed for the line is loaded when the rest begins to be.
  const rest = loaded.findIndex((url) => url.endsWith('/interactive/prepare.ts'));
  const before = rest === -1 ? loaded : loaded.slice(0, rest);
  console.log(`modules before the input line: ${before.length}, at most 160`);
  expect(before.filter((url) => /core\/src\/index|packages\/(?:models|tools|store|mcp)\//.test(url))).toEqual([]);
  expect(before.length).toBeLessThanOrEqual(160);
});

it('1: shows the input line soon', async () => {
  await using folder = await temporaryFolder();
  const timeOf = async (command?: readonly string[]): Promise<number> => {
    const began = performance.now();
    await using terminal = startInTerminal([], { cwd: folder.path, ...(command && { command }) });
    await terminal.shows(PROMPT);
    return performance.now() - began;
  };
  const [times, floors]: [number[], number[]] = [[], []];
  for (let round = 0; round < 6; round += 1) {
    // A busy machine is slow with both.
    floors.push(await timeOf([process.execPath, '-e', 'console.log("> ")']));
    times.push(await timeOf());
  }
  // The first one fills the caches.
  const median = (all: number[]): number => all.slice(1).toSorted((a, b) => a - b)[2] ?? Infinity;
  const [time, floor] = [median(times), median(floors)];
  console.log(
    `to the input line, from sources: ${time.toFixed(0)} ms, at most ${BOUND_MS}; Node ${floor.toFixed(0)} ms`,
  );
  expect(time / floor).toBeLessThan((3 * BOUND_MS) / FLOOR_MS);
});
