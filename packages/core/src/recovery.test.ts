import { describe, expect, it } from 'vitest';
import { journalOf, logOf, scriptedModel, type Turn } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  TreadleError,
  type Agent,
  type DurableEvent,
  type Journal,
  type Message,
  type ReplayPolicy,
  type Session,
} from './index.ts';

const effects = { count: 0, keys: [] as string[] };

function toolWith(replay: ReplayPolicy) {
  return defineTool({
    name: 'act',
    description: 'Acts.',
    replay,
    execute: (_, { idempotencyKey }) => {
      effects.count += 1;
      effects.keys.push(idempotencyKey);
      return 'acted';
    },
  });
}

function agentWith(turns: readonly (Turn | string)[], replay: ReplayPolicy): Agent {
  return defineAgent({ model: scriptedModel(turns), tools: [toolWith(replay)] });
}

/** Plays a run with one call to its end, and returns its log and the call's key. */
async function played(replay: ReplayPolicy): Promise<{ events: DurableEvent[]; key: string }> {
  effects.count = 0;
  effects.keys = [];
  const journal = memoryJournal();
  const session = await createSession(agentWith([{ text: 'I act.', toolCalls: [{ name: 'act' }] }, 'Done.'], replay), {
    journal,
    id: 's1',
  });
  await session.prompt('Act.').result;
  return { events: await logOf(journal, 's1'), key: effects.keys[0] ?? '' };
}

/** The log up to and including the first event of this type. */
function upTo(events: readonly DurableEvent[], type: DurableEvent['type']): DurableEvent[] {
  return events.slice(0, events.findIndex((event) => event.type === type) + 1);
}

/** The session of a process that died just after an event of this type. */
async function reopened(
  type: DurableEvent['type'],
  replay: ReplayPolicy,
  turns: readonly (Turn | string)[],
): Promise<{ session: Session; journal: Journal; key: string }> {
  const { events, key } = await played(replay);
  effects.count = 0;
  effects.keys = [];
  const journal = await journalOf(upTo(events, type));
  return { session: await openSession(agentWith(turns, replay), 's1', { journal }), journal, key };
}

const resultTexts = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'tool' ? message.content.map((block) => (block.type === 'text' ? block.text : block.type)) : [],
  );

describe('a run whose process died', () => {
  it('during the model call is asked again, and what had been streamed is said to be void', async () => {
    const { session, journal } = await reopened('turn_started', 'never', ['Done.']);
    expect(session.status).not.toBe('idle');
    const result = await session.resume().result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', turns: 1 });
    const types = (await logOf(journal, 's1')).map(({ type }) => type);
    expect(types).toContain('message_discarded');
    expect(types.filter((type) => type === 'run_ended')).toHaveLength(1);
  });

  it('before a call was started runs it once', async () => {
    const { events } = await played('never');
    effects.count = 0;
    const asked = events.findIndex((event) => event.type === 'message_added' && event.message.role === 'assistant');
    const journal = await journalOf(events.slice(0, asked + 1));
    const session = await openSession(agentWith(['Done.'], 'never'), 's1', { journal });
    const result = await session.resume().result;
    expect(effects.count).toBe(1);
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  it('during a call that must never run twice is told that its effect is unknown', async () => {
    const { session } = await reopened('tool_started', 'never', ['I check.']);
    const result = await session.resume().result;
    expect(effects.count).toBe(0);
    expect(resultTexts(result.messages)[0]).toContain('Whether it took effect is unknown');
    expect(result.status).toBe('completed');
  });

  it('during a safe call runs it again under the same key', async () => {
    const { session, key } = await reopened('tool_started', 'safe', ['Done.']);
    const result = await session.resume().result;
    expect(effects.keys).toEqual([key]);
    expect(resultTexts(result.messages)).toEqual(['acted']);
  });

  it('during a call to be asked about pauses, and does what the person says', async () => {
    for (const [decision, runs, words] of [
      ['approve', 1, 'acted'],
      ['reject', 0, 'Peter was here.'],
    ] as const) {
      const { session } = await reopened('tool_started', 'ask', ['Done.']);
      const paused = await session.resume().result;
      expect(paused).toMatchObject({ status: 'paused', pending: [{ toolName: 'act' }] });
      const approvalId = paused.pending[0]?.approvalId ?? '';
      expect(() => session.approve('approval_nope')).toThrow(expect.objectContaining({ code: 'conflict' }));
      const result = await session[decision](approvalId, 'Peter was here.').result;
      expect(result.status).toBe('completed');
      expect(effects.count).toBe(runs);
      expect(resultTexts(result.messages)[0]).toContain(words);
    }
  });

  it('after a call ended does not run it again', async () => {
    const { session } = await reopened('tool_ended', 'never', ['Done.']);
    const result = await session.resume().result;
    expect(effects.count).toBe(0);
    expect(resultTexts(result.messages)).toEqual(['acted']);
  });

  it('is ended as aborted by a new prompt, with a valid history', async () => {
    const { session, journal } = await reopened('tool_started', 'never', ['Hello again.']);
    const result = await session.prompt('Forget it.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Hello again.' });
    expect(session.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant']);
    const ends = (await logOf(journal, 's1')).flatMap((event) => (event.type === 'run_ended' ? [event.status] : []));
    expect(ends).toEqual(['aborted', 'completed']);
  });

  it('can be aborted without going on', async () => {
    const { session } = await reopened('tool_started', 'safe', []);
    await session.abort('no more');
    expect(session.status).toBe('idle');
    expect(effects.count).toBe(0);
  });

  it('at any event goes on to an end with every call answered once', async () => {
    const { events } = await played('safe');
    for (let length = 1; length <= events.length; length++) {
      const journal = await journalOf(events.slice(0, length));
      const session = await openSession(
        agentWith([{ text: 'I act.', toolCalls: [{ name: 'act' }] }, 'Done.'], 'safe'),
        's1',
        { journal },
      );
      if (session.status !== 'idle')
        expect((await session.resume().result).status, `after event ${length}`).toBe('completed');
      const log = await logOf(journal, 's1');
      expect(log.slice(0, length)).toEqual(events.slice(0, length));
      const calls = session.messages.flatMap((message) =>
        message.role === 'assistant' ? message.content.filter(({ type }) => type === 'tool_call') : [],
      );
      expect(resultTexts(session.messages)).toHaveLength(calls.length);
    }
  });

  it('nothing to resume is an error', async () => {
    const session = await createSession(agentWith([], 'never'));
    expect(() => session.resume()).toThrow(expect.objectContaining({ code: 'nothing_to_continue' }));
  });
});

describe('client tools', () => {
  const pick = defineTool({
    name: 'pick_color',
    description: 'Asks the user for a color.',
    runs: 'client',
    inputSchema: { type: 'object', properties: { title: { type: 'string' } } },
  });
  const act = toolWith('never');
  const first: Turn = {
    toolCalls: [
      { name: 'pick_color', arguments: { title: 'One' } },
      { name: 'act' },
      { name: 'pick_color', arguments: { title: 'Two' } },
    ],
  };
  const agent = (turns: readonly (Turn | string)[]): Agent =>
    defineAgent({ model: scriptedModel(turns), tools: [pick, act] });

  it('pause the run after the server calls of the turn, and another process goes on with their results in call order', async () => {
    const journal = memoryJournal();
    const session = await createSession(agent([first]), { journal, id: 's1' });
    const paused = await session.prompt('Go.').result;
    expect(paused.status).toBe('paused');
    expect(paused.pending.map(({ toolName, arguments: args }) => [toolName, args])).toEqual([
      ['pick_color', { title: 'One' }],
      ['pick_color', { title: 'Two' }],
    ]);
    const [one = '', two = ''] = paused.pending.map(({ callId }) => callId);
    const later = await openSession(agent(['Pretty.']), 's1', { journal });
    const result = await later.addToolOutputs([
      { callId: two, content: 'blue' },
      { callId: one, content: 'red' },
    ]).result;
    expect(resultTexts(result.messages)).toEqual(['red', 'acted', 'blue']);
    expect(result).toMatchObject({ status: 'completed', text: 'Pretty.', turns: 2 });
    expect(result.messages[0]).toMatchObject({ role: 'user' });
    expect(result.runId).toBe(paused.runId);
  });

  it('with arguments that do not fit are answered with an error and never reach the client', async () => {
    const strict = defineTool({
      name: 'strict',
      description: 'Wants a title.',
      runs: 'client',
      inputSchema: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
    });
    const model = scriptedModel([{ toolCalls: [{ name: 'strict' }] }, 'Sorry.']);
    const session = await createSession(defineAgent({ model, tools: [strict] }));
    const result = await session.prompt('Go.').result;
    expect(result.status).toBe('completed');
    expect(resultTexts(result.messages)[0]).toContain('title');
  });

  it('are answered exactly, or not at all', async () => {
    const session = await createSession(agent([first, 'Pretty.']));
    expect(() => session.addToolOutputs([])).toThrow(expect.objectContaining({ code: 'not_awaiting' }));
    const paused = await session.prompt('Go.').result;
    const ids = paused.pending.map(({ callId }) => callId);
    const answers = ids.map((callId) => ({ callId, content: 'red' }));
    for (const [results, code, words] of [
      [answers.slice(1), 'results_missing', 'missing'],
      [[...answers, { callId: 'call_x', content: 'red' }], 'results_unknown', 'not waiting'],
      [[...answers, ...answers.slice(0, 1)], 'results_duplicate', 'twice'],
    ] as const) {
      expect(() => session.addToolOutputs(results)).toThrow(
        expect.objectContaining({ code, message: expect.stringContaining(words) }),
      );
    }
    expect((await session.addToolOutputs(answers).result).status).toBe('completed');
    expect(() => session.addToolOutputs(answers)).toThrow(expect.objectContaining({ code: 'conflict' }));
  });

  it('waiting keep prompts out until they are answered or the run is aborted', async () => {
    const session = await createSession(agent([first, 'Hello.']));
    await session.prompt('Go.').result;
    expect(() => session.prompt('Something else')).toThrow(expect.objectContaining({ code: 'run_active' }));
    await session.abort();
    expect((await session.prompt('Something else').result).status).toBe('completed');
  });

  it('waiting cost no time of the limit', async () => {
    const journal = memoryJournal();
    let now = 1000;
    const clock = { now: () => now, after: () => () => {} };
    const limited = defineAgent({
      model: scriptedModel([first, 'Pretty.']),
      tools: [pick, act],
      limits: { maxDurationMs: 5000 },
    });
    const session = await createSession(limited, { journal, clock });
    const paused = await session.prompt('Go.').result;
    now += 3_600_000;
    const result = await session.addToolOutputs(paused.pending.map(({ callId }) => ({ callId, content: 'red' })))
      .result;
    expect(result.status).toBe('completed');
  });
});

describe('a drive that was taken over', () => {
  it('writes nothing more, stops its tools and says so', async () => {
    const { journal, takeOver } = fencible(memoryJournal());
    let stopped = false;
    const taken = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<void>();
    const slow = defineTool({
      name: 'act',
      description: 'Acts.',
      execute: (_, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            stopped = true;
            reject(new Error('stopped'));
          });
          begun.resolve();
        }),
    });
    const quick = defineTool({ name: 'quick', description: 'Ends when told.', execute: () => taken.promise });
    const model = scriptedModel([{ toolCalls: [{ name: 'act' }, { name: 'quick' }] }]);
    const session = await createSession(defineAgent({ model, tools: [slow, quick] }), { journal, id: 's1' });
    const run = session.prompt('Go.');
    await begun.promise;
    takeOver();
    taken.resolve('too late to be written');
    await expect(run.result).rejects.toMatchObject({ code: 'fenced' });
    expect(stopped).toBe(true);
  });
});

/** A journal that a newer epoch takes over when told to: it fences its old writer. */
function fencible(journal: Journal): { journal: Journal; takeOver: () => void } {
  let taken = false;
  return {
    takeOver: () => {
      taken = true;
    },
    journal: {
      ...journal,
      async append(sessionId, epoch, expectedSeq, events) {
        if (taken) throw new TreadleError('fenced', 'A newer drive took the session over.');
        return journal.append(sessionId, epoch, expectedSeq, events);
      },
    },
  };
}
