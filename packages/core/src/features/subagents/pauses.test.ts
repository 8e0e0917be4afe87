import { logOf, scriptedModel, testClock, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../entries/model.ts';
import {
  asTool,
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type Agent,
  type DurableEvent,
  type Journal,
  type RunResult,
  type Tool,
} from '../../index.ts';

/** Asks for its tools first, and answers with their results. */
const byResults = (calls: Turn['toolCalls']): ((request: ModelRequest) => Turn | string) => {
  return ({ messages }) => {
    const results = messages.flatMap((message) => (message.role === 'tool' ? message.content.slice(0, 1) : []));
    if (results.length === 0) return { toolCalls: calls ?? [] };
    return `Got: ${results.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(', ')}`;
  };
};

const pay = (done: string[]): Tool =>
  defineTool({
    name: 'pay',
    description: 'Pays.',
    inputSchema: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] },
    approval: 'always',
    execute: ({ amount }) => {
      done.push(`paid ${amount}`);
      return `paid ${amount}`;
    },
  });

const pick = defineTool({ name: 'pick', description: 'The user picks.', runs: 'client' });

const agentWith = (id: string, tools: readonly Tool[], calls: Turn['toolCalls'], maxDepth?: number): Agent =>
  defineAgent({
    id,
    model: scriptedModel(byResults(calls)),
    tools,
    ...(maxDepth === undefined ? {} : { subAgents: { maxDepth } }),
  });

const given = (agent: Agent): Tool => asTool(agent, { description: `Gives work to ${agent.id}.` });
const calls = (...names: readonly string[]): Turn['toolCalls'] =>
  names.map((name) => ({ name, arguments: { prompt: 'Go.' } }));
const payment = (amount: number): NonNullable<Turn['toolCalls']>[number] => ({ name: 'pay', arguments: { amount } });

const types = (log: readonly DurableEvent[]): string[] => log.map(({ type }) => type);

async function childLogs(journal: Journal, log: readonly DurableEvent[]): Promise<DurableEvent[][]> {
  const ids = new Set(log.flatMap((event) => (event.type === 'tool_started' ? (event.childSessionId ?? []) : [])));
  return Promise.all([...ids].map((id) => logOf(journal, id)));
}

describe('a question that a sub-agent has', () => {
  it.each([1, 2, 3])('pauses the agent at the top and is answered there, from depth %i', async (depth) => {
    const done: string[] = [];
    let agent = agentWith('payer', [pay(done)], [payment(5)]);
    for (let level = depth; level > 0; level -= 1) {
      agent = agentWith(`level${level}`, [given(agent)], calls(agent.id), depth);
    }
    const journal = memoryJournal();
    const session = await createSession(agent, { journal, id: 's' });
    const paused = await session.prompt('Pay.').result;
    expect(paused).toMatchObject({ status: 'paused', pending: [{ toolName: 'pay', arguments: { amount: 5 } }] });
    expect(paused.pending[0]?.sessionId).toMatch(/^sub_/);
    expect(done).toEqual([]);
    const result = await session.approve(paused.pending[0]?.approvalId ?? '').result;
    expect(result).toMatchObject({ status: 'completed', text: `${'Got: '.repeat(depth + 1)}paid 5` });
    expect(done).toEqual(['paid 5']);
  });

  it('is there for another process, which opens the session and answers', async () => {
    const done: string[] = [];
    const make = (): Agent => {
      const payer = agentWith('payer', [pay(done)], [payment(5)]);
      return agentWith('boss', [given(payer)], calls('payer'));
    };
    const journal = memoryJournal();
    const first = await createSession(make(), { journal, id: 's' });
    const { pending } = await first.prompt('Pay.').result;
    const second = await openSession(make(), 's', { journal });
    const result = await second.approve(pending[0]?.approvalId ?? '').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Got: Got: paid 5' });
    expect(done).toEqual(['paid 5']);
    expect((await journal.list()).sessions).toHaveLength(2);
  });

  it('is told no from the top', async () => {
    const done: string[] = [];
    const payer = agentWith('payer', [pay(done)], [payment(5)]);
    const session = await createSession(agentWith('boss', [given(payer)], calls('payer')));
    const { pending } = await session.prompt('Pay.').result;
    const result = await session.reject(pending[0]?.approvalId ?? '', 'Too much.').result;
    expect(result.text).toMatch(/Got: Got: Permission denied: pay was not run. Too much\./);
    expect(done).toEqual([]);
  });

  it('ends at its time, however deep it is, and the run goes on when it is resumed then', async () => {
    const done: string[] = [];
    const permissions = { answerTimeoutMs: 60_000 };
    const model = scriptedModel(byResults([payment(5)]));
    const payer = defineAgent({ id: 'payer', model, tools: [pay(done)], permissions });
    const middle = agentWith('middle', [given(payer)], calls('payer'));
    const clock = testClock();
    const session = await createSession(agentWith('boss', [given(middle)], calls('middle'), 2), {
      clock,
      resumeOnExpiry: false,
    });
    const paused = await session.prompt('Pay.').result;
    expect(paused.pending[0]?.expiresAt).toBe(clock.now() + 60_000);
    await clock.advance(60_000);
    const result = await session.resume().result;
    expect(result.status).toBe('completed');
    expect(result.text).toContain('Nobody answered in time');
    expect(done).toEqual([]);
  });

  it('waits beside others: each is answered by itself, in any order', async () => {
    const done: string[] = [];
    const one = agentWith('one', [pay(done)], [payment(1)]);
    const two = agentWith('two', [pay(done), pick], [payment(2), { name: 'pick' }]);
    const session = await createSession(agentWith('boss', [given(one), given(two)], calls('one', 'two')));
    let result: RunResult = await session.prompt('Pay.').result;
    expect(result.pending.map(({ toolName, arguments: args }) => [toolName, args['amount']])).toEqual([
      ['pay', 1],
      ['pay', 2],
      ['pick', undefined],
    ]);
    for (const item of result.pending.toReversed()) {
      const { approvalId, callId } = item;
      result = await (
        approvalId === undefined ? session.addToolOutputs([{ callId, content: 'blue' }]) : session.approve(approvalId)
      ).result;
    }
    expect(result).toMatchObject({ status: 'completed', text: 'Got: Got: paid 1, Got: paid 2, blue' });
    expect(done.toSorted()).toEqual(['paid 1', 'paid 2']);
  });

  it('H4: is answered once, and only while it is open', async () => {
    const payer = agentWith('payer', [pay([])], [payment(5)]);
    const session = await createSession(agentWith('boss', [given(payer)], calls('payer')));
    const { pending } = await session.prompt('Pay.').result;
    const approvalId = pending[0]?.approvalId ?? '';
    await session.approve(approvalId).result;
    expect(() => session.approve(approvalId)).toThrow(expect.objectContaining({ code: 'conflict' }));
  });

  it('is answered in its own session too, and then the agent above goes on with what came of it', async () => {
    const done: string[] = [];
    const payer = agentWith('payer', [pay(done)], [payment(5)]);
    const journal = memoryJournal();
    const session = await createSession(agentWith('boss', [given(payer)], calls('payer')), { journal });
    const { pending } = await session.prompt('Pay.').result;
    const child = await openSession(payer, pending[0]?.sessionId ?? '', { journal });
    await child.approve(pending[0]?.approvalId ?? '').result;
    await session.refresh();
    expect(await session.resume().result).toMatchObject({ status: 'completed', text: 'Got: Got: paid 5' });
    expect(done).toEqual(['paid 5']);
  });
});

describe('R2: an agent that is cancelled', () => {
  it('ends its sub-agents that wait, in their own logs', async () => {
    const payer = agentWith('payer', [pay([])], [payment(5)]);
    const journal = memoryJournal();
    const middle = agentWith('middle', [given(payer)], calls('payer'));
    const agent = agentWith('boss', [given(middle)], calls('middle'), 2);
    const session = await createSession(agent, { journal, id: 's' });
    await session.prompt('Pay.').result;
    await session.abort('Never mind.');
    const log = await logOf(journal, 's');
    expect(log.at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted', message: 'Never mind.' });
    const [middleLog = []] = await childLogs(journal, log);
    const [payerLog = []] = await childLogs(journal, middleLog);
    expect([middleLog.at(-1), payerLog.at(-1)]).toMatchObject([
      { type: 'run_ended', status: 'aborted' },
      { type: 'run_ended', status: 'aborted' },
    ]);
  });

  it('ends those that are at work, and what they do', async () => {
    let stopped = false;
    const begun = Promise.withResolvers<void>();
    const wait = defineTool({
      name: 'wait',
      description: 'Waits for ever.',
      execute: (_, { signal }) =>
        new Promise<string>((resolve) => {
          begun.resolve();
          signal.addEventListener('abort', () => {
            stopped = true;
            resolve('stopped');
          });
        }),
    });
    const waiter = agentWith('waiter', [wait], [{ name: 'wait' }]);
    const middle = agentWith('middle', [given(waiter)], calls('waiter'));
    const agent = agentWith('boss', [given(middle)], calls('middle'), 2);
    const journal = memoryJournal();
    const session = await createSession(agent, { journal, id: 's' });
    const run = session.prompt('Wait.');
    await begun.promise;
    await run.abort('Enough.');
    expect((await run.result).status).toBe('aborted');
    expect(stopped).toBe(true);
    const log = await logOf(journal, 's');
    const [middleLog = []] = await childLogs(journal, log);
    const [waiterLog = []] = await childLogs(journal, middleLog);
    for (const each of [log, middleLog, waiterLog]) {
      expect(each.at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' });
      expect(types(each).filter((type) => type === 'run_ended')).toHaveLength(1);
    }
  });
});
