import { describe, expect, it } from 'vitest';
import { logOf, scriptedModel, testClock, type ScriptedToolCall } from '@treadle/testing';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  type AgentDefinition,
  type StandardSchema,
  type RunResult,
  type Tool,
  type ToolContext,
  type ToolResultMessage,
  type TreadleEvent,
} from '../index.ts';

const textOf = (message: ToolResultMessage | undefined): string =>
  message?.content.map((block) => (block.type === 'text' ? block.text : '')).join('') ?? '';

const resultsOf = (result: RunResult): ToolResultMessage[] =>
  result.messages.filter((message): message is ToolResultMessage => message.role === 'tool');

/** Plays one turn with these calls and then a last word; returns what came of the calls. */
async function play(
  calls: readonly ScriptedToolCall[],
  tools: readonly Tool[],
  options: Partial<AgentDefinition> = {},
): Promise<{ result: RunResult; results: ToolResultMessage[]; events: TreadleEvent[] }> {
  const agent = defineAgent({ model: scriptedModel([{ toolCalls: calls }, 'Done.']), tools, ...options });
  const session = await createSession(agent);
  const run = session.prompt('Go.');
  const events: TreadleEvent[] = [];
  for await (const event of run) events.push(event);
  const result = await run.result;
  return { result, results: resultsOf(result), events };
}

/** A tool whose calls end when the test says so, and that counts how many run at once. */
function gatedTool(name = 'gate', options: { execution?: 'parallel' | 'sequential' } = {}) {
  const open = new Map<number, () => void>();
  const order: number[] = [];
  let running = 0;
  let most = 0;
  const tool = defineTool({
    name,
    description: 'Waits.',
    inputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    ...options,
    execute: async ({ n }) => {
      order.push(n);
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => open.set(n, resolve));
      running -= 1;
      return `n=${n}`;
    },
  });
  return {
    tool,
    order,
    most: () => most,
    /** Lets call `n` end, once it has started. */
    async release(n: number): Promise<void> {
      while (!open.has(n)) await new Promise<void>((resolve) => setImmediate(resolve));
      open.get(n)?.();
    },
    started: (n: number) => open.has(n),
  };
}

const calls = (name: string, count: number): ScriptedToolCall[] =>
  Array.from({ length: count }, (_, n) => ({ name, arguments: { n } }));

describe('calls of one turn', () => {
  it('run together, and their results come in the order of the calls whatever order they end in', async () => {
    const { tool, release, most } = gatedTool();
    const playing = play(calls('gate', 3), [tool]);
    await release(2);
    await release(0);
    await release(1);
    const { results } = await playing;
    expect(results.map(textOf)).toEqual(['n=0', 'n=1', 'n=2']);
    expect(most()).toBe(3);
  });

  it('stay under the concurrency cap, and all 200 are answered in order', async () => {
    let running = 0;
    let most = 0;
    const tool = defineTool({
      name: 'busy',
      description: 'Works.',
      inputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
      execute: async ({ n }) => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => setImmediate(resolve));
        running -= 1;
        return String(n);
      },
    });
    const { results } = await play(calls('busy', 200), [tool], {
      toolExecution: { mode: 'parallel', concurrency: 7 },
      limits: { maxCallsPerTurn: 200 },
    });
    expect(most).toBe(7);
    expect(results.map(textOf)).toEqual(Array.from({ length: 200 }, (_, n) => String(n)));
  });

  it('run one after the other in sequential mode', async () => {
    const { tool, release, started, most } = gatedTool();
    const playing = play(calls('gate', 2), [tool], { toolExecution: { mode: 'sequential' } });
    await release(0);
    await release(1);
    expect(started(1)).toBe(true);
    await playing;
    expect(most()).toBe(1);
  });

  it('run in batches, each after the one before', async () => {
    const { tool, release, order, most } = gatedTool();
    const playing = play(calls('gate', 5), [tool], { toolExecution: { mode: 'batched', size: 2 } });
    await release(1);
    expect(order).toEqual([0, 1]);
    for (const n of [0, 2, 3, 4]) await release(n);
    await playing;
    expect(most()).toBe(2);
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });

  it('never overlap a tool that demands to be alone', async () => {
    const alone = gatedTool('alone', { execution: 'sequential' });
    const free = gatedTool('free');
    const turn = [
      { name: 'free', arguments: { n: 0 } },
      { name: 'alone', arguments: { n: 1 } },
      { name: 'free', arguments: { n: 2 } },
    ];
    const playing = play(turn, [alone.tool, free.tool]);
    await free.release(0);
    await alone.release(1);
    expect(free.started(2)).toBe(false);
    await free.release(2);
    const { results } = await playing;
    expect(results.map(textOf)).toEqual(['n=0', 'n=1', 'n=2']);
  });
});

describe('a call that can not run', () => {
  const echo = defineTool({
    name: 'echo',
    description: 'Says it again.',
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
      additionalProperties: false,
    },
    execute: ({ text }) => text,
  });
  const now = defineTool({ name: 'now', description: 'Needs nothing.', execute: () => 'noon' });

  it.each([
    ['names an unknown tool', { name: 'ech' }, 'There is no tool named "ech". The tools are: echo, now.'],
    ['has broken JSON', { name: 'echo', argumentsText: '{"text": "a' }, 'not valid JSON'],
    ['has JSON that is no object', { name: 'echo', argumentsText: '["a"]' }, 'must be one JSON object'],
    ['lacks an argument', { name: 'echo', arguments: {} }, 'text'],
    ['has an argument of the wrong type', { name: 'echo', arguments: { text: 3 } }, '/text'],
    ['has an argument too many', { name: 'echo', arguments: { text: 'a', more: 1 } }, 'more'],
    ['has no arguments where some are needed', { name: 'echo', argumentsText: '' }, 'text'],
  ])('T7, P5, P11: because it %s is answered with an error and never started', async (_, call, words) => {
    const { results, events } = await play([call], [echo, now]);
    expect(textOf(results[0])).toContain(words);
    expect(results[0]?.isError).toBe(true);
    expect(events.some(({ type }) => type === 'tool_started')).toBe(false);
    expect(events.some(({ type }) => type === 'tool_call_rejected')).toBe(true);
  });

  it('does not hinder the calls beside it', async () => {
    const { results } = await play([{ name: 'nope' }, { name: 'echo', arguments: { text: 'a' } }], [echo]);
    expect(results.map(({ isError }) => isError)).toEqual([true, false]);
  });

  it('may have empty arguments when the tool needs none', async () => {
    const { results } = await play([{ name: 'now', argumentsText: '' }], [now]);
    expect(textOf(results[0])).toBe('noon');
  });

  it('was cut off by the output limit', async () => {
    const agent = defineAgent({
      model: scriptedModel([
        {
          stopReason: 'length',
          content: [
            { type: 'tool_call', name: 'echo', arguments: { text: 'whole' } },
            { type: 'tool_call', name: 'echo', argumentsText: '{"text": "ha' },
          ],
        },
        'Done.',
      ]),
      tools: [echo],
    });
    const result = await (await createSession(agent)).prompt('Go.').result;
    const [whole, cut] = resultsOf(result);
    expect(textOf(whole)).toBe('whole');
    expect(textOf(cut)).toContain('cut off');
    expect(cut?.isError).toBe(true);
  });

  it('belongs to a stream that broke', async () => {
    let ran = 0;
    const count = defineTool({ name: 'count', description: 'Counts.', execute: () => String(++ran) });
    const model = scriptedModel([
      { toolCalls: [{ name: 'count' }], error: { kind: 'network', afterDeltas: Infinity } },
    ]);
    const result = await (await createSession(defineAgent({ model, tools: [count] }))).prompt('Go.').result;
    expect(result.status).toBe('model_error');
    expect(ran).toBe(0);
  });
});

describe('a tool named like an inherited property', () => {
  it.each(['toString', '__proto__', 'constructor', 'hasOwnProperty'])('T9: %s is an ordinary tool', async (name) => {
    const tool = defineTool({ name, description: 'Odd name.', execute: () => 'fine' });
    const { results } = await play([{ name }], [tool]);
    expect(textOf(results[0])).toBe('fine');
  });

  it.each(['toString', '__proto__', 'constructor'])('T9: %s is unknown when nobody defined it', async (name) => {
    const { results } = await play([{ name }], []);
    expect(results[0]?.isError).toBe(true);
  });

  it('T8: leaves Object.prototype alone whatever the arguments', async () => {
    const tool = defineTool({
      name: 'take',
      description: 'Takes.',
      inputSchema: { type: 'object' },
      execute: (args) => JSON.stringify(args),
    });
    await play(
      [
        {
          name: 'take',
          argumentsText: '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}',
        },
      ],
      [tool],
    );
    expect('polluted' in {}).toBe(false);
  });
});

describe('a tool that misbehaves', () => {
  const tool = (
    execute: (args: unknown, context: ToolContext) => never | Promise<never> | string,
    more: object = {},
  ): Tool => defineTool({ name: 'bad', description: 'Misbehaves.', execute, ...more });

  it.each([
    [
      'throws',
      () => {
        throw new Error('boom');
      },
      'boom',
    ],
    ['rejects', () => Promise.reject(new Error('boom')), 'boom'],
    [
      'throws a string',
      () => {
        throw 'boom';
      },
      'boom',
    ],
    [
      'throws undefined',
      () => {
        throw undefined;
      },
      'undefined',
    ],
    ['rejects with an object', () => Promise.reject({ code: 7 }), '{"code":7}'],
  ] as [string, () => never, string][])('T1: and %s has an error as its result', async (_, execute, words) => {
    const { results, result } = await play([{ name: 'bad' }], [tool(execute)]);
    expect(results[0]?.isError).toBe(true);
    expect(textOf(results[0])).toContain(words);
    expect(result.status).toBe('completed');
  });

  it.each<[string, () => unknown, string]>([
    ['nothing', () => undefined, ''],
    ['null', () => null, ''],
    ['a number', () => 5, '5'],
    ['a boolean', () => false, 'false'],
    ['a bigint', () => 10n, '10'],
    ['an object', () => ({ rows: [1, 2] }), '{"rows":[1,2]}'],
    ['a list', () => ['a', 'b'], '["a","b"]'],
    ['an empty list', () => [], '[]'],
    ['a list with holes', () => Object.assign([], { length: 3 }), '[null,null,null]'],
    ['a date', () => new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an error', () => new RangeError('too far'), 'RangeError: too far'],
    ['a map', () => new Map([['a', 1]]), '[["a",1]]'],
    ['a symbol', () => Symbol('s'), 'Symbol(s)'],
    ['a function', () => () => 1, '[a function]'],
    ['bytes', () => new Uint8Array(3), '[Uint8Array of 3 bytes]'],
    ['no content', () => ({ content: null }), '{"content":null}'],
    ['a text without its text', () => [{ type: 'text' }], '[{"type":"text"}]'],
    ['an image from nowhere', () => ({ content: [{ type: 'image' }] }), '{"content":[{"type":"image"}]}'],
  ])('and returns %s has done its work', async (_, returned, shown) => {
    for (const how of [returned, () => Promise.resolve(returned())]) {
      const { results, result } = await play([{ name: 'bad' }], [tool(how as never)]);
      expect(results[0]).toMatchObject({ isError: false });
      expect(textOf(results[0])).toBe(shown);
      expect(result.status).toBe('completed');
    }
  });

  it('and returns what throws when it is read has done its work, and the run goes on', async () => {
    const thrower = {
      get content(): never {
        throw new Error('boom');
      },
    };
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const returned of [thrower, proxy, [thrower], { content: [thrower] }]) {
      const { results, result } = await play([{ name: 'bad' }], [tool((() => returned) as never)]);
      expect(results[0]?.isError).toBe(false);
      expect(textOf(results[0])).toContain('could not be read');
      expect(result.status).toBe('completed');
    }
  });

  it('and returns a text that changes when it is read again has its first answer in the log', async () => {
    let reads = 0;
    const block = {
      type: 'text',
      get text() {
        reads += 1;
        return reads === 1 ? 'first' : undefined;
      },
    };
    const { results } = await play([{ name: 'bad' }], [tool((() => [block]) as never)]);
    expect(textOf(results[0])).toBe('first');
  });

  it('and gives details that no log can hold keeps its result, and the details say so', async () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    for (const [details, kept] of [
      [{ n: 10n }, { n: '10' }],
      [circular, { self: '[an object that contains itself]' }],
    ]) {
      const { events } = await play([{ name: 'bad' }], [tool(() => ({ content: 'done', details }) as never)]);
      expect(events.find(({ type }) => type === 'tool_ended')).toMatchObject({
        content: [{ text: 'done' }],
        isError: false,
        details: kept,
      });
    }
  });

  it('and throws what throws when it is read has an error as its result', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const liar = Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('boom');
      },
    });
    for (const thrown of [proxy, liar, Object.create(null), Symbol('s'), 10n]) {
      const throws = (): never => {
        throw thrown;
      };
      const { results, result } = await play([{ name: 'bad' }], [tool(throws)]);
      expect(results[0]?.isError).toBe(true);
      expect(result.status).toBe('completed');
    }
  });

  it('and changes its arguments changes nothing in the history', async () => {
    const greedy = defineTool({
      name: 'greedy',
      description: 'Changes what it is given.',
      inputSchema: { type: 'object' },
      execute: (args) => {
        const taken = args as { list: number[]; more?: number };
        taken.list.length = 0;
        taken.more = 1;
        return 'mine';
      },
    });
    const { result, events } = await play([{ name: 'greedy', arguments: { list: [1, 2] } }], [greedy]);
    expect(events.find(({ type }) => type === 'tool_started')).toMatchObject({ arguments: { list: [1, 2] } });
    expect(result.messages[1]?.role === 'assistant' && result.messages[1].content[0]).toMatchObject({
      arguments: { list: [1, 2] },
    });
  });

  it.each([
    ['its timeout', 100, {}],
    ['the time limit', undefined, { maxDurationMs: 1000 }],
  ])('in checking its arguments, for ever, is stopped by %s', async (_, timeoutMs, limits) => {
    const clock = testClock();
    const checking = Promise.withResolvers<void>();
    const parameters: StandardSchema<unknown, { a: number }> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => {
          checking.resolve();
          return new Promise(() => {});
        },
      },
    };
    const hangs = defineTool({
      name: 'bad',
      description: 'Never finishes checking.',
      inputSchema: parameters,
      jsonSchema: { type: 'object' },
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      execute: () => 'ok',
    });
    const model = scriptedModel([{ toolCalls: [{ name: 'bad' }] }, 'Done.']);
    const session = await createSession(defineAgent({ model, tools: [hangs], limits }), { clock });
    const run = session.prompt('Go.');
    await checking.promise;
    await clock.advance(1000);
    const result = await run.result;
    expect(resultsOf(result)[0]?.isError).toBe(true);
  });

  it('T2: and never resolves is stopped by its timeout, and its late answer is not journaled', async () => {
    const clock = testClock();
    let late: (text: string) => void = () => {};
    let started: () => void = () => {};
    const running = new Promise<void>((resolve) => (started = resolve));
    const hangs = defineTool({
      name: 'bad',
      description: 'Hangs.',
      timeoutMs: 5000,
      execute: () =>
        new Promise<string>((resolve) => {
          late = resolve;
          started();
        }),
    });
    const journal = memoryJournal();
    const session = await createSession(
      defineAgent({ model: scriptedModel([{ toolCalls: [{ name: 'bad' }] }, 'Done.']), tools: [hangs] }),
      { clock, journal },
    );
    const run = session.prompt('Go.');
    await running;
    await clock.advance(5000);
    await clock.advance(100);
    const result = await run.result;
    late('too late');
    await session.idle();
    expect(textOf(resultsOf(result)[0])).toContain('timed out after 5000 ms');
    await new Promise<void>((resolve) => setImmediate(resolve));
    const log = await logOf(journal, session.id);
    expect(log.filter(({ type }) => type === 'tool_ended')).toHaveLength(1);
    expect(JSON.stringify([log, session.messages])).not.toContain('too late');
  });

  it.each([
    ['hangs', () => new Promise<never>(() => {})],
    ['throws', (stopped: Promise<void>) => stopped.then(() => Promise.reject(new Error('aborted')))],
  ])('keeps what it has shown when it is stopped and %s', async (_, end) => {
    const clock = testClock();
    const started = Promise.withResolvers<void>();
    const builds = defineTool({
      name: 'bad',
      description: 'Builds.',
      timeoutMs: 5000,
      execute(__, { update, signal }) {
        update('step 1\nstep 2');
        started.resolve();
        return end(new Promise((resolve) => signal.addEventListener('abort', () => resolve())));
      },
    });
    const model = scriptedModel([{ toolCalls: [{ name: 'bad' }] }, 'Done.']);
    const run = (await createSession(defineAgent({ model, tools: [builds] }), { clock })).prompt('Go.');
    await started.promise;
    await clock.advance(5000);
    await clock.advance(100);
    const [result] = resultsOf(await run.result);
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toBe('bad timed out after 5000 ms and was stopped.step 1\nstep 2');
  });

  it('takes the timeout of the agent when it has none, and its own when it has one', async () => {
    const clock = testClock();
    const seen: string[] = [];
    const make = (name: string, more: object): Tool =>
      defineTool({
        name,
        description: 'Hangs.',
        ...more,
        execute: (_, { signal }) =>
          new Promise<string>((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              seen.push(`${name}@${clock.now() - start}`);
              reject(new Error('aborted'));
            });
          }),
      });
    const start = clock.now();
    const agent = defineAgent({
      model: scriptedModel([{ toolCalls: [{ name: 'own' }, { name: 'agents' }] }, 'Done.']),
      tools: [make('own', { timeoutMs: 50 }), make('agents', {})],
      toolTimeoutMs: 80,
    });
    const run = (await createSession(agent, { clock })).prompt('Go.');
    while (seen.length < 2) {
      await clock.advance(10);
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    await run.result;
    expect(seen).toEqual(['own@50', 'agents@80']);
  });

  it('T4: and returns far too much has the middle cut out', async () => {
    const { results } = await play([{ name: 'bad' }], [tool(() => `start${'x'.repeat(100_000)}end`)], {
      maxToolResultLength: 1000,
    });
    const text = textOf(results[0]);
    expect(text.length).toBeLessThan(1200);
    expect(text.startsWith('start')).toBe(true);
    expect(text.endsWith('end')).toBe(true);
    expect(text).toContain('characters cut out');
  });

  it('T5: and returns half a character has it replaced', async () => {
    const { results } = await play([{ name: 'bad' }], [tool(() => 'a\ud800b')]);
    expect(textOf(results[0])).toBe('a\ufffdb');
  });
});

describe('what a running tool says', () => {
  it('as progress is for people and as update is a partial result; neither reaches the model', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'work' }] }, 'Done.']);
    const work = defineTool({
      name: 'work',
      description: 'Works.',
      execute: (_, context) => {
        context.progress('half way');
        context.update({ content: 'partial', details: { percent: 50 } });
        return { content: 'whole', details: { secret: 'for programs' } };
      },
    });
    const session = await createSession(defineAgent({ model, tools: [work] }));
    const events: TreadleEvent[] = [];
    for await (const event of session.prompt('Go.')) events.push(event);
    expect(events.find(({ type }) => type === 'tool_progress')).toMatchObject({ text: 'half way', toolName: 'work' });
    expect(events.find(({ type }) => type === 'tool_update')).toMatchObject({
      content: [{ text: 'partial' }],
      details: { percent: 50 },
    });
    expect(events.find(({ type }) => type === 'tool_ended')).toMatchObject({ details: { secret: 'for programs' } });
    const sent = JSON.stringify(model.requests[1]);
    expect(sent).toContain('whole');
    expect(sent).not.toContain('for programs');
    expect(sent).not.toContain('partial');
    expect(sent).not.toContain('half way');
  });

  it('is nothing: then its elapsed time is reported at the interval', async () => {
    const clock = testClock();
    let end: (text: string) => void = () => {};
    const slow = defineTool({
      name: 'slow',
      description: 'Slow.',
      execute: () => new Promise<string>((resolve) => (end = resolve)),
    });
    const agent = defineAgent({
      model: scriptedModel([{ toolCalls: [{ name: 'slow' }] }, 'Done.']),
      tools: [slow],
      toolProgressMs: 1000,
    });
    const session = await createSession(agent, { clock });
    const elapsed: number[] = [];
    session.subscribe((event) => event.type === 'tool_progress' && elapsed.push(event.elapsedMs));
    const started = new Promise<void>((resolve) =>
      session.subscribe((event) => {
        if (event.type === 'tool_started') resolve();
      }),
    );
    const run = session.prompt('Go.');
    await started;
    await new Promise<void>((resolve) => setImmediate(resolve));
    await clock.advance(1000);
    await clock.advance(1000);
    end('done');
    await run.result;
    expect(elapsed).toEqual([1000, 2000]);
  });

  it('is told with its identity and the same key for every attempt', async () => {
    const seen: Partial<ToolContext>[] = [];
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      execute: (_, { sessionId, callId, idempotencyKey, toolName }) => {
        seen.push({ sessionId, callId, idempotencyKey, toolName });
        return 'ok';
      },
    });
    await play([{ name: 'look' }, { name: 'look' }], [look]);
    const [first, second] = seen;
    expect(first?.idempotencyKey).toBe(`${first?.sessionId}/${first?.callId}`);
    expect(first?.idempotencyKey).not.toBe(second?.idempotencyKey);
  });
});

describe('a stop tool', () => {
  const finish = defineTool({
    name: 'finish',
    description: 'Ends.',
    endsRun: true,
    inputSchema: { type: 'object', properties: { result: { type: 'string' } }, required: ['result'] },
    execute: ({ result }) => result,
  });

  it('ends the run with its result as the answer, after the whole turn', async () => {
    const note = defineTool({ name: 'note', description: 'Notes.', execute: () => 'noted' });
    const calls = [{ name: 'note' }, { name: 'finish', arguments: { result: '42' } }, { name: 'note' }];
    const { result } = await play(calls, [finish, note]);
    expect(result).toMatchObject({ status: 'completed', text: '42', turns: 1 });
  });

  it('does not end it when its call failed', async () => {
    const { result } = await play([{ name: 'finish', arguments: {} }], [finish]);
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', turns: 2 });
  });
});
