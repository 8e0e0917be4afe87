// @module-tag slow

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const SCRIPT = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { createSession, defineAgent, defineTool, memoryLedger } from '@treadle/core';
  import { scriptedModel } from '@treadle/testing';

  const tool = defineTool({ name: 'work', description: 'Works.', execute: () => 'x'.repeat(2000) });
  const ledger = memoryLedger(1000);
  const model = scriptedModel(
    ({ messages }) => (messages.length > 1 ? 'Done.' : { toolCalls: [{ name: 'work' }] }),
    { record: false, cost: () => 0.0001 },
  );
  const agent = defineAgent({ model, tools: [tool], maxTokens: 10, budget: { ledger } });
  const heap = [];
  // Without the spaces of compiled code, which the engine fills when it sees fit.
  const ofData = ({ space_name }) => !/code|trusted/.test(space_name);
  const used = () =>
    getHeapSpaceStatistics().filter(ofData).reduce((sum, { space_used_size }) => sum + space_used_size, 0);
  for (let n = 1; n <= 1000; n++) {
    const session = await createSession(agent);
    session.subscribe(() => {});
    const { status } = await session.prompt('Go.').result;
    if (status !== 'completed') throw new Error(status);
    if (n === 400 || n === 700 || n === 1000) {
      for (let round = 0; round < 3; round++) {
        globalThis.gc();
        await new Promise((resolve) => setImmediate(resolve));
      }
      heap.push(used());
    }
  }
  console.log(JSON.stringify(heap));
`;

it('R7: a thousand runs in one process leave the heap as it was', { timeout: 120_000 }, async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--expose-gc', '--conditions=treadle-source', '--input-type=module', '--eval', SCRIPT],
    { cwd: fileURLToPath(new URL('..', import.meta.url)) },
  );
  const [first = 0, , last = 0] = JSON.parse(stdout) as number[];
  // A run that stayed would hold its tool's result alone for 2,000 bytes, 600 times. What a ledger keeps is two ids a run.
  expect(last - first).toBeLessThan(600 * 1000);
});
