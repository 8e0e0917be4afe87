import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';

import { temporaryFolder } from '../test-support/harness.ts';
import { bin } from '../test-support/process.ts';
import { startInTerminal } from '../test-support/terminal-process.ts';

/** Milliseconds from the start to the input line. A machine that is busy gets three times as much. */
const BOUND_MS = 300;
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
  const times: number[] = [];
  await using folder = await temporaryFolder();
  for (let round = 0; round < 6; round += 1) {
    const began = performance.now();
    await using terminal = startInTerminal([], { cwd: folder.path });
    await terminal.shows(PROMPT);
    times.push(performance.now() - began);
  }
  // The first one fills the caches.
  const median = times.slice(1).toSorted((a, b) => a - b)[2] ?? Infinity;
  console.log(`start to the input line, from sources: ${median.toFixed(0)} ms, at most ${BOUND_MS}`);
  expect(median).toBeLessThan(3 * BOUND_MS);
});
