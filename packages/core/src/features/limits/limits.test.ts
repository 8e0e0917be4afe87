import { describe, expect, it } from 'vitest';
import { logOf, scriptedModel, testClock, transientMemory, type ScriptedModel, type Turn } from '@treadle/testing';
import { initialState, reduce } from '../../entries/kernel.ts';
import { UNKNOWN_USAGE, type ModelEvent } from '../../entries/model.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  type AgentDefinition,
  type DurableEvent,
  type Limits,
  type Message,
  type Model,
  type RunResult,
} from '../../index.ts';

const textsOf = (messages: readonly Message[]): string[] =>
  messages.map((message) =>
    message.role === 'extension'
      ? message.kind
      : message.content.map((block) => (block.type === 'text' ? block.text : block.type)).join('+'),
  );

const work = defineTool({
  name: 'work',
  description: 'Works.',
  inputSchema: { type: 'object', properties: { step: { type: 'number' } } },
  execute: ({ step = 0 }) => `did ${step}`,
});
const broken = defineTool({
  name: 'broken',
  description: 'Fails.',
  inputSchema: { type: 'object', properties: { step: { type: 'number' } } },
  execute: () => {
    throw new Error('the disk is full');
  },
});
const call = (step: number, name = 'work'): Turn => ({ toolCalls: [{ name, arguments: { step } }] });
/** Works for ever, never twice the same. */
const busy = (perTurn = 1): ScriptedModel =>
  scriptedModel((_, index) => ({
    toolCalls: Array.from({ length: perTurn }, (__, n) => ({ name: 'work', arguments: { step: index * perTurn + n } })),
  }));

interface Played {
  readonly result: RunResult;
  readonly texts: string[];
  readonly log: DurableEvent[];
}

async function play(model: ScriptedModel, definition: Partial<AgentDefinition> = {}): Promise<Played> {
  const journal = memoryJournal();
  const agent = defineAgent({ model, tools: [work, broken], ...definition });
  const session = await createSession(agent, { journal, id: 's1' });
  const result = await session.prompt('Go.').result;
  return { result, texts: textsOf(session.messages), log: await logOf(journal, 's1') };
}

/** A model that streams for ever, and counts what was taken from it and whether it was let go. */
function endlessModel(piece: (index: number) => readonly ModelEvent[]) {
  const seen = { pieces: 0, isLeft: false };
  const model: Model = {
    provider: 'endless',
    id: 'endless',
    async *stream() {
      try {
        yield { type: 'start' };
        for (;;) yield* piece(seen.pieces++);
      } finally {
        seen.isLeft = true;
      }
    },
  };
  return { model, seen };
}

const text = (index: number, words: string): ModelEvent => ({ type: 'text_delta', index, text: words });
const callStart = (index: number): ModelEvent => ({
  type: 'tool_call_start',
  index,
  providerCallId: `c${index}`,
  name: 'work',
});

describe('a reply that is too long is stopped, and the run ends with a reason of its own', () => {
  const play = async (piece: (index: number) => readonly ModelEvent[], limits: Partial<Limits>) => {
    const journal = memoryJournal();
    const { model, seen } = endlessModel(piece);
    const session = await createSession(defineAgent({ model, tools: [work], limits }), { journal, id: 's1' });
    const run = session.prompt('Go.');
    let shown = '';
    for await (const event of run) if (event.type === 'message_delta') shown += event.text;
    const log = await logOf(journal, 's1');
    expect(log.reduce(reduce, initialState('s1')).run).toBeNull();
    return { result: await run.result, seen, shown, session, texts: textsOf(session.messages) };
  };

  it('text is kept up to the limit, and the session goes on', async () => {
    const { result, seen, shown, session, texts } = await play(() => [text(0, 'abc')], { maxReplyLength: 10_000 });
    expect(result).toMatchObject({
      status: 'reply_limit',
      message: 'reply limit reached (a reply may have 10000 characters)',
    });
    // A block counts 512 besides its characters.
    expect(result.text).toBe('abc'.repeat(4000).slice(0, 10_000 - 512));
    expect(shown).toBe(result.text);
    expect(seen.isLeft).toBe(true);
    expect(seen.pieces).toBeLessThan(4000);
    expect(texts.at(-1)).toBe(`[Agent stopped: ${result.message}]`);
    expect((await session.continue().result).status).toBe('reply_limit');
  });

  it('by default after 16 million characters', async () => {
    const { result, seen } = await play(() => [text(0, 'x'.repeat(100_000))], {});
    expect(result.status).toBe('reply_limit');
    expect(result.text.length).toBe(16_000_000 - 512);
    expect(seen.pieces).toBeLessThan(170);
  });

  it.each<[string, (index: number) => readonly ModelEvent[], Partial<Limits>, string]>([
    [
      'thinking',
      () => [{ type: 'thinking_delta', index: 0, text: 'hm' }],
      { maxThinkingLength: 1000 },
      'thinking_limit',
    ],
    [
      'arguments',
      (index) => [index === 0 ? callStart(0) : { type: 'tool_arguments_delta', index: 0, text: '["' }],
      { maxArgumentsLength: 1000 },
      'arguments_limit',
    ],
    ['many blocks', (index) => [text(index, 'x')], { maxReplyLength: 10_000 }, 'reply_limit'],
    ['many calls', (index) => [callStart(index)], { maxReplyLength: 10_000 }, 'reply_limit'],
    [
      'blocks without a delta',
      (index) => [{ type: 'block_end', index, block: { type: 'text', text: 'xyz' } }],
      { maxReplyLength: 10_000 },
      'reply_limit',
    ],
    [
      'blocks of the provider',
      (index) => [
        { type: 'block_end', index, block: { type: 'provider_block', kind: 'k', raw: { a: ['x'.repeat(5000)] } } },
      ],
      { maxReplyLength: 10_000 },
      'reply_limit',
    ],
  ])('%s', async (_, piece, limits, status) => {
    const { result, seen } = await play(piece, limits);
    expect(result.status).toBe(status);
    expect(seen).toMatchObject({ isLeft: true });
    expect(seen.pieces).toBeLessThan(1000);
  });

  it('thinking so far is kept in the history, and no model is sent it', async () => {
    const { session, result } = await play(() => [{ type: 'thinking_delta', index: 0, text: 'hm' }], {
      maxThinkingLength: 10,
    });
    expect(result.finalMessage?.content).toEqual([{ type: 'thinking', text: 'hmhmhmhmhm' }]);
    expect(session.messages.some(({ role }) => role === 'assistant')).toBe(false);
  });

  it('a message that begins again is measured anew', async () => {
    const again = (index: number): readonly ModelEvent[] =>
      index < 50
        ? [text(0, 'x'.repeat(400)), { type: 'start' }]
        : [
            text(0, 'Done.'),
            { type: 'block_end', index: 0, block: { type: 'text', text: 'Done.' } },
            { type: 'finish', stopReason: 'stop', usage: UNKNOWN_USAGE },
          ];
    const { result } = await play(again, { maxReplyLength: 1000 });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
  });
});

describe('a reply with more calls than one may have', () => {
  it('has the first of them run and the others answered, and the run goes on', async () => {
    const model = scriptedModel([
      { toolCalls: Array.from({ length: 20_000 }, (_, step) => ({ name: 'work', arguments: { step } })) },
      'Done.',
    ]);
    const { result, log } = await play(model);
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(log.filter(({ type }) => type === 'tool_started')).toHaveLength(128);
    const refused = log.flatMap((event) => (event.type === 'tool_call_rejected' ? [event.reason] : []));
    expect(refused).toHaveLength(19_872);
    expect(new Set(refused)).toEqual(new Set(['too_many_calls']));
    // Each call has its result in the next request.
    expect(model.requests[1]?.messages.filter(({ role }) => role === 'tool')).toHaveLength(20_000);
  });

  it('is judged by the limit of the run', async () => {
    const { result, log } = await play(busy(3), { limits: { maxCallsPerTurn: 2, maxTurns: 1 } });
    expect(result.status).toBe('turn_limit');
    expect(log.filter(({ type }) => type === 'tool_started')).toHaveLength(2);
  });
});

describe('R4: each limit ends the run with a reason of its own, in the history too', () => {
  it.each<[string, Partial<AgentDefinition>, ScriptedModel, string, string]>([
    ['model calls', { limits: { maxTurns: 3 } }, busy(), 'turn_limit', 'turn limit reached (3 of 3 turns)'],
    [
      'turns with tools',
      { limits: { maxToolTurns: 2 } },
      busy(),
      'tool_turn_limit',
      'tool turn limit reached (2 of 2 tool turns)',
    ],
    [
      'tool calls',
      { limits: { maxToolCalls: 5 } },
      busy(2),
      'tool_call_limit',
      'tool call limit reached (5 of 5 tool calls)',
    ],
    ['tokens', { limits: { maxTotalTokens: 40 } }, busy(), 'token_limit', 'token limit reached (45 of 40 tokens)'],
  ])('%s', async (_, definition, model, status, message) => {
    const { result, texts, log } = await play(model, definition);
    expect(result).toMatchObject({ status, message });
    expect(texts.at(-1)).toBe(`[Agent stopped: ${message}]`);
    const [limit] = log.flatMap((event) =>
      event.type === 'message_added' && event.notice?.type === 'limit' ? [event] : [],
    );
    expect(limit?.inView).toBe(true);
    const requested = log.flatMap((event) =>
      event.type === 'message_added' && event.message.role === 'assistant'
        ? event.message.content.flatMap((block) => (block.type === 'tool_call' ? [block.callId] : []))
        : [],
    );
    const answered = log.flatMap((event) =>
      event.type === 'tool_ended' || event.type === 'tool_call_rejected' ? [event.callId] : [],
    );
    expect(answered.toSorted()).toEqual(requested.toSorted());
  });

  it('driven time, with a clock that a test owns', async () => {
    const clock = testClock();
    const model = scriptedModel([{ text: 'Slow.', delayMs: 60_000 }], { clock });
    const session = await createSession(defineAgent({ model, limits: { maxDurationMs: 5000 } }), { clock });
    const run = session.prompt('Go.');
    await run.id;
    await clock.advance(5000);
    expect(await run.result).toMatchObject({ status: 'time_limit', message: 'time limit reached (5.0 s of 5 s)' });
  });

  it('never more tool calls than there may be, and a model that has used them up may still answer', async () => {
    const three = await play(busy(10), { limits: { maxToolCalls: 3 } });
    expect(three.log.filter(({ type }) => type === 'tool_started')).toHaveLength(3);
    expect(three.log.filter((event) => event.type === 'tool_call_rejected' && event.reason === 'limit')).toHaveLength(
      7,
    );
    const model = scriptedModel([call(1), call(2), 'Done.']);
    expect((await play(model, { limits: { maxToolCalls: 2 } })).result).toMatchObject({
      status: 'completed',
      turns: 3,
    });
  });

  it.each([{ maxTurn: 3 }, { maxTurns: 0 }, { maxCost: -1 }, { warnAt: Number.NaN }])('%j makes no agent', (limits) => {
    expect(() => defineAgent({ model: busy(), limits })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });
});

describe('a run under limits of its own', () => {
  it('goes on from where the one before ended at a limit', async () => {
    const model = scriptedModel([call(1), call(2), call(3), 'Done.']);
    const session = await createSession(defineAgent({ model, tools: [work], limits: { maxTurns: 2 } }));
    expect((await session.prompt('Go.').result).status).toBe('turn_limit');
    const result = await session.continue({ limits: { maxTurns: 10 } }).result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(textsOf(session.messages)).toContain('[Agent stopped: turn limit reached (2 of 2 turns)]');
  });

  it('keeps them in the log, those that are off too, for whoever drives it on', async () => {
    const journal = memoryJournal();
    const agent = defineAgent({ model: busy(), tools: [work], limits: { maxTurns: 2 } });
    const session = await createSession(agent, { journal, id: 's1' });
    const run = session.prompt('Go.', { limits: { maxTurns: Infinity, maxToolTurns: 4 } });
    expect((await run.result).status).toBe('tool_turn_limit');
    const events = await logOf(journal, 's1');
    expect(events.find(({ type }) => type === 'run_started')).toMatchObject({
      limits: { maxTurns: null, maxToolTurns: 4 },
    });
    const stored = JSON.parse(JSON.stringify(events)) as DurableEvent[];
    const cut = stored.findLastIndex(({ type }) => type === 'turn_ended');
    const { journalOf } = await import('@treadle/testing');
    const later = await openSession(agent, 's1', { journal: await journalOf(stored.slice(0, cut)) });
    expect((await later.resume().result).status).toBe('tool_turn_limit');
  });

  it('is refused when they make no sense', async () => {
    const session = await createSession(defineAgent({ model: busy() }));
    expect(() => session.prompt('Go.', { limits: { maxTurns: -1 } })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });
});

describe('a limit that comes near', () => {
  it('is told to the model once, with its next turn and before what people say', async () => {
    const model = busy();
    const { texts, log } = await play(model, { limits: { maxTurns: 5, maxToolCalls: 5 } });
    const notices = log.flatMap((event) => (event.type === 'message_added' && event.notice ? [event.notice] : []));
    expect(notices).toEqual([
      { type: 'limit_warning', limit: 'turns' },
      { type: 'limit_warning', limit: 'tool_calls' },
      { type: 'limit', limit: 'turns' },
    ]);
    expect(texts).toContain('[The turn limit is near: 4 of 5 turns used. Finish what matters most.]');
    expect(texts.filter((text) => text.startsWith('[The'))).toHaveLength(2);
  });

  it('is not told when that is switched off', async () => {
    const { texts } = await play(busy(), { limits: { maxTurns: 5, warnAt: Infinity } });
    expect(texts.filter((text) => text.startsWith('[The'))).toEqual([]);
  });
});

describe('the closing call', () => {
  const summing = (): ScriptedModel =>
    scriptedModel((request, index) => (request.toolChoice === 'none' ? 'I did two things.' : call(index)));

  it.each([
    [true, 'Say what you have found out'],
    ['Sum up in one line.', 'Sum up in one line.'],
  ] as const)('asks once more, without tools but with their declarations: %s', async (wrapUp, told) => {
    const model = summing();
    const { result, texts, log } = await play(model, { limits: { maxTurns: 2 }, wrapUp });
    expect(result).toMatchObject({ status: 'turn_limit', text: 'I did two things.', turns: 3 });
    const last = model.requests.at(-1);
    expect(last).toMatchObject({ toolChoice: 'none' });
    expect(last?.tools).toEqual(model.requests[0]?.tools);
    expect(texts.at(-2)).toMatch(/^\[Agent stopped: turn limit reached \(2 of 2 turns\)\] /);
    expect(texts.at(-2)).toContain(told);
    expect(log.filter((event) => event.type === 'turn_started' && event.closing)).toHaveLength(1);
  });

  it('runs no tool, should the model call one all the same', async () => {
    const { result, log } = await play(busy(), { limits: { maxTurns: 2 }, wrapUp: true });
    expect(result).toMatchObject({ status: 'turn_limit', turns: 3 });
    expect(log.filter(({ type }) => type === 'tool_started')).toHaveLength(2);
    expect(log.filter((event) => event.type === 'tool_call_rejected' && event.reason === 'limit')).toHaveLength(1);
  });

  it('is tried again like any other when it fails, and leaves none at a limit of tokens', async () => {
    const model = scriptedModel([call(1), { error: { status: 529 } }, 'Summed up.']);
    const definition = { limits: { maxTurns: 1 }, wrapUp: true, retry: { initialDelayMs: 0 } };
    expect((await play(model, definition)).result).toMatchObject({ status: 'turn_limit', text: 'Summed up.' });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, 'none', 'none']);
    const { result } = await play(busy(), { limits: { maxTotalTokens: 20 }, wrapUp: true });
    expect(result).toMatchObject({ status: 'token_limit', turns: 2 });
  });
});

describe('the memory', () => {
  it('is told of a run whose closing call gave the answer, and of no other that a limit ended', async () => {
    const memory = transientMemory();
    const model = scriptedModel((request, index) =>
      request.toolChoice === 'none' ? 'I did two things.' : call(index),
    );
    const limits = { maxTurns: 2 };
    expect((await play(model, { limits, wrapUp: true, memory })).result.status).toBe('turn_limit');
    expect(memory.runs).toMatchObject([{ answer: 'I did two things.' }]);
    expect((await play(busy(), { limits, memory })).result.status).toBe('turn_limit');
    expect(memory.runs).toHaveLength(1);
  });
});

describe('a text that its length cut off', () => {
  const cut = (text: string): Turn => ({ text, stopReason: 'length' });

  it('goes on, and what it said is one answer', async () => {
    const model = scriptedModel([cut('Once upon'), cut(' a time'), ' there was.']);
    const { result } = await play(model);
    expect(result).toMatchObject({ status: 'completed', text: 'Once upon a time there was.', turns: 3 });
    expect(textsOf(model.requests[1]?.messages ?? []).at(-1)).toMatch(/^Your reply was cut off/);
  });

  it('goes on three times at most, or as often as the agent says', async () => {
    const parts = ['1', '2', '3', '4', '5'].map(cut);
    expect((await play(scriptedModel(parts))).result).toMatchObject({ status: 'length', text: '1234', turns: 4 });
    const once = await play(scriptedModel(parts), { maxContinuations: 1 });
    expect(once.result).toMatchObject({ status: 'length', text: '12' });
    const never = await play(scriptedModel(parts), { maxContinuations: 0 });
    expect(never.result).toMatchObject({ status: 'length', text: '1', turns: 1 });
  });

  it('may be cut off three times again when it is another answer', async () => {
    const model = scriptedModel([cut('1'), cut('2'), call(1), cut('3'), cut('4'), cut('5'), '6']);
    expect((await play(model)).result).toMatchObject({ status: 'completed', text: '3456' });
  });

  it('never goes on for a call that was cut off: the call is answered, and not run', async () => {
    const turn: Turn = { toolCalls: [{ name: 'work', argumentsText: '{"step": 1' }], stopReason: 'length' };
    const { result, log } = await play(scriptedModel([turn, 'I try again.']));
    expect(result).toMatchObject({ status: 'completed', text: 'I try again.' });
    expect(log.some(({ type }) => type === 'tool_started')).toBe(false);
    expect(log.some((event) => event.type === 'message_added' && event.notice)).toBe(false);
  });

  it('ends the run when it has no text: there is nothing to go on from', async () => {
    const { result } = await play(scriptedModel([{ thinking: 'Hm', stopReason: 'length' }]));
    expect(result).toMatchObject({ status: 'length', turns: 1 });
  });
});

describe('R3: a run that gets nowhere', () => {
  it.each<[string, (index: number) => Turn | string, number, RegExp]>([
    [
      'the same call with the same result',
      () => call(1),
      4,
      /same call with the same result 3 times in a row: work\(\{"step":1\}\)/,
    ],
    [
      'the same error',
      (index) => call(index, 'broken'),
      6,
      /same error 5 times in a row: broken: broken failed: the disk is full/,
    ],
    ['two steps in turns', (index) => call(index % 2), 5, /same 2 steps in turns, 2 times over/],
    ['three steps in turns', (index) => call(index % 3), 7, /same 3 steps in turns, 2 times over/],
    ['empty replies', () => ({ text: '' }), 2, /last reply was empty/],
  ])('%s: is told so once, and stopped when it goes on', async (_, turnOf, turns, told) => {
    const model = scriptedModel((__, index) => turnOf(index));
    const { result, texts, log } = await play(model);
    expect(result).toMatchObject({ status: 'loop_detected', turns });
    expect(texts.filter((text) => told.test(text) && !text.startsWith('[Agent stopped'))).toHaveLength(1);
    expect(texts.at(-1)).toMatch(/^\[Agent stopped: no progress \(/);
    const notices = log.flatMap((event) => (event.type === 'message_added' && event.notice ? [event.notice] : []));
    expect(notices).toMatchObject([
      { type: 'loop_detected', stopped: false },
      { type: 'loop_detected', stopped: true },
    ]);
    const started = log.filter(({ type }) => type === 'tool_started').length;
    expect(log.filter(({ type }) => type === 'tool_ended')).toHaveLength(started);
  });

  it('goes on when it heeds what it was told, and when a person says something', async () => {
    const heeds = scriptedModel([call(1), call(1), call(1), call(2), 'Done.']);
    expect((await play(heeds)).result.status).toBe('completed');
    const empty = scriptedModel([call(1), '', 'Here it is.']);
    expect((await play(empty)).result).toMatchObject({ status: 'completed', text: 'Here it is.' });
    const session = await createSession(
      defineAgent({ model: scriptedModel([...Array.from({ length: 6 }, () => call(1)), 'Done.']), tools: [work] }),
    );
    let turns = 0;
    session.subscribe((event) => {
      if (event.type === 'tool_ended' && ++turns === 3) void session.steer('Keep polling.');
    });
    expect((await session.prompt('Go.').result).status).toBe('completed');
  });

  it('is told with the results of its calls, before its next call', async () => {
    const model = scriptedModel([call(1), call(1), call(1), 'Done.']);
    await play(model);
    expect(model.requests[3]?.messages.map(({ role }) => role).slice(-3)).toEqual(['assistant', 'tool', 'user']);
  });

  it('is left alone when the agent says so, in any process that drives it', async () => {
    const model = scriptedModel((_, index) => (index < 20 ? call(1) : 'Done.'));
    const { result, log } = await play(model, { loopDetection: false });
    expect(result).toMatchObject({ status: 'completed', turns: 21 });
    expect(log.find(({ type }) => type === 'run_started')).toMatchObject({ config: { loopDetection: false } });
  });

  it.each([{ repeatedCalls: 1 }, { repeatedErrors: 0 }, { cycles: 1.5 }])('%j makes no agent', (loopDetection) => {
    expect(() => defineAgent({ model: busy(), loopDetection })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });
});
