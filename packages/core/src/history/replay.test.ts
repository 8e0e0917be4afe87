import { logOf, scriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { replaySession } from '../entries/history.ts';
import { createSession, defineAgent, defineTool, memoryJournal, type Journal } from '../index.ts';

let ran = 0;
const add = defineTool({
  name: 'add',
  description: 'Adds.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  execute: ({ a = 0, b = 0 }: { a?: number; b?: number }) => {
    ran += 1;
    return `${a + b} (${ran})`;
  },
});
const pick = defineTool({ name: 'pick', description: 'The user picks.', runs: 'client' });
const pay = defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => `paid ${(ran += 1)}` });
const tools = [add, pick, pay];

const sum = (a: number, b: number, more: Partial<Turn> = {}): Turn => ({
  ...more,
  toolCalls: [{ name: 'add', arguments: { a, b } }],
});
const agentWith = (...turns: readonly (Turn | string)[]) => defineAgent({ model: scriptedModel(turns), tools });

/** Two runs: one with a server tool twice, a client's tool and an approval, and one that is steered. */
async function recording(): Promise<Journal> {
  ran = 0;
  const journal = memoryJournal();
  const model = scriptedModel([
    sum(1, 2),
    sum(1, 2),
    { toolCalls: [{ name: 'pick' }, { name: 'pay' }] },
    'All done.',
    sum(3, 4),
    'Fine.',
  ]);
  const session = await createSession(defineAgent({ model, tools }), { journal, id: 's' });
  const paused = await session.prompt('Go.').result;
  const approvalId = paused.pending.find((call) => call.approvalId !== undefined)?.approvalId ?? '';
  const asked = await session.reject(approvalId, 'Too dear.').result;
  await session.addToolOutputs(asked.pending.map(({ callId }) => ({ callId, content: 'red' }))).result;
  let told = false;
  session.subscribe((event) => {
    if (event.type !== 'tool_started' || told) return;
    told = true;
    void session.steer('Hurry.');
  });
  await session.prompt('And now?').result;
  return journal;
}

describe('a replay', () => {
  it('of what was recorded, with what was replied, comes out the same, executes nothing and asks nobody', async () => {
    const journal = await recording();
    const before = await logOf(journal, 's');
    const agent = defineAgent({ model: scriptedModel([]), tools });
    const report = await replaySession(agent, 's', { journal, model: 'recorded', keep: true });
    expect(report).toMatchObject({ differences: [], misses: [], unused: [], stopped: null });
    expect(report.runs.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(ran).toBe(3);
    expect(await logOf(journal, 's')).toEqual(before);
    const replayed = await logOf(journal, report.sessionId ?? '');
    const results = (log: typeof before): unknown[] =>
      log.flatMap((event) => (event.type === 'tool_ended' ? [event.content] : []));
    // The call that was denied then has its denial as a result.
    expect(results(replayed)).toHaveLength(5);
    expect(results(replayed)).toEqual(expect.arrayContaining(results(before)));
    const steered = replayed.filter((event) => event.type === 'message_added' && event.message.role === 'user');
    expect(JSON.stringify(steered)).toContain('Hurry.');
    expect((await journal.list({ tag: 'replay' })).sessions).toMatchObject([{ sessionId: report.sessionId }]);
  });

  it('says what differs, and takes equal calls’ results in order', async () => {
    const journal = await recording();
    const agent = agentWith(sum(1, 2, { text: 'Let me add.' }), 'Three.', 'Nothing.', 'Fine.');
    const report = await replaySession(agent, 's', { journal });
    const [first, second] = (await logOf(journal, 's')).flatMap((event) =>
      event.type === 'run_started' ? [event.runId] : [],
    );
    expect(report.differences).toEqual([
      { runId: first, turn: 0, what: 'text', recorded: '', replayed: 'Let me add.' },
      { runId: first, turn: 1, what: 'text', recorded: '', replayed: 'Three.' },
      { runId: first, turn: 1, what: 'calls', recorded: 'add({"a":1,"b":2})', replayed: '' },
      { runId: first, turn: null, what: 'turns', recorded: '4', replayed: '2' },
      { runId: second, turn: 0, what: 'text', recorded: '', replayed: 'Nothing.' },
      { runId: second, turn: 0, what: 'calls', recorded: 'add({"a":3,"b":4})', replayed: '' },
    ]);
    expect(report.unused.map(({ toolName }) => toolName)).toEqual(['add', 'pay', 'pick', 'add']);
    expect(report.sessionId).toBeNull();
    expect((await journal.list()).sessions).toHaveLength(1);
    expect(ran).toBe(3);
  });

  it('stops at a call that has no recorded result, and says which', async () => {
    const journal = await recording();
    const report = await replaySession(agentWith(sum(5, 5), 'Ten.'), 's', { journal });
    expect(report).toMatchObject({
      misses: [{ toolName: 'add', arguments: { a: 5, b: 5 }, executed: false }],
      runs: [{ status: 'aborted' }],
      stopped: expect.stringContaining('No result of add') as string,
    });
    expect(ran).toBe(3);
  });

  it('may execute what has no recorded result, as far as permissions let it', async () => {
    const journal = await recording();
    const turns = [sum(5, 5), 'Ten.', 'Fine.'];
    const report = await replaySession(agentWith(...turns), 's', { journal, onMiss: 'execute' });
    expect(report).toMatchObject({ misses: [{ executed: true }], stopped: null });
    expect(ran).toBe(4);
    const unasked = await replaySession(agentWith({ toolCalls: [{ name: 'pay' }] }), 's', {
      journal,
      onMiss: 'execute',
    });
    expect(unasked).toMatchObject({
      runs: [{ status: 'paused' }],
      stopped: expect.stringContaining('paused') as string,
    });
    expect(ran).toBe(4);
  });

  it('begins at any run, and at any turn of it', async () => {
    const journal = await recording();
    const [first = '', second = ''] = (await logOf(journal, 's')).flatMap((event) =>
      event.type === 'run_started' ? [event.runId] : [],
    );
    for (const [options, runs] of [
      [{ runId: second }, 1],
      [{ runId: first, turn: 1 }, 2],
      [{ runId: first, turn: 3 }, 2],
      [{ runId: second, turn: 1 }, 1],
    ] as const) {
      const agent = defineAgent({ model: scriptedModel([]), tools });
      const report = await replaySession(agent, 's', { journal, model: 'recorded', ...options });
      expect({ options, ...report }).toMatchObject({ differences: [], misses: [], stopped: null });
      expect(report.runs).toHaveLength(runs);
    }
    for (const options of [{ runId: 'nope' }, { turn: 9 }]) {
      await expect(replaySession(agentWith(), 's', { journal, ...options })).rejects.toMatchObject({
        code: 'nothing_to_continue',
      });
    }
  });
});
