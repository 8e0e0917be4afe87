import { scriptedModel, type Turn } from '@treadle/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  createSession,
  defineAgent,
  defineTool,
  handoffTool,
  isCallOf,
  memoryJournal,
  openSession,
  type Agent,
  type JsonObject,
  type JsonValue,
  type Run,
  type RunResult,
  type Session,
  type StandardSchema,
  type Tool,
  type ToolContext,
  type TreadleEvent,
} from '../index.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  inputSchema: z.object({ order: z.string(), amount: z.number().default(1) }),
  execute: ({ order, amount }) => ({ order, paid: amount }),
});
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
  execute: ({ id }) => `It is ${id}.`,
});
const model = (...replies: readonly (string | Turn)[]) => scriptedModel(replies);

/** A schema of any other library. */
const anySchema = <Output>(): StandardSchema<unknown, Output> => ({
  '~standard': {
    version: 1,
    vendor: 'other',
    validate: (value) => ({ value: value as Output }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
});

describe('the output of a run', () => {
  it('has the type of a Standard Schema, of whatever library', async () => {
    const given = model('{"n":3}');
    const agent = defineAgent({ model: given, output: { schema: z.object({ n: z.number() }), mode: 'prompted' } });
    const result = await (await createSession(agent)).prompt('A number.').result;
    expectTypeOf(result.output).toEqualTypeOf<{ n: number } | undefined>();
    expect(result.output?.n).toBe(3);
    const other = defineAgent({ model: given, output: { schema: anySchema<{ city: 'Oslo' }>() } });
    expectTypeOf(await createSession(other)).toExtend<Session<{ output: { city: 'Oslo' }; tools: never }>>();
  });

  it('has the type of a JSON Schema literal, written in place or as a constant', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const;
    const read = async (agent: Agent<{ output: { n: number }; tools: never }>) =>
      (await (await createSession(agent)).prompt('A number.').result).output;
    const given = model('{"n":3}', '{"n":4}');
    const inPlace = defineAgent({
      model: given,
      output: { schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }, mode: 'prompted' },
    });
    expect(await read(inPlace)).toEqual({ n: 3 });
    expect(await read(defineAgent({ model: given, output: { schema, mode: 'prompted' } }))).toEqual({ n: 4 });
  });

  it('is undefined without a schema, and unknown where nothing is known of the agent', () => {
    const agent = defineAgent({ model: model() });
    expectTypeOf<NonNullable<(typeof agent)['~types']>['output']>().toEqualTypeOf<undefined>();
    expectTypeOf<RunResult['output']>().toEqualTypeOf<unknown>();
  });

  it('is a union with that of the agents that it hands over to', async () => {
    const billing = defineAgent({
      id: 'billing',
      model: model('{"total":12}'),
      output: { schema: z.object({ total: z.number() }), mode: 'prompted' },
    });
    const desk = defineAgent({
      id: 'desk',
      model: model({ toolCalls: [{ name: 'hand_off_to_billing', arguments: {} }] }),
      output: { schema: z.object({ answer: z.string() }), mode: 'prompted' },
      tools: [look, handoffTool(billing, { description: 'For invoices.' })],
    });
    const session = await createSession(desk, { agents: [billing] });
    await session.prompt('My invoice?').result;
    const { output } = await session.continue().result;
    expectTypeOf(output).toEqualTypeOf<{ total: number } | { answer: string } | undefined>();
    expect(output).toEqual({ total: 12 });
    const byId = defineAgent({ model: model(), tools: [handoffTool('billing', { description: 'For invoices.' })] });
    expectTypeOf<NonNullable<(typeof byId)['~types']>['output']>().toEqualTypeOf<unknown>();
  });
});

describe('the events of a run', () => {
  const calls = {
    toolCalls: [
      { name: 'refund', arguments: { order: 'A', amount: 5 } },
      { name: 'look', arguments: { id: 2 } },
    ],
  };
  const agentOf = () => defineAgent({ model: model(calls, 'Done.'), tools: [refund, look] });

  it('are typed by the tools: arguments as the model wrote them, details as the tool returned them', async () => {
    const seen: unknown[] = [];
    for await (const event of (await createSession(agentOf())).prompt('Go.')) {
      if (event.type === 'tool_started' && isCallOf(event, 'refund')) {
        expectTypeOf(event.arguments.order).toEqualTypeOf<string>();
        expectTypeOf(event.arguments.amount).toEqualTypeOf<number | undefined>();
        seen.push(event.arguments);
      } else if (event.type === 'tool_ended' && isCallOf(event, 'refund')) {
        expectTypeOf(event.details?.paid).toEqualTypeOf<number | undefined>();
        seen.push(event.details);
      } else if (event.type === 'tool_ended' && isCallOf(event, 'look')) {
        expectTypeOf(event.details).toEqualTypeOf<undefined>();
        seen.push(event.details);
      }
    }
    expect(seen).toEqual([{ order: 'A', amount: 5 }, { order: 'A', paid: 5 }, undefined]);
  });

  it('end with an untyped member, for tools that the types don’t know', async () => {
    for await (const event of (await createSession(agentOf())).prompt('Go.')) {
      if (event.type !== 'tool_started') continue;
      if (isCallOf(event, 'mcp__docs__search')) expectTypeOf(event).toEqualTypeOf<never>();
      if (event.toolName.startsWith('mcp__'))
        expectTypeOf(event.arguments['query']).toEqualTypeOf<JsonValue | undefined>();
    }
    const plain: readonly Tool[] = [refund, look];
    const agent = defineAgent({ model: model(calls, 'Done.'), tools: plain });
    expectTypeOf<ReturnType<Session<NonNullable<(typeof agent)['~types']>>['prompt']>>().toExtend<
      AsyncIterable<TreadleEvent>
    >();
  });
});

describe('what a session waits for', () => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    inputSchema: z.object({ amount: z.number() }),
    approval: 'always',
    execute: ({ amount }, { answers }) =>
      answers === undefined
        ? { content: '', ask: { key: 'card', question: 'Which card?' } }
        : `Paid ${amount} by ${JSON.stringify(answers[0]?.input)}.`,
  });
  const pick = defineTool({
    name: 'pick',
    description: 'The user picks.',
    inputSchema: z.object({ of: z.array(z.string()) }),
    runs: 'client',
  });

  it('is a union of approvals, questions and client tools, each with what its verb takes', async () => {
    const calls: Turn[] = [
      { toolCalls: [{ name: 'pay', arguments: { amount: 5 } }] },
      { toolCalls: [{ name: 'pick', arguments: { of: ['a', 'b'] } }] },
    ];
    const session = await createSession(defineAgent({ model: model(...calls, 'Done.'), tools: [pay, pick] }));
    let run = session.prompt('Go.');
    const seen: unknown[] = [];
    for (let result = await run.result; result.status === 'paused'; result = await run.result) {
      const [item] = session.pending;
      if (item?.type === 'approval') {
        expectTypeOf(item.question).toEqualTypeOf<string>();
        // @ts-expect-error: an approval is no question
        expect(() => session.answer(item, {})).toBeTypeOf('function');
        if (isCallOf(item, 'pay')) expectTypeOf(item.arguments.amount).toEqualTypeOf<number>();
        run = session.approve(item);
      } else if (item?.type === 'question') {
        expectTypeOf(item.key).toEqualTypeOf<string>();
        run = session.answer(item, { card: 'blue' });
      } else if (item?.type === 'client_tool') {
        // @ts-expect-error: a client tool has no approval
        expect(() => session.approve(item)).toThrow('Write: session.addToolOutput(call, …)');
        if (isCallOf(item, 'pick')) expectTypeOf(item.arguments.of).toEqualTypeOf<string[]>();
        run = session.addToolOutput(item, { picked: 'b' });
      }
      seen.push(item?.type);
    }
    expect(seen).toEqual(['approval', 'question', 'client_tool']);
    const results = session.messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
    expect(results).toMatchObject([{ text: 'Paid 5 by {"card":"blue"}.' }, { text: '{"picked":"b"}' }]);
  });

  it('is answered by one answer for each question of ask_user', async () => {
    const askUser = defineTool({ name: 'ask_user', description: 'Asks.', runs: 'client' });
    const options = [{ label: 'SQLite', description: 'One file.' }];
    const questions = [{ question: 'Which database?', header: 'Database', options, multiSelect: false }];
    const call = { toolCalls: [{ name: 'ask_user', arguments: { questions } }] };
    const agent = defineAgent({ model: model(call, 'Done.'), tools: [askUser] });
    const session = await createSession(agent);
    await session.prompt('Go.').result;
    const [item] = session.pending;
    if (item?.type !== 'client_tool') throw new Error('It waits for nothing.');
    expect((await session.answer(item, [{ selected: ['SQLite'] }]).result).text).toBe('Done.');
    expect(JSON.stringify(session.messages)).toContain('SQLite');
  });
});

describe('a tool', () => {
  const context: ToolContext = {
    context: undefined,
    sessionId: 's',
    runId: 'r',
    callId: 'c',
    toolName: 't',
    idempotencyKey: 'k',
    signal: new AbortController().signal,
    lastRead: () => null,
    update: () => {},
    progress: () => {},
  };

  it('returns any JSON value, which outputSchema checks and types', async () => {
    const outputSchema = z.object({ degrees: z.number() });
    const weather = defineTool({
      name: 'weather',
      description: 'Weather.',
      inputSchema: z.object({ warm: z.boolean() }),
      outputSchema,
      execute: ({ warm }) => ({ degrees: warm ? 20 : 0 }),
    });
    expectTypeOf<NonNullable<(typeof weather)['~types']>['details']>().toEqualTypeOf<{ degrees: number }>();
    expect(await weather.execute?.({ warm: true }, context)).toEqual({
      content: '{"degrees":20}',
      details: { degrees: 20 },
    });
    // @ts-expect-error: its schema wants a number
    defineTool({ name: 'bad', description: 'Bad.', outputSchema, execute: () => ({ degrees: 'warm' }) });
    defineTool({ name: 'list', description: 'Lists.', execute: () => [1, null, { a: true }] });
  });

  it('whose result doesn’t fit its outputSchema tells the model so', async () => {
    const wrong: { degrees: number } = JSON.parse('{"degrees":"warm"}');
    const weather = defineTool({
      name: 'weather',
      description: 'Weather.',
      outputSchema: { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] },
      execute: () => wrong,
    });
    const agent = defineAgent({ model: model({ toolCalls: [{ name: 'weather' }] }, 'I see.'), tools: [weather] });
    const { messages } = await (await createSession(agent)).prompt('Go.').result;
    const text =
      'weather failed: its result doesn\'t fit its outputSchema.\n- /degrees: must be number, got string "warm"';
    expect(messages).toContainEqual(expect.objectContaining({ isError: true, content: [{ type: 'text', text }] }));
  });

  it('is given the context that its session was opened with, which the types ask for', async () => {
    const who = defineTool({
      name: 'who',
      description: 'Who asks.',
      execute: (_args, { context: { user } }: ToolContext<{ user: string }>) => `It is ${user}.`,
    });
    const again = defineTool({
      name: 'again',
      description: 'Who asks.',
      execute: (_args, context: ToolContext<{ locale: string }>) => context.context.locale,
    });
    const call = { toolCalls: [{ name: 'who' }] };
    const agent = defineAgent({ model: model(call, 'Ada.', call, 'Bob.'), tools: [who, again] });
    const journal = memoryJournal();
    const ada = await createSession(agent, { journal, id: 's', context: { user: 'Ada', locale: 'en' } });
    expect(JSON.stringify((await ada.prompt('Who am I?').result).messages)).toContain('It is Ada.');
    const bob = await openSession(agent, 's', { journal, context: { user: 'Bob', locale: 'en' } });
    expect(JSON.stringify((await bob.prompt('Who am I?').result).messages)).toContain('It is Bob.');
    // @ts-expect-error: its tools want a context
    await createSession(agent);
    // @ts-expect-error: one of them wants a locale too
    await createSession(agent, { context: { user: 'Ada' } });
  });
});

it('an agent takes no plain object for a tool, and the type checker says what to write', () => {
  const inputSchema = z.object({ city: z.string() });
  type Instead = 'Write: defineTool({ name, description, inputSchema, execute })';
  const byName = () =>
    defineAgent({
      model: model(),
      tools: {
        // @ts-expect-error: Property 'Write: tools: [defineTool({ … })]' is missing
        weather: {
          description: 'Weather.',
          inputSchema,
          approval: (input) => expectTypeOf(input).toEqualTypeOf<Instead>(),
          execute: (input) => expectTypeOf(input).toEqualTypeOf<Instead>(),
        },
      },
    });
  const plain = {
    name: 'weather',
    description: 'Weather.',
    inputSchema,
    execute: ({ city }: { city: string }) => city,
  };
  // @ts-expect-error: Property 'Write: tools: [defineTool({ … })]' is missing
  const listed = () => defineAgent({ model: model(), tools: [plain] });
  expect(byName).toThrow('Write: tools: [weather]');
  expect(listed).toThrow('Write: defineTool({');
  const ofAny = <Tools extends readonly Tool[]>(tools: Tools) => defineAgent({ model: model(), tools });
  expect([...ofAny([look]).tools.keys()]).toEqual(['look']);
});

it('an agent, a session and a run fit where nothing is known of their types', async () => {
  const agent = defineAgent({ model: model('Hello.'), tools: [refund, look], output: { schema: z.object({}) } });
  const plainAgent: Agent = agent;
  const session = await createSession(agent);
  const plainSession: Session = session;
  const run: Run = session.prompt('Hello.');
  const agents: readonly Agent[] = [agent, plainAgent];
  const tools: readonly Tool[] = [refund, look];
  expect([agents.length, tools.length, plainSession.agent.id]).toEqual([2, 2, 'agent']);
  expectTypeOf((await run.result).output).toEqualTypeOf<unknown>();
  expectTypeOf<JsonObject>().toExtend<JsonValue>();
});
