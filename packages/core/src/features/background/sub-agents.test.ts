import { countingIds, golden, journalOf, logOf, scriptedModel, type Turn } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../entries/model.ts';
import {
  asTool,
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  memoryLedger,
  openSession,
  type Agent,
  type AgentDefinition,
  type BackgroundOptions,
  type DurableEvent,
  type Journal,
} from '../../index.ts';

type Script = Parameters<typeof scriptedModel>[0];

const GO: Turn = { toolCalls: [{ name: 'reader', arguments: { prompt: 'Read it.', run_in_background: true } }] };

const pay = (done: string[] = []) =>
  defineTool({
    name: 'pay',
    description: 'Pays.',
    approval: 'always',
    execute: () => {
      done.push('paid');
      return 'paid';
    },
  });
const pick = defineTool({ name: 'pick', description: 'The user picks.', runs: 'client' });

/** Calls a tool first, and says what came of it. */
const using =
  (name: string) =>
  ({ messages }: ModelRequest): Turn | string => {
    const last = messages.at(-1);
    if (last?.role !== 'tool') return { toolCalls: [{ name }] };
    return `Got: ${last.content.map((block) => (block.type === 'text' ? block.text : '')).join('')}`;
  };

const readerOf = (script: Script, more: Partial<AgentDefinition> = {}): Agent =>
  defineAgent({ id: 'reader', configId: 'reader', model: scriptedModel(script), ...more });

const bossOf = (
  reader: Agent,
  script: Script,
  background: BackgroundOptions = {},
  more: Partial<AgentDefinition> = {},
) =>
  defineAgent({
    id: 'boss',
    configId: 'boss',
    model: scriptedModel(script),
    tools: [asTool(reader, { description: 'Reads.' })],
    background: { tools: ['reader'], ...background },
    ...more,
  });

/** Lets everything happen that needs no clock. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

const deliveriesIn = (log: readonly DurableEvent[]): string[] =>
  log.flatMap((event) =>
    event.type === 'message_added' && event.notice?.type === 'task' ? [JSON.stringify(event.message)] : [],
  );

const statusesIn = (log: readonly DurableEvent[]): string[] =>
  log.flatMap((event) => (event.type === 'task_updated' ? [event.status] : []));

describe('a sub-agent in the background', () => {
  it('is part of what its run has cost, once it has ended', async () => {
    const reader = defineAgent({ id: 'reader', model: scriptedModel(['Hello.'], { cost: () => 0.25 }) });
    const boss = bossOf(
      reader,
      [],
      { atEnd: 'wait' },
      { model: scriptedModel([GO, 'Later.', 'Done.'], { cost: () => 1 }) },
    );
    const { cost, costBreakdown } = await (await createSession(boss)).prompt('Go.').result;
    expect({ cost, costBreakdown }).toEqual({ cost: 3.25, costBreakdown: { own: 3, subAgents: 0.25 } });
  });

  it('works beside its parent, and the model is told of its end once', async () => {
    const asked = Promise.withResolvers<void>();
    const written = Promise.withResolvers<string>();
    const reader = readerOf([
      () => {
        asked.resolve();
        return written.promise;
      },
    ]);
    const boss = bossOf(reader, [GO, 'It is being read.', 'It says hello.', 'Yes.']);
    const session = await createSession(boss, { id: 's', ids: countingIds() });
    const script = golden({ children: true });
    session.subscribe(script.observe);
    await session.prompt('What does it say?').result;
    await asked.promise;
    script.note('the run is over');
    written.resolve('Hello.');
    await settled();
    await session.prompt('And?').result;
    await session.prompt('Sure?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "What does it say?"
          message_added assistant (tool_use) calls reader
          tool_started reader {"prompt":"Read it.","run_in_background":true}
          task_updated task_call_1 pending
          tool_ended reader "reader runs in the background as task_call_1. You will be told when it has ended."
          task_updated task_call_1 running
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "It is being read."
        turn_ended
      run_ended completed
      reader| run_started
      reader|   turn_started 0 by subAgent
      reader|     message_added user (prompt) "Read it."
      - the run is over
      reader|     message_added assistant (stop) "Hello."
      reader|   turn_ended
      reader| run_ended completed
      task_updated task_call_1 completed
      run_started
        turn_started 0 by user
          message_added user (prompt) "And?"
          message_added user (task) "[Background task task_call_1 (reader): completed. Its result:]", "Hello.", "Agent run sub_call_1_q7hxf1m7nuq9.reader.1. To go on with it, call reader with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
          message_added assistant (stop) "It says hello."
        turn_ended
      run_ended completed
      run_started
        turn_started 0 by user
          message_added user (prompt) "Sure?"
          message_added assistant (stop) "Yes."
        turn_ended
      run_ended completed"
    `);
  });
});

describe('a question that it has', () => {
  it('is asked at the top while all goes on, and its answer lets it go on', async () => {
    const done: string[] = [];
    const reader = readerOf(using('pay'), { tools: [pay(done)] });
    const journal = memoryJournal();
    const boss = bossOf(reader, [GO, 'It is being read.', 'It is paid.']);
    const session = await createSession(boss, { id: 's', journal, ids: countingIds() });
    const script = golden({ children: true });
    session.subscribe(script.observe);
    await session.prompt('Pay.').result;
    await settled();
    expect(session.pending).toMatchObject([{ toolName: 'pay', sessionId: expect.stringMatching(/^sub_/) as string }]);
    expect(session.tasks.list().map(({ status }) => status)).toEqual(['running']);
    expect((await session.tasks.read('task_call_1'))?.progress).toBe('Waits for somebody: pay.');
    script.note('nobody has answered yet');
    const answer = session.approve(session.pending[0]?.approvalId ?? '');
    expect((await answer.result).text).toBe('Got: paid');
    await settled();
    expect(session.pending).toEqual([]);
    await session.prompt('And?').result;
    expect(script.text()).toMatchInlineSnapshot(`
      "run_started
        turn_started 0 by user
          message_added user (prompt) "Pay."
          message_added assistant (tool_use) calls reader
          tool_started reader {"prompt":"Read it.","run_in_background":true}
          task_updated task_call_1 pending
          tool_ended reader "reader runs in the background as task_call_1. You will be told when it has ended."
          task_updated task_call_1 running
        turn_ended
        turn_started 1 by continuation
          message_added assistant (stop) "It is being read."
        turn_ended
      run_ended completed
      reader| run_started
      reader|   turn_started 0 by subAgent
      reader|     message_added user (prompt) "Read it."
      reader|     message_added assistant (tool_use) calls pay
      reader|     approval_requested pay {}
      reader|     run_paused approval pay
      - nobody has answered yet
      reader| approval_answered approve
      reader| decision_made permission permission {"outcome":"allow","by":{"type":"person"},"reason":"It was allowed when asked"}
      reader| tool_started pay {}
      reader| tool_ended pay "paid"
      reader| turn_ended
      reader| turn_started 1 by continuation
      reader|   message_added assistant (stop) "Got: paid"
      reader| turn_ended
      reader| run_ended completed
      task_updated task_call_1 completed
      run_started
        turn_started 0 by user
          message_added user (prompt) "And?"
          message_added user (task) "[Background task task_call_1 (reader): completed. Its result:]", "Got: paid", "Agent run sub_call_1_q7hxf1m7nuq9.reader.1. To go on with it, call reader with resume: \\"sub_call_1_q7hxf1m7nuq9\\"."
          message_added assistant (stop) "It is paid."
        turn_ended
      run_ended completed"
    `);
    expect(done).toEqual(['paid']);
    expect(deliveriesIn(await logOf(journal, 's'))).toHaveLength(1);
  });

  it('is answered once, and a no is told to it', async () => {
    const reader = readerOf(using('pay'), { tools: [pay()] });
    const session = await createSession(bossOf(reader, [GO, 'It is being read.']));
    await session.prompt('Pay.').result;
    await settled();
    const [asked] = session.pending;
    const answer = session.reject(asked?.approvalId ?? '', 'Too much.');
    expect((await answer.result).text).toMatch(/Permission denied: pay was not run. Too much\./);
    expect(() => session.approve(asked?.approvalId ?? '')).toThrow(expect.objectContaining({ code: 'conflict' }));
  });

  it('may be for a client, and may come from deeper down', async () => {
    const inner = defineAgent({ id: 'inner', model: scriptedModel(using('pick')), tools: [pick] });
    const delegate = ({ messages }: ModelRequest): Turn | string =>
      messages.length === 1 ? { toolCalls: [{ name: 'inner', arguments: { prompt: 'Ask.' } }] } : 'It is blue.';
    const reader = readerOf(delegate, { tools: [asTool(inner, { description: 'Asks.' })] });
    const journal = memoryJournal();
    const boss = bossOf(reader, [GO, 'It is being read.', 'Blue.'], {}, { subAgents: { maxDepth: 2 } });
    const session = await createSession(boss, { id: 's', journal });
    await session.prompt('Which?').result;
    await settled();
    const results = session.pending.map(({ callId }) => ({ callId, content: 'blue' }));
    expect(results).toHaveLength(1);
    await session.addToolOutputs(results).result;
    await settled();
    await session.prompt('And?').result;
    expect(deliveriesIn(await logOf(journal, 's'))).toEqual([expect.stringContaining('It is blue.')]);
  });

  it('is there again in the next process', async () => {
    const done: string[] = [];
    const died = memoryJournal();
    const boss = (script: Script): Agent => bossOf(readerOf(using('pay'), { tools: [pay(done)] }), script);
    const first = await createSession(boss([GO, 'It is being read.']), { id: 's', journal: died });
    await first.prompt('Pay.').result;
    await settled();
    const child = first.pending[0]?.sessionId ?? '';
    const journal = await journalOf(await logOf(died, child), await journalOf(await logOf(died, 's')));
    const second = await openSession(boss(['Not yet.', 'It is paid.']), 's', { journal });
    await second.prompt('Is it paid?').result;
    await settled();
    expect(second.pending).toMatchObject([{ toolName: 'pay' }]);
    await second.approve(second.pending[0]?.approvalId ?? '').result;
    await settled();
    await second.prompt('And now?').result;
    expect(done).toEqual(['paid']);
    const log = await logOf(journal, 's');
    expect(deliveriesIn(log)).toHaveLength(1);
    expect(statusesIn(log)).toEqual(['pending', 'running', 'pending', 'running', 'completed']);
    expect((await journal.list()).sessions).toHaveLength(2);
  });

  it.each(['abort', 'close'] as const)('R2: goes with it on %s, in its own log too', async (how) => {
    const journal = memoryJournal();
    const session = await createSession(bossOf(readerOf(using('pay'), { tools: [pay()] }), [GO, 'It is being read.']), {
      id: 's',
      journal,
    });
    await session.prompt('Pay.').result;
    await settled();
    const childId = session.pending[0]?.sessionId ?? '';
    await session[how]();
    expect(session.pending).toEqual([]);
    expect(statusesIn(await logOf(journal, 's')).at(-1)).toBe('killed');
    expect((await logOf(journal, childId)).at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' });
  });

  it.each<BackgroundOptions>([{ whenAsked: 'fail' }, { atEnd: 'wait' }])(
    'fails it where nobody is to be waited for: %o',
    async (background) => {
      const journal = memoryJournal();
      const boss = bossOf(readerOf(using('pay'), { tools: [pay()] }), [GO, 'It is being read.', 'Asked.'], background);
      const session = await createSession(boss, { id: 's', journal });
      await session.prompt('Pay.').result;
      await settled();
      if (background.atEnd !== 'wait') await session.prompt('And?').result;
      const log = await logOf(journal, 's');
      expect(statusesIn(log)).toEqual(['pending', 'running', 'failed']);
      expect(deliveriesIn(log).join()).toContain('nobody answers what runs in the background');
    },
  );
});

const CENT = 0.01;

/** What all sessions of a journal have spent. */
async function settledIn(journal: Journal): Promise<number> {
  const { sessions } = await journal.list();
  const logs = await Promise.all(sessions.map(({ sessionId }) => logOf(journal, sessionId)));
  return logs.flat().reduce((sum, event) => (event.type === 'budget_settled' ? sum + event.cost : sum), 0);
}

const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });

/** Looks so many times, then answers. Each call costs a cent. */
const looking = (turns: number, first: Turn[] = []) => {
  const script = ({ messages }: ModelRequest): Turn | string => {
    const replies = messages.filter(({ role }) => role === 'assistant').length;
    return first[replies] ?? (replies < turns + first.length ? { toolCalls: [{ name: 'look' }] } : 'Done.');
  };
  return {
    model: scriptedModel(script, { cost: () => CENT }),
    tools: [look],
    maxTokens: 10,
    loopDetection: false,
  } as const;
};

describe('its money', () => {
  it.each(['a limit of the run', 'a shared ledger'])(
    'R1: is what is left of %s: it and its parent together never spend more',
    async (kind) => {
      const shape = fc.record({
        parent: fc.integer({ min: 0, max: 5 }),
        children: fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.boolean()), { minLength: 1, maxLength: 3 }),
        cents: fc.integer({ min: 1, max: 14 }),
      });
      await fc.assert(
        fc.asyncProperty(shape, async ({ parent, children, cents }) => {
          const journal = memoryJournal();
          const ledger = memoryLedger((cents + 0.5) * CENT);
          const money =
            kind === 'a shared ledger' ? { budget: { ledger } } : { limits: { maxCost: (cents + 0.5) * CENT } };
          const tools = children.map(([turns], index) =>
            asTool(defineAgent({ id: `a${index}`, ...looking(turns) }), { description: 'Works.' }),
          );
          const calls = children.map(([, run_in_background], index) => ({
            name: `a${index}`,
            arguments: { prompt: 'Go.', run_in_background },
          }));
          const own = looking(parent, [{ toolCalls: calls }]);
          const boss = defineAgent({
            id: 'boss',
            ...own,
            tools: [...tools, look],
            background: { tools: 'all' },
            limits: {},
            ...money,
          });
          const session = await createSession(boss, { id: 's', journal });
          await session.prompt('Go.').result;
          await settled();
          expect(await settledIn(journal)).toBeLessThanOrEqual((cents + 0.5) * CENT);
          await session.close();
        }),
        { numRuns: 25 },
      );
    },
  );

  it('is all spent before anybody is told that there is none: it counts in the account of its run', async () => {
    const journal = memoryJournal();
    const reader = defineAgent({ id: 'reader', ...looking(2) });
    const boss = defineAgent({
      id: 'boss',
      ...looking(9, [GO]),
      tools: [asTool(reader, { description: 'Reads.' }), look],
      background: { tools: ['reader'], atEnd: 'wait' },
      limits: { maxCost: 6.5 * CENT },
    });
    const session = await createSession(boss, { id: 's', journal });
    const { status } = await session.prompt('Go.').result;
    expect(status).toBe('budget_limit');
    expect(await settledIn(journal)).toBeCloseTo(6 * CENT, 9);
    const log = await logOf(journal, 's');
    const own = log.reduce((sum, event) => (event.type === 'budget_settled' ? sum + event.cost : sum), 0);
    const ended = log.flatMap((event) =>
      event.type === 'input_received' && event.input.type === 'task_ended' ? [event.input.childSpent ?? 0] : [],
    );
    expect(ended).toHaveLength(1);
    expect(ended[0]).toBeGreaterThan(0);
    expect(own + (ended[0] ?? 0)).toBeCloseTo(6 * CENT, 9);
  });

  it('is what its run has left behind, once that is over', async () => {
    const journal = memoryJournal();
    const gate = Promise.withResolvers<void>();
    const held = defineTool({ name: 'look', description: 'Looks.', execute: () => gate.promise.then(() => 'seen') });
    const reader = defineAgent({ id: 'reader', ...looking(9), tools: [held] });
    const boss = defineAgent({
      id: 'boss',
      ...looking(0, [GO]),
      tools: [asTool(reader, { description: 'Reads.' })],
      background: { tools: ['reader'] },
      limits: { maxCost: 5.5 * CENT },
    });
    const session = await createSession(boss, { id: 's', journal });
    expect((await session.prompt('Go.').result).status).toBe('completed');
    await settled();
    expect(await settledIn(journal)).toBeCloseTo(3 * CENT, 9);
    gate.resolve();
    await settled();
    expect(await settledIn(journal)).toBeCloseTo(5 * CENT, 9);
    expect((await session.tasks.read(session.tasks.list()[0]?.taskId ?? ''))?.status).toBe('failed');
  });
});
