import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { endedCall } from '../entries/events.ts';
import {
  createSession,
  defineAgent,
  defineTool,
  memoryJournal,
  openSession,
  TreadleError,
  type TreadleErrorCode,
} from '../index.ts';

/** Calls as JavaScript does, where no type checker has looked. */
const untyped = (call: (...args: never[]) => unknown, ...args: readonly unknown[]): unknown =>
  Reflect.apply(call, undefined, args);

async function refusal(work: () => unknown): Promise<[TreadleErrorCode, string]> {
  try {
    await work();
  } catch (error) {
    if (error instanceof TreadleError) return [error.code, error.message];
    throw error;
  }
  throw new Error('It was not refused.');
}

const tool = { name: 'weather', description: 'Weather.', execute: () => 'fine' };
const model = scriptedModel(['Hello.']);

describe('a tool is refused at its definition', () => {
  it.each([
    [
      'for properties where a schema belongs',
      { inputSchema: { city: { type: 'string' } } },
      `inputSchema has properties where a schema belongs. Write: inputSchema: { type: 'object', properties: { city: … }, required: ['city'] }`,
    ],
    [
      'for a shape of another library',
      { inputSchema: { a: z.string() } },
      'inputSchema has a schema of another library under "a", and is none itself. Write: inputSchema: z.object({ a: … })',
    ],
    [
      'for the internals of another library',
      { inputSchema: { a: { _def: { typeName: 'ZodString' } } } },
      'inputSchema has a schema of another library under "a", and is none itself. Write: inputSchema: z.object({ a: … })',
    ],
    [
      'for a schema of another type',
      { inputSchema: z.string() },
      'inputSchema must have type "object": a model calls tools with named arguments.',
    ],
    [
      'for a misspelt keyword',
      { inputSchema: { type: 'object', properties: { a: { type: 'string' } }, requried: ['a'] } },
      'inputSchema at # has no keyword "requried". Write: required: …',
    ],
    [
      'for a misspelt keyword further down',
      { inputSchema: { type: 'object', properties: { a: { type: 'string', maxLenght: 3 } } } },
      'inputSchema at #/properties/a has no keyword "maxLenght". Write: maxLength: …',
    ],
    [
      'for a misspelt keyword of its outputSchema',
      { outputSchema: { type: 'object', propertys: {} } },
      'outputSchema at # has no keyword "propertys". Write: properties: …',
    ],
  ])('%s', async (_, part, message) => {
    const refused = await refusal(() => untyped(defineTool, { ...tool, ...part }));
    expect(refused).toEqual(['invalid_definition', `Tool "weather": ${message}`]);
  });

  it.each([
    [{ parameters: {} }, 'has no "parameters". Write: inputSchema: { … }'],
    [{ handler: () => '' }, 'has no "handler". Write: execute: (args) => …'],
    [{ needsApproval: true }, `has no "needsApproval". Write: approval: 'always'`],
    [{ descripton: 'x' }, 'has no "descripton". Did you mean "description"?'],
  ])('for keys that it doesn’t know: %o', async (part, message) => {
    const refused = await refusal(() => untyped(defineTool, { ...tool, ...part }));
    expect(refused).toEqual(['invalid_definition', `Tool "weather" ${message}`]);
  });

  it('for no definition at all', async () => {
    expect(await refusal(() => untyped(defineTool, 'weather'))).toEqual([
      'invalid_definition',
      'A tool: defineTool takes one object. Write: defineTool({ name, description, inputSchema, execute })',
    ]);
  });

  it('and not for annotations that somebody else reads', () => {
    const properties = {
      a: { type: 'string', example: 'x', 'x-order': 1, widget: 'textarea' },
      item: { type: 'null' },
    };
    expect(defineTool({ ...tool, inputSchema: { type: 'object', properties } }).inputSchema).toMatchObject({
      properties,
    });
  });
});

describe('an agent is refused at its definition', () => {
  it.each([
    [{ instruction: 'Be brief.' }, 'The definition of an agent has no "instruction". Did you mean "instructions"?'],
    [{ toolz: [] }, 'The definition of an agent has no "toolz". Did you mean "tools"?'],
    [{ maxTurns: 3 }, 'The definition of an agent has no "maxTurns". Write: limits: { maxTurns: … }'],
    [{ system: 'Be brief.' }, `The definition of an agent has no "system". Write: instructions: '…'`],
    [{ limits: { maxTurns: '5' } }, 'limits.maxTurns must be a number, and it is "5". Write: maxTurns: 5'],
    [{ maxTokens: '100' }, 'maxTokens must be a number, and it is "100". Write: maxTokens: 100'],
    [{ tools: { weather: defineTool(tool) } }, 'tools must be a list, and it is object. Write: tools: [weather]'],
    [{ tools: {} }, 'tools must be a list, and it is object. Write: tools: []'],
    [{ tools: [[defineTool(tool)]] }, 'tools[0] is a list of tools. Write: tools: [...it]'],
    [
      { tools: [tool] },
      "tools[0] is a plain object, and no tool. Write: defineTool({ name: '…', description: '…', execute: () => … })",
    ],
    [
      { model: 'anthropic/claude-sonnet-4-5' },
      'model is the name of a model, and an agent needs the model itself. ' +
        `Write: model: model("anthropic/claude-sonnet-4-5"), with import { model } from 'treadle'`,
    ],
    [
      { fallbacks: ['openai/gpt-5'] },
      'fallbacks[0] is the name of a model, and an agent needs the model itself. ' +
        `Write: model("openai/gpt-5"), with import { model } from 'treadle'`,
    ],
    [
      { model: undefined },
      `An agent needs a model, and model is none. Write: model: model('anthropic/…'), with import { model } from 'treadle'`,
    ],
    [{ output: z.object({}) }, 'output has options besides its schema. Write: output: { schema: … }'],
    [
      { output: { schema: { n: { type: 'number' } } } },
      `output: schema has properties where a schema belongs. Write: schema: { type: 'object', properties: { n: … }, required: ['n'] }`,
    ],
  ])('%o', async (part, message) => {
    expect(await refusal(() => untyped(defineAgent, { model, ...part }))).toEqual(['invalid_definition', message]);
  });
});

describe('a session is refused', () => {
  it('without an agent', async () => {
    expect(await refusal(() => untyped(createSession, { model }))).toEqual([
      'invalid_definition',
      'createSession takes an agent first. Write: createSession(defineAgent({ … }))',
    ]);
  });

  it('when it is opened without options', async () => {
    expect(await refusal(() => untyped(openSession, defineAgent({ model }), 's'))).toEqual([
      'invalid_definition',
      'openSession needs the journal that has the session. Write: openSession(agent, id, { journal })',
    ]);
  });
});

describe('a run', () => {
  it.each(['text', 'output', 'status', 'usage', 'finalOutput'])(
    'has no %s before its result is awaited',
    async (name) => {
      const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }));
      const run = await session.prompt('Hello.');
      const field = name === 'finalOutput' ? 'text' : name;
      expect(await refusal(() => Reflect.get(run, name))).toEqual([
        'result_not_awaited',
        `A run has no ${name}: it may still be under way. Write: const { ${field} } = await session.prompt('…').result`,
      ]);
      expect((await run.result).text).toBe('Hello.');
    },
  );
});

describe('an answer is refused', () => {
  const pay = defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => 'Paid.' });
  const paused = async () => {
    const session = await createSession(
      defineAgent({ model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'Done.']), tools: [pay] }),
    );
    await session.prompt('Pay.').result;
    return session;
  };

  it('with the id of a call where that of an approval belongs', async () => {
    const session = await paused();
    const callId = session.pending[0]?.callId;
    expect(await refusal(() => session.approve(String(callId)))).toEqual([
      'invalid_definition',
      `${callId} is the id of a call, and an approval has one of its own. ` +
        "Write: session.approve(call), for a call of session.pending whose type is 'approval'",
    ]);
  });

  it('to nothing, as where nothing waits for one', async () => {
    const session = await createSession(defineAgent({ model }));
    expect(await refusal(() => untyped(session.approve, session.pending[0]))).toEqual([
      'invalid_definition',
      "An answer needs what it answers. Write: session.approve(call), for a call of session.pending whose type is 'approval'",
    ]);
  });

  it('with a decision in the answer, for the verb is the decision', async () => {
    const session = await paused();
    const [question] = session.pending;
    expect(await refusal(() => untyped(session.approve, question, { decision: 'approved' }))).toEqual([
      'invalid_definition',
      'An answer has no "decision". Write: session.approve(question) or session.reject(question)',
    ]);
    expect(
      (await session.reject(String(question && 'approvalId' in question && question.approvalId)).result).status,
    ).toBe('completed');
  });
});

describe('a closed session', () => {
  const slow = () => {
    const started = Promise.withResolvers<void>();
    const over = Promise.withResolvers<string>();
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      execute: (_args, { signal }) => {
        started.resolve();
        signal.addEventListener('abort', () => over.resolve('cut off'));
        return over.promise;
      },
    });
    const agent = defineAgent({ model: scriptedModel([{ toolCalls: [{ name: 'wait' }] }, 'Done.']), tools: [wait] });
    return { agent, started: started.promise, over };
  };

  it('refuses what would change it, and says how to go on', async () => {
    const session = await createSession(defineAgent({ model }), { id: 's' });
    await session.close();
    const refused = ['session_closed', `The session s was closed here. Write: openSession(agent, 's', { journal })`];
    expect(await refusal(() => session.prompt('Hello.'))).toEqual(refused);
    expect(await refusal(() => session.steer('Hello.'))).toEqual(refused);
    expect(await refusal(() => session.importMessages([]))).toEqual(refused);
    expect([session.status, session.messages]).toEqual(['idle', []]);
    await session.close();
  });

  it('has waited for its run', async () => {
    const { agent, started, over } = slow();
    const session = await createSession(agent, { journal: memoryJournal() });
    const run = session.prompt('Go.');
    await started;
    const closed = session.close();
    over.resolve('done');
    await closed;
    expect((await run.result).status).toBe('completed');
  });

  it('has aborted its run where it was told to', async () => {
    const { agent, started } = slow();
    const session = await createSession(agent);
    const run = session.prompt('Go.');
    await started;
    await session.close({ abort: true, reason: 'The user left.' });
    expect(await run.result).toMatchObject({ status: 'aborted', message: 'The user left.' });
  });
});

describe('what people and models are told', () => {
  const pay = defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => 'Paid.' });

  it.each([
    ['no way', 'no way.'],
    ['Not today!', 'Not today!'],
  ])('ends a person’s own words %j as a sentence', async (message, told) => {
    const script = scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'Done.']);
    const session = await createSession(defineAgent({ model: script, tools: [pay] }));
    await session.prompt('Pay.').result;
    const [question] = session.pending;
    if (question?.type !== 'approval') throw new Error('Nobody was asked.');
    const { status, permissionDenials } = await session.reject(question, message).result;
    expect(status).toBe('completed');
    expect(permissionDenials).toMatchObject([
      { by: 'person', reason: expect.stringContaining(`pay was not run. ${told} Do as they say`) as string },
    ]);
  });

  it('of a model without a price says what there is to do, wherever it is read', async () => {
    const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']), limits: { maxCost: 1 } }));
    expect((await session.prompt('Hello.').result).message).toContain(
      "the price of scripted/scripted is unknown, and money is limited. Lift the limit, or say in the agent's definition " +
        'what to assume: budget: { unknownPrice: … }',
    );
  });

  it('has all of an answer that the provider paused in the middle of', async () => {
    const script = scriptedModel([{ text: 'Once upon ', stopReason: 'pause' }, 'a time.']);
    expect((await (await createSession(defineAgent({ model: script }))).prompt('Go.').result).text).toBe(
      'Once upon a time.',
    );
  });

  it('of a call that was refused is how it ended, as of any other', async () => {
    const script = scriptedModel([{ toolCalls: [{ name: 'weather' }, { name: 'weahter' }] }, 'Done.']);
    const session = await createSession(defineAgent({ model: script, tools: [defineTool(tool)] }));
    const ends: unknown[] = [];
    for await (const event of session.prompt('Go.')) {
      const call = endedCall(event);
      if (call) ends.push([call.toolName, call.isError, call.refused]);
    }
    expect(ends).toEqual([
      ['weahter', true, 'unknown_tool'],
      ['weather', false, undefined],
    ]);
  });
});
