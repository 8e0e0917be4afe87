import { logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { openState } from './entries/kernel.ts';
import { createSession, defineAgent, defineTool, memoryJournal, openSession, type Journal } from './index.ts';
import { encodeState } from './kernel/snapshot/snapshot.ts';

const look = defineTool({ name: 'look', description: 'Looks.', readOnly: true, execute: () => 'nothing' });
const ask = defineTool({ name: 'ask', description: 'Asks the client.', runs: 'client' });

/** A session whose one run waits for its client after so many turns, with a snapshot of its end. */
async function pausedAfter(turns: number) {
  const journal = memoryJournal();
  const looks = Array.from({ length: turns }, (_, at) => ({ toolCalls: [{ name: 'look', arguments: { at } }] }));
  const agent = defineAgent({
    model: scriptedModel([...looks, { toolCalls: [{ name: 'ask' }] }, 'Done.'], { record: false }),
    tools: [look, ask],
    limits: { maxTurns: 1000 },
  });
  const session = await createSession(agent, { journal, id: 's' });
  expect(await session.prompt('Look around.').outcome).toBe('paused');
  const { state } = await openState(journal, 's');
  const last = (await logOf(journal, 's')).at(-1);
  if (last) await journal.snapshots?.save('s', encodeState(state, last));
  return { journal, agent };
}

function countingReads(journal: Journal) {
  let count = 0;
  const counting: Journal = {
    ...journal,
    async *read(sessionId, from) {
      for await (const event of journal.read(sessionId, from)) {
        count += 1;
        yield event;
      }
    },
  };
  return { counting, rows: () => count };
}

/** Opens it as another process would, and goes on with its run to the end. */
async function goOn(turns: number) {
  const { journal, agent } = await pausedAfter(turns);
  const { counting, rows } = countingReads(journal);
  const session = await openSession(agent, 's', { journal: counting });
  const run = session.addToolOutputs(session.pending.map(({ callId }) => ({ callId, content: 'yes' })));
  expect(await run.outcome).toBe('completed');
  return { run, rows };
}

describe('going on with an open run', () => {
  it('reads the end of the log, however long the run has been', async () => {
    const [short, long] = [await goOn(5), await goOn(300)];
    expect(short.rows()).toBeLessThan(10);
    expect(long.rows()).toBe(short.rows());
  });

  it('reads what was before it only for whoever asks for the result, which is of the whole run', async () => {
    const { run, rows } = await goOn(50);
    const before = rows();
    const { messages, turns, text } = await run.result;
    expect([turns, text, messages.length]).toEqual([52, 'Done.', 1 + 2 * 51 + 1]);
    expect(rows() - before).toBeGreaterThan(200);
    const after = rows();
    expect((await run.result).messages).toBe(messages);
    expect(rows()).toBe(after);
  });
});

describe('how a run ended', () => {
  it('is told without its result: also that it paused, and why it could not be driven', async () => {
    const { journal, agent } = await pausedAfter(1);
    const [one, other] = [await openSession(agent, 's', { journal }), await openSession(agent, 's', { journal })];
    const call = one.pending[0]?.callId ?? '';
    expect(await one.resume().outcome).toBe('paused');
    expect(await one.addToolOutputs([{ callId: call, content: 'yes' }]).outcome).toBe('completed');
    const late = other.addToolOutputs([{ callId: call, content: 'no' }]);
    await expect(late.outcome).rejects.toThrow();
    await expect(late.result).rejects.toThrow();
  });
});
