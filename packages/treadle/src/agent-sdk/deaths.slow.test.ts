// @module-tag slow

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { Query } from '../test-support/agent-sdk/client.ts';
import { all, prompts, world } from '../test-support/agent-sdk/world.ts';

/** Of each kind: a share. `npm run test:deaths` has all 20. */
const DEATHS = Number(process.env['TREADLE_DEATHS'] ?? 4);
const SIDE_BY_SIDE = 4;

/** A command that leaves a mark each time it runs, and then takes its time. */
const MARKS = { toolCalls: [{ name: 'bash', arguments: { command: 'echo ran >> marks.txt; sleep 30' } }] };
const WRITES = { toolCalls: [{ name: 'bash', arguments: { command: 'echo ran >> marks.txt' } }] };

const marksOf = (folder: string): Promise<string> => readFile(join(folder, 'marks.txt'), 'utf8').catch(() => '');

async function killed(running: Query): Promise<void> {
  running.child.kill('SIGKILL');
  await running.ended;
}

/** Dies in a tool; then the session is gone on with. */
async function dieInTool(): Promise<void> {
  await using w = await world([MARKS, 'I will not do it again.']);
  const sessionId = randomUUID();
  const asking = prompts();
  const running = w.drive(asking, { sessionId, allowedTools: ['Bash'] });
  asking.say('Mark it.');
  while ((await marksOf(w.folder)) === '') await new Promise((resolve) => setTimeout(resolve, 10));
  await killed(running);
  const messages = await all(w.drive('Go on.', { resume: sessionId, allowedTools: ['Bash'] }));
  expect(messages.at(-1)).toMatchObject({
    subtype: 'success',
    result: 'I will not do it again.',
    session_id: sessionId,
  });
  // Its result says that nobody knows what came of it, and it has not run again.
  expect(JSON.stringify(messages)).toContain('tool_result');
  expect(await marksOf(w.folder)).toBe('ran\n');
}

/** Dies while the client is asked; then the session is gone on with, and the client is asked again. */
async function dieInQuestion(): Promise<void> {
  await using w = await world([WRITES, 'Done.']);
  const sessionId = randomUUID();
  const asking = prompts();
  const asked = Promise.withResolvers<string>();
  const running = w.drive(asking, {
    sessionId,
    canUseTool: (_, __, { toolUseID }) => {
      asked.resolve(toolUseID);
      return new Promise<never>(() => {});
    },
  });
  asking.say('Mark it.');
  const first = await asked.promise;
  await killed(running);
  const again: string[] = [];
  const messages = await all(
    w.drive('Go on.', {
      resume: sessionId,
      canUseTool: async (_, __, { toolUseID }) => {
        again.push(toolUseID);
        return { behavior: 'allow' };
      },
    }),
  );
  expect(again).toEqual([first]);
  expect(messages.at(-1)).toMatchObject({ subtype: 'success', session_id: sessionId });
  expect(await marksOf(w.folder)).toBe('ran\n');
}

describe('kill -9 of the executable', () => {
  it('in a tool: the session goes on, and the call is not made twice', dieInTool);
  it('in a question: the session goes on, and the client is asked again', dieInQuestion);

  it.each([
    ['in a tool', dieInTool],
    ['in a question', dieInQuestion],
  ])(`%s, ${DEATHS} times`, { timeout: 300_000 }, async (_, die) => {
    for (let deaths = 0; deaths < DEATHS; deaths += SIDE_BY_SIDE)
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, die));
  });
});
