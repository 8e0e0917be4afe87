import { describe, expect, it } from 'vitest';
import { journalOf, logOf, scriptedModel, testClock, type Turn } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineHook,
  defineTool,
  memoryJournal,
  openSession,
  pruneOldest,
  slidingWindow,
  summarising,
  type AgentDefinition,
  type ContextOptions,
  type DurableEvent,
  type Journal,
  type RunResult,
  type Session,
} from '../../index.ts';
import { asksForSummary, explorer, look } from '../../test-support/long-run.ts';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

interface Played {
  readonly session: Session;
  readonly journal: Journal;
  readonly result: RunResult;
  readonly events: readonly DurableEvent[];
}

/** Twenty places of about 270 tokens each do not fit a window of 4,000. */
const context: ContextOptions = { window: 4000 };

async function play(definition: Partial<AgentDefinition> & Pick<AgentDefinition, 'model'>): Promise<Played> {
  const journal = memoryJournal();
  const session = await createSession(defineAgent({ tools: [look], context, ...definition }), { journal, id: 's' });
  const result = await session.prompt('Look everywhere.').result;
  return { session, journal, result, events: await logOf(journal, 's') };
}

const only = <Type extends DurableEvent['type']>(events: readonly DurableEvent[], type: Type): EventOf<Type>[] =>
  events.filter((event): event is EventOf<Type> => event.type === type);

const overflow: Turn = { error: { kind: 'context_overflow', message: 'prompt is too long' } };

describe('a run that outgrows its window', () => {
  it('is compacted by default, and has the tool that reads back from then on', async () => {
    const model = explorer(20, 'All was well so far.', { contextWindow: 4000 });
    const session = await createSession(defineAgent({ model, tools: [look] }));
    const result = await session.prompt('Look everywhere.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', turns: 21 });
    const offered = model.requests.map(({ tools }) => tools.map(({ name }) => name).join());
    expect(offered[0]).toBe('look');
    expect(offered.at(-1)).toBe('look,recall');
    // A compaction is the only moment at which the tools change.
    expect(new Set(offered)).toEqual(new Set(['look', 'look,recall']));
  });

  it('is compacted by default when only the provider knows its window', async () => {
    const turns = Array.from({ length: 5 }, (_, at) => ({
      toolCalls: [{ name: 'look', arguments: { at } }],
    }));
    const model = scriptedModel([...turns, overflow, 'Done.']);
    const journal = memoryJournal();
    const session = await createSession(defineAgent({ model, tools: [look] }), { journal, id: 's' });
    const result = await session.prompt('Look everywhere.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(only(await logOf(journal, 's'), 'compacted')).toMatchObject([{ trigger: 'overflow' }]);
  });

  it('goes on with a summary of its beginning, as often as it takes', async () => {
    const model = explorer(20, 'All was well so far.', { contextWindow: 4000 });
    const { result, events, session } = await play({ model, context: {} });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', turns: 21 });
    const compactions = only(events, 'compacted');
    expect(compactions.length).toBeGreaterThan(1);
    for (const event of compactions) {
      expect(event).toMatchObject({ trigger: 'auto', strategy: 'summarising', phases: ['summarise'] });
      expect(event.tokensAfter).toBeLessThan(event.tokensBefore);
      expect(event.messagesAfter).toBeLessThan(event.messagesBefore);
    }
    // Each summary has its place, in the order of what it stands for.
    const summaries = session.messages.filter((message) => message.role === 'user' && message.removed?.summary);
    expect(summaries).toHaveLength(compactions.length);
  });

  it('gives its caller the whole history, and its next process the same view', async () => {
    const { result, journal, session } = await play({ model: explorer(20) });
    expect(result.messages.filter(({ role }) => role === 'tool')).toHaveLength(20);
    const later = await openSession(session.agent, 's', { journal });
    expect(later.messages).toEqual(session.messages);
  });

  it('asks for the summary with the request it would have made, so that the prompt cache is of use', async () => {
    const model = explorer(20);
    await play({ model, instructions: 'Be brief.' });
    const [request] = model.requests.filter(asksForSummary);
    const before = model.requests[model.requests.findIndex(asksForSummary) - 1];
    expect(request).toMatchObject({ system: 'Be brief.', toolChoice: 'none' });
    expect(request?.tools).toBe(before?.tools);
    const shared = request?.messages.slice(0, -1) ?? [];
    expect(shared).toEqual(before?.messages.slice(0, shared.length));
  });

  it('counts what the summaries used as its own', async () => {
    const usage = { input: 100, output: 10 };
    const { result, events } = await play({
      model: explorer(20, { text: 'All was well.', usage }, { cost: ({ input }) => (input === null ? 0 : 0.25) }),
    });
    const compactions = only(events, 'compacted');
    expect(compactions.map(({ cost }) => cost)).toEqual(compactions.map(() => 0.25));
    expect(result.cost).toBe(0.25 * compactions.length);
    expect(result.usage.input).toBe(100 * compactions.length);
    expect(only(events, 'run_ended')[0]).toMatchObject({ cost: result.cost, usage: result.usage });
  });

  it('lets another model write the summaries', async () => {
    const writer = scriptedModel(() => ({ text: 'All was well.', usage: null }), { provider: 'small' });
    const model = explorer(20);
    await play({ model, context: { ...context, summary: { model: writer } } });
    expect(writer.requests.length).toBeGreaterThan(1);
    expect(model.requests.some(asksForSummary)).toBe(false);
  });

  it('goes by what the provider reports', async () => {
    const reporting = (input: number): Turn => ({
      toolCalls: [{ name: 'look', arguments: {} }],
      usage: { input, cacheRead: 0, cacheWrite: 0 },
    });
    const model = scriptedModel([reporting(100), reporting(2400), 'A summary.', 'Done.'].map((turn) => turn));
    const { events } = await play({ model, context: { window: 2500, strategy: pruneOldest() } });
    const at = events.findIndex(({ type }) => type === 'compacted');
    expect(events.slice(0, at).filter(({ type }) => type === 'turn_ended')).toHaveLength(2);
    expect(only(events, 'compacted')[0]?.tokensBefore).toBeGreaterThan(2400);
  });

  it('is not compacted while no window is known', async () => {
    const { events, result } = await play({ model: explorer(20), context: {} });
    expect(result.status).toBe('completed');
    expect(only(events, 'compacted')).toEqual([]);
  });

  it('C8: keeps its prompt, pinned messages and the data of the application, whatever the strategy', async () => {
    for (const strategy of [pruneOldest(), slidingWindow({ keepRecent: 2 }), summarising({ keepRecentTurns: 1 })]) {
      const session = await createSession(
        defineAgent({ model: explorer(20), tools: [look], context: { ...context, strategy } }),
      );
      await session.importMessages([{ role: 'extension', kind: 'taint', data: 'web' }]);
      await session.prompt([{ content: 'Never go north.', pinned: true }, { content: 'Look everywhere.' }]).result;
      const texts = JSON.stringify(session.messages);
      expect(texts).toContain('Never go north.');
      expect(texts).toContain('Look everywhere.');
      expect(session.messages[0]).toMatchObject({ role: 'extension', kind: 'taint', data: 'web' });
    }
  });
});

describe('what must not be lost', () => {
  const todo = defineTool({ name: 'todo', description: 'Keeps a list.', execute: () => 'Kept.' });
  const write = (status: string): Turn => ({
    toolCalls: [
      { name: 'todo', arguments: { todos: [{ content: 'Look behind the door', status, activeForm: 'Looking' }] } },
    ],
    usage: null,
  });
  const looks = Array.from({ length: 20 }, (_, at) => ({
    toolCalls: [{ name: 'look', arguments: { at } }],
    usage: null,
  }));

  it.each([
    ['is there while something is open', 'in_progress', true],
    ['goes when everything is done', 'completed', false],
  ])('C8: the newest todo list %s', async (_, status, stays) => {
    const model = scriptedModel([write('pending'), write(status), ...looks, { text: 'Done.', usage: null }]);
    const { session, events } = await play({
      model,
      tools: [look, todo],
      context: { ...context, strategy: pruneOldest() },
    });
    expect(only(events, 'compacted').length).toBeGreaterThan(1);
    expect(JSON.stringify(session.messages).split('Look behind the door')).toHaveLength(stays ? 2 : 1);
  });

  it('C8: the newest steering is there, and a decision about a call is not asked for again', async () => {
    const asked: string[] = [];
    const gate = defineHook('before_tool', ({ callId }) => {
      asked.push(callId);
    });
    const agent = defineAgent({
      model: explorer(20),
      tools: [look],
      hooks: [gate],
      context: { ...context, strategy: pruneOldest() },
    });
    const session = await createSession(agent);
    const run = session.prompt('Look everywhere.');
    await session.steer('But not in the cellar.');
    expect((await run.result).status).toBe('completed');
    expect(JSON.stringify(session.messages)).toContain('But not in the cellar.');
    expect(new Set(asked).size).toBe(asked.length);
  });
});

describe('a summary that can not be used', () => {
  const long = 'word '.repeat(5000);
  it.each<[string, Turn | string, string]>([
    ['fails', { error: { kind: 'api', message: 'The server is on fire.' } }, 'The server is on fire.'],
    ['is empty', { text: '  ', usage: null }, 'The summary is empty.'],
    ['is a tool call', { toolCalls: [{ name: 'look' }], usage: null }, 'Instead of a summary the model called look.'],
    ['is refused', { text: 'No.', stopReason: 'refusal', usage: null }, 'The model refused to write a summary.'],
    ['is longer than what it sums up', long, 'is no shorter than what it sums up'],
  ])(
    'C2, C3: leaves the context as it was when it %s, and the next strategy has its turn',
    async (_, turn, problem) => {
      const model = explorer(14, turn);
      const { result, events } = await play({
        model,
        context: { ...context, strategy: [summarising(), pruneOldest()] },
      });
      expect(result.status).toBe('completed');
      expect(only(events, 'compacted').map(({ strategy }) => strategy)).toEqual(['prune_oldest']);
      // One retry, where trying again may help.
      const calls = model.requests.filter(asksForSummary).length;
      expect(calls).toBe(problem === 'The server is on fire.' ? 1 : 2);
    },
  );

  it('C2: ends the run, with the context as it was, when there is no other strategy', async () => {
    const model = explorer(20, '');
    const { result, session, events } = await play({ model, context: { ...context, strategy: summarising() } });
    expect(result.status).toBe('context_limit');
    expect(result.message).toBe('The context could not be made smaller. summarising: The summary is empty.');
    expect(only(events, 'compaction_failed')).toHaveLength(1);
    expect(session.messages.filter(({ role }) => role === 'tool').length).toBeGreaterThan(3);
    expect(events.at(-1)?.type).toBe('run_ended');
  });

  it('C2: is given up when it takes too long', async () => {
    const clock = testClock();
    const model = explorer(20, { text: 'Late.', delayMs: 10_000, usage: null }, { clock });
    const agent = defineAgent({
      model,
      tools: [look],
      context: { ...context, strategy: [summarising(), pruneOldest()], summary: { timeoutMs: 1000, maxRetries: 0 } },
    });
    const session = await createSession(agent, { clock });
    const run = session.prompt('Look everywhere.');
    const done = run.result;
    for (let second = 0; second < 30; second++) await clock.advance(1000);
    expect((await done).status).toBe('completed');
    // What was begun and not finished has an unknown price.
    expect((await done).cost).toBeNull();
    expect(clock.pending).toBe(0);
  });

  it('is tried again after the wait a provider asks for', async () => {
    const clock = testClock();
    let calls = 0;
    const model = explorer(14, () => (calls++ === 0 ? { error: { status: 429, retryAfterMs: 7000 } } : 'Fine.'), {
      clock,
    });
    const session = await createSession(defineAgent({ model, tools: [look], context }), { clock, id: 's' });
    const { result } = session.prompt('Look everywhere.');
    await clock.advance(6999);
    expect(calls).toBe(1);
    await clock.advance(1);
    expect((await result).status).toBe('completed');
    expect(calls).toBe(2);
  });
});

describe('what can not be made smaller', () => {
  it('C3: ends the run with its own reason instead of trying for ever', async () => {
    const agent = defineAgent({
      model: explorer(5),
      tools: [look],
      context: { window: 1000, strategy: pruneOldest() },
    });
    const session = await createSession(agent);
    const result = await session.prompt({ content: 'x'.repeat(8000), pinned: true }).result;
    expect(result).toMatchObject({ status: 'context_limit', turns: 1 });
    expect(result.message).toBe('The context could not be made smaller. There is nothing left that may be removed.');
  });

  it('C3: is compacted again only when it has grown, though it stays above the threshold', async () => {
    const model = explorer(12);
    const agent = defineAgent({ model, tools: [look], context: { window: 2500, strategy: pruneOldest() } });
    const session = await createSession(agent);
    let compactions = 0;
    session.subscribe(({ type }) => void (compactions += type === 'compacted' ? 1 : 0));
    await session.prompt({ content: 'x'.repeat(6000), pinned: true }).result;
    // Of 2,500 tokens 1,500 are pinned, and each turn brings 270.
    expect(compactions).toBeLessThanOrEqual(12);
    expect(compactions).toBeGreaterThan(2);
  });

  it('C4: a prompt bigger than the window is cut down with a pointer, and the model reads the rest with the tool', async () => {
    const text = `${'a line that is long enough\n'.repeat(2000)}the secret is 42\n${'another line like it\n'.repeat(2000)}`;
    const model = scriptedModel((request) => {
      const last = request.messages.at(-1);
      if (last?.role === 'tool') return { text: JSON.stringify(last.content), usage: null };
      const [said] = last?.content ?? [];
      const handle = said?.type === 'text' ? /"handle":"([^"]+)"/.exec(said.text)?.[1] : undefined;
      return { toolCalls: [{ name: 'recall', arguments: { handle: handle ?? '', search: 'secret' } }], usage: null };
    });
    const agent = defineAgent({ model, context: { window: 4000 } });
    const session = await createSession(agent);
    const result = await session.prompt(text).result;
    expect(result.status).toBe('completed');
    expect(result.text).toContain('2001: the secret is 42');
    expect(session.messages[0]).toMatchObject({ role: 'user', origin: 'prompt' });
  });

  it('C4: the same for one huge result, with its images and all its calls still answered', async () => {
    const huge = defineTool({ name: 'huge', description: 'Says a lot.', execute: () => 'word '.repeat(20_000) });
    const model = scriptedModel([
      { toolCalls: [{ name: 'huge' }, { name: 'look' }], usage: null },
      { text: 'Done.', usage: null },
    ]);
    const { result, session } = await play({ model, tools: [huge, look], context: { window: 4000 } });
    expect(result.status).toBe('completed');
    const [first] = session.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
    expect(JSON.stringify(first)).toMatch(/characters cut out; read it with recall/);
  });
});

describe('a provider that finds the request too long', () => {
  it('gets a smaller one, once', async () => {
    const model = scriptedModel([
      ...Array.from({ length: 5 }, (_, at) => ({ toolCalls: [{ name: 'look', arguments: { at } }], usage: null })),
      overflow,
      'Done.',
    ]);
    const { result, events } = await play({ model, context: { strategy: pruneOldest() } });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', turns: 6 });
    expect(only(events, 'compacted')).toMatchObject([{ trigger: 'overflow', turnIndex: 5, messagesBefore: 11 }]);
    expect(only(events, 'turn_started').slice(-2)).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
    const [before, after] = model.requests.slice(-2);
    expect(after?.messages.length).toBeLessThan(before?.messages.length ?? 0);
  });

  it('ends the run when the smaller one is too long as well', async () => {
    const turns = Array.from({ length: 5 }, (_, at) => ({
      toolCalls: [{ name: 'look', arguments: { at } }],
      usage: null,
    }));
    const model = scriptedModel([...turns, overflow, overflow, 'Never said.']);
    const { result, events } = await play({ model, context: { strategy: pruneOldest() } });
    expect(result).toMatchObject({ status: 'context_limit', error: { kind: 'context_overflow' } });
    expect(result.message).toBe('The request is too long, even after a compaction. prompt is too long');
    expect(only(events, 'compacted')).toHaveLength(1);
    expect(model.requests).toHaveLength(7);
  });

  it('ends the run with its own reason when `context: false` switches compaction off', async () => {
    const model = scriptedModel([overflow, 'Never said.']);
    const session = await createSession(defineAgent({ model, context: false }));
    const result = await session.prompt('Hello.').result;
    expect(result).toMatchObject({ status: 'context_limit', error: { kind: 'context_overflow' } });
    expect(result.message).toContain('The agent has `context: false`');
    expect(model.requests).toHaveLength(1);
  });

  it.each<[string, Turn]>([
    ['answers to what it has cut off', { toolCalls: [{ name: 'look' }], usage: { input: 2600 } }],
    ['has no room to answer', { text: '', stopReason: 'length', usage: { input: 2490 } }],
  ])('and says nothing of it, but %s, is treated the same', async (_, silent) => {
    const turns = Array.from({ length: 5 }, (_, at) => ({
      toolCalls: [{ name: 'look', arguments: { at } }],
      usage: null,
    }));
    const model = scriptedModel([...turns, silent, 'Done.'], { contextWindow: 2500 });
    const { result, events } = await play({ model, context: { strategy: pruneOldest() } });
    expect(result.status).toBe('completed');
    expect(only(events, 'attempt_failed')).toMatchObject([
      { error: { kind: 'context_overflow' }, usage: silent.usage },
    ]);
    expect(only(events, 'compacted')).toMatchObject([{ trigger: 'overflow' }]);
  });

  it('and has answered people keeps its answer', async () => {
    const model = scriptedModel([{ text: 'Hello.', usage: { input: 9000 } }], { contextWindow: 2500 });
    const { result } = await play({ model });
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.' });
  });
});

describe('a compaction that somebody asks for', () => {
  const agentOf = (more: Partial<AgentDefinition> = {}): ReturnType<typeof defineAgent> =>
    defineAgent({ model: explorer(12), tools: [look], context: {}, ...more });

  it('happens at once when no run is open, with the instructions', async () => {
    const model = explorer(12);
    const session = await createSession(agentOf({ model }));
    await session.prompt('Look everywhere.').result;
    const event = await session.compact({ instructions: 'Mind the weather.' });
    expect(event).toMatchObject({ type: 'compacted', trigger: 'manual', strategy: 'summarising' });
    expect(event.runId).toBeUndefined();
    expect(session.messages).toHaveLength(event.messagesAfter);
    expect(JSON.stringify(model.requests.find(asksForSummary)?.messages.at(-1))).toContain('Mind the weather.');
    expect((await session.prompt('And now?').result).status).toBe('completed');
  });

  it('has a model sum up a short conversation, too, where it is said what matters', async () => {
    const long = { text: `So it is: ${'it rains and rains. '.repeat(40)}`, usage: null };
    const model = scriptedModel([long, long, long, long, { text: 'It rains.', usage: null }]);
    const session = await createSession(defineAgent({ model }));
    for (const said of ['One.', 'Two.', 'Three.', 'Four.']) await session.prompt(said).result;
    expect(await session.compact({ instructions: 'Mind the weather.' })).toMatchObject({ strategy: 'summarising' });
    expect(JSON.stringify(session.messages)).toContain('It rains.');
  });

  it('works for an agent without a context policy too', async () => {
    const session = await createSession(defineAgent({ model: explorer(12), tools: [look] }));
    await session.prompt('Look everywhere.').result;
    expect((await session.compact()).tokensAfter).toBeGreaterThan(0);
  });

  it('C5: waits for the tools of a run that is going on, whose results it keeps', async () => {
    const started = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow = defineTool({
      name: 'slow',
      description: 'Takes its time.',
      async execute() {
        started.resolve();
        await goOn.promise;
        return 'the result nobody has read yet';
      },
    });
    const calls = [{ name: 'slow' }, { name: 'look' }];
    const turns = Array.from({ length: 8 }, (_, at) => ({
      toolCalls: [{ name: 'look', arguments: { at } }],
      usage: null,
    }));
    const model = scriptedModel([...turns, { toolCalls: calls, usage: null }, 'Done.']);
    const journal = memoryJournal();
    const session = await createSession(agentOf({ model, tools: [look, slow], context: { strategy: pruneOldest() } }), {
      journal,
      id: 's',
    });
    const run = session.prompt('Look everywhere.');
    await started.promise;
    const compaction = session.compact();
    goOn.resolve();
    expect(await compaction).toMatchObject({ trigger: 'manual', turnIndex: 9 });
    expect((await run.result).status).toBe('completed');
    expect(JSON.stringify(model.requests.at(-1)?.messages.slice(-2))).toContain('the result nobody has read yet');
    const types = (await logOf(journal, 's')).map(({ type }) => type);
    expect(types.lastIndexOf('tool_ended')).toBeLessThan(types.indexOf('compacted'));
  });

  it('says why when there is nothing to remove', async () => {
    const session = await createSession(agentOf());
    await expect(session.compact()).rejects.toMatchObject({ code: 'not_compacted' });
    expect(session.status).toBe('idle');
  });

  it('is refused while a run is paused', async () => {
    const picker = defineTool({ name: 'picker', description: 'Runs at the client.', runs: 'client' });
    const session = await createSession(
      agentOf({ model: scriptedModel([{ toolCalls: [{ name: 'picker' }] }]), tools: [picker] }),
    );
    await session.prompt('Pick.').result;
    await expect(session.compact()).rejects.toMatchObject({ code: 'run_active' });
  });

  it('is of no use when the conversation was replaced meanwhile', async () => {
    const journal = memoryJournal();
    const turns: Turn[] = Array.from({ length: 12 }, (_, at) => ({
      toolCalls: [{ name: 'look', arguments: { at } }],
      usage: null,
    }));
    const model = scriptedModel([
      ...turns,
      { text: 'Done.', usage: null },
      async () => {
        await journal.post('s', { type: 'import', messages: [] }, 'other', 0);
        return 'Too late.';
      },
    ]);
    const session = await createSession(agentOf({ model }), { journal, id: 's' });
    await session.prompt('Look everywhere.').result;
    await expect(session.compact()).rejects.toMatchObject({ code: 'not_compacted' });
    expect(session.messages).toEqual([]);
  });
});

describe('hooks', () => {
  it('may add to what a summary is asked for', async () => {
    const model = explorer(14);
    const before = defineHook('before_compaction', () => ({ context: 'Keep all numbers.' }));
    const { events } = await play({ model, hooks: [before] });
    expect(only(events, 'compacted')).not.toEqual([]);
    expect(JSON.stringify(model.requests.find(asksForSummary)?.messages.at(-1))).toContain('Keep all numbers.');
    // It is not for the run's own model.
    expect(JSON.stringify(model.requests.at(-1))).not.toContain('Keep all numbers.');
  });

  it('may say no: the run goes on as it is, and is asked about again before the next turn', async () => {
    const told: number[] = [];
    const no = defineHook('before_compaction', ({ tokens }) => {
      told.push(tokens);
      return false;
    });
    const { result, events } = await play({ model: explorer(16), hooks: [no] });
    expect(result.status).toBe('completed');
    expect(only(events, 'compacted')).toEqual([]);
    expect(told.length).toBeGreaterThan(1);
    expect(told.every((tokens) => tokens > 3400)).toBe(true);
  });

  it('that say no to what a provider demands end the run', async () => {
    const no = defineHook('before_compaction', () => ({ decision: 'deny', reason: 'Not now.' }), {
      matcher: 'overflow',
    });
    const { result } = await play({ model: scriptedModel([overflow]), hooks: [no] });
    expect(result).toMatchObject({ status: 'context_limit', message: 'Not now.' });
  });

  it('that say no to a person are why it is refused', async () => {
    const no = defineHook('before_compaction', () => ({ decision: 'deny', reason: 'Not now.' }));
    const session = await createSession(defineAgent({ model: explorer(12), tools: [look], hooks: [no] }));
    await session.prompt('Look everywhere.').result;
    await expect(session.compact()).rejects.toThrow('Not now.');
  });
});

describe('a process that dies during a compaction', () => {
  it('C6: leaves the view as it was before or as it is after, wherever it dies', async () => {
    const strategy = [summarising(), pruneOldest()];
    const { events, session } = await play({ model: explorer(20), context: { ...context, strategy } });
    const views = new Set<string>();
    for (let length = 1; length <= events.length; length++) {
      const prefix = events.slice(0, length);
      const model = explorer(20);
      const agent = defineAgent({ model, tools: [look], context: { ...context, strategy } });
      const reopened = await openSession(agent, 's', { journal: await journalOf(prefix) });
      const compactions = prefix.filter(({ type }) => type === 'compacted').length;
      const summaries = reopened.messages.filter((message) => message.role === 'user' && message.removed);
      expect(summaries).toHaveLength(compactions);
      views.add(JSON.stringify(reopened.messages));
      if (reopened.status === 'idle') continue;
      expect((await reopened.resume().result).status).toBe('completed');
    }
    expect(views.has(JSON.stringify(session.messages))).toBe(true);
  });

  describe('C6: with no run open', () => {
    /** A session whose provider says nothing more once it is asked for a summary. */
    async function waiting() {
      const asked = Promise.withResolvers<void>();
      const journal = memoryJournal();
      const model = scriptedModel(async (request) => {
        if (!asksForSummary(request)) return { text: 'x'.repeat(4000), usage: null };
        asked.resolve();
        return new Promise<never>(() => {});
      });
      const agent = defineAgent({ model, context: { window: 40_000 } });
      const session = await createSession(agent, { journal });
      for (const prompt of ['One.', 'Two.', 'Three.']) await session.prompt(prompt).result;
      const compact = () => session.compact({ instructions: 'Mind it.' }).catch((error: unknown) => error);
      return { agent, journal, session, asked: asked.promise, compact };
    }

    it.each([
      ['abort', 'while the summary is written'],
      ['close', 'while the summary is written'],
      ['abort', 'at once'],
      ['close', 'at once'],
    ])('%s ends the compactions that go on, %s', async (verb, moment) => {
      const { session, asked, compact } = await waiting();
      const before = session.messages.length;
      const compacting = [compact(), compact()];
      if (moment !== 'at once') await asked;
      if (verb === 'abort') await session.abort('Enough.');
      else await session.close({ abort: true });
      for (const one of compacting) expect(await one).toMatchObject({ code: 'not_compacted' });
      expect(session.messages).toHaveLength(before);
      if (verb === 'abort') expect((await session.prompt('Four.').result).status).toBe('completed');
    });

    it('a cancellation counts after a crash, too: no summary is asked for', async () => {
      const { agent, journal, session } = await waiting();
      await session.close();
      await journal.post(session.id, { type: 'compact', instructions: 'Mind it.' }, 'key-1', 1);
      await journal.post(session.id, { type: 'cancel' }, 'key-2', 1);
      const reopened = await openSession(agent, session.id, { journal });
      const before = reopened.messages.length;
      expect((await reopened.prompt('Four.').result).status).toBe('completed');
      expect(reopened.messages).toHaveLength(before + 2);
      expect((await logOf(journal, session.id)).some(({ type }) => type === 'compacted')).toBe(false);
    });

    it('an abort of another handle ends it', async () => {
      const { agent, journal, session, asked, compact } = await waiting();
      const compacting = compact();
      await asked;
      const other = await openSession(agent, session.id, { journal });
      await other.abort();
      expect(await compacting).toMatchObject({ code: 'not_compacted' });
    });
  });

  it('C6: an abort while the summary is being written ends the run, with the context as it was', async () => {
    const session = await createSession(
      defineAgent({
        model: scriptedModel(async (request) => {
          if (!asksForSummary(request)) return { toolCalls: [{ name: 'look' }], usage: null };
          await session.abort('Enough.');
          return { text: 'Too late.', usage: null };
        }),
        tools: [look],
        context,
        loopDetection: false,
      }),
    );
    const result = await session.prompt('Look everywhere.').result;
    expect(result).toMatchObject({ status: 'aborted', message: 'Enough.' });
    expect(session.messages.some((message) => message.role === 'user' && message.removed)).toBe(false);
  });
});
