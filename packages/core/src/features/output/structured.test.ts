import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { scriptedModel, type ScriptedModelOptions, type Turn } from '@treadle/testing';
import { createSession, defineAgent, defineTool, type AgentDefinition, type JsonSchema } from '../../index.ts';

const CITY: JsonSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city'],
};

const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });

async function play(
  turns: readonly (Turn | string)[],
  output: NonNullable<AgentDefinition['output']>,
  {
    model: can = {},
    ...more
  }: Partial<Omit<AgentDefinition, 'model'>> & { readonly model?: ScriptedModelOptions } = {},
) {
  const model = scriptedModel(turns, can);
  const session = await createSession(defineAgent({ model, output, ...more }));
  const result = await session.prompt('Where?').result;
  return { result, model, session };
}

const gives = (args: NonNullable<Turn['toolCalls']>[number]['arguments']): Turn => ({
  toolCalls: [{ name: 'structured_output', arguments: args ?? {} }],
});

describe('structured output', () => {
  it('native: the provider is told the schema, and the reply is the value', async () => {
    const { result, model } = await play(['{"city":"Oslo","people":700000}'], { schema: CITY, mode: 'native' });
    expect(result).toMatchObject({ status: 'completed', output: { city: 'Oslo', people: 700_000 } });
    expect(model.requests[0]?.responseFormat).toEqual({ type: 'json_schema', name: 'output', schema: CITY });
    expect(model.requests[0]?.tools).toEqual([]);
  });

  it('tool: the model calls a tool with the value, which ends the run', async () => {
    const { result, model } = await play(
      [{ toolCalls: [{ name: 'look' }] }, gives({ city: 'Oslo' })],
      { schema: CITY, mode: 'tool' },
      { tools: [look], instructions: 'Be brief.' },
    );
    expect(result).toMatchObject({
      status: 'completed',
      turns: 2,
      output: { city: 'Oslo' },
      stopTool: { name: 'structured_output' },
    });
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['look', 'structured_output']);
    expect(model.requests[0]?.system).toMatch(/^Be brief\.\n\n.*structured_output/s);
  });

  it('prompted: the instructions say the schema, and a code fence around the value does no harm', async () => {
    const { result, model } = await play(['```json\n{"city":"Oslo"}\n```'], { schema: CITY, mode: 'prompted' });
    expect(result.output).toEqual({ city: 'Oslo' });
    expect(model.requests[0]?.system).toContain(JSON.stringify(CITY));
    expect(model.requests[0]?.responseFormat).toBeUndefined();
  });

  it.each([
    [{ structuredOutput: 'always' }, [look], 'native'],
    [{ structuredOutput: 'without_tools' }, [], 'native'],
    [{ structuredOutput: 'without_tools' }, [look], 'tool'],
    [{}, [], 'tool'],
    [{ toolCalling: false }, [], 'prompted'],
  ] as const)('auto: a model that says %j is asked in the best way it can', (can, tools, mode) => {
    const agent = defineAgent({ model: scriptedModel([], can), tools, output: { schema: CITY } });
    expect(agent.output?.mode).toBe(mode);
  });

  it('auto: all of the models must be able to do it', () => {
    const [native, plain] = [scriptedModel([], { structuredOutput: 'always' }), scriptedModel([])];
    expect(defineAgent({ model: native, fallbacks: [plain], output: { schema: CITY } }).output?.mode).toBe('tool');
  });

  it.each([
    ['native', ['no JSON', '{"people":1}', '{"city":"Oslo"}']],
    ['prompted', ['no JSON', '{"people":1}', '{"city":"Oslo"}']],
    ['tool', [gives({ people: 'many' }), 'no JSON', gives({ city: 'Oslo' })]],
  ] as const)('%s: what is wrong is told to the model, which tries again', async (mode, turns) => {
    const { result, model, session } = await play(turns, { schema: CITY, mode });
    expect(result).toMatchObject({ status: 'completed', turns: 3, output: { city: 'Oslo' } });
    const told = model.requests.slice(1).map(({ messages }) => JSON.stringify(messages.at(-1)));
    expect(told[0]).toMatch(mode === 'tool' ? /people/ : /not JSON/);
    expect(told[1]).toMatch(mode === 'tool' ? /not JSON/ : /city/);
    // What the model was told of its form is no part of the conversation.
    expect(JSON.stringify(session.exportMessages())).not.toContain('as JSON.');
  });

  it.each([
    ['native', 'no JSON'],
    ['prompted', 'no JSON'],
    ['tool', gives({})],
  ] as const)('%s: after the retries the run ends with an end of its own, and no value', async (mode, turn) => {
    const { result } = await play([turn, turn, turn, turn], { schema: CITY, mode });
    expect(result).toMatchObject({ status: 'invalid_output', turns: 3, output: undefined });
    expect(result.message).toContain('3 times');
    const strict = await play([turn, turn], { schema: CITY, mode, retries: 0 });
    expect(strict.result).toMatchObject({ status: 'invalid_output', turns: 1 });
  });

  it('takes any Standard Schema, and gives what it makes of the value', async () => {
    const schema = z.object({ city: z.string().transform((city) => city.toUpperCase()) });
    const { result } = await play(['{"city":"Oslo"}'], { schema, mode: 'native' });
    expect(result.output).toEqual({ city: 'OSLO' });
  });

  it('takes values that are no objects: a tool wraps them', async () => {
    const schema: JsonSchema = { type: 'array', items: { type: 'number' } };
    const tool = await play([gives({ value: [1, 2] })], { schema, mode: 'tool' });
    expect(tool.result.output).toEqual([1, 2]);
    expect((await play(['[3]'], { schema, mode: 'native' })).result.output).toEqual([3]);
  });

  it('wants no value of a question to the user', async () => {
    const ask = { toolCalls: [{ name: 'ask_question', arguments: { question: 'Which?' } }] };
    const { result } = await play([ask], { schema: CITY }, { stopTools: true });
    expect(result).toMatchObject({ status: 'completed', output: undefined, stopTool: { name: 'ask_question' } });
  });

  it('wants a value of a task that is done', async () => {
    const done = (text: string) => ({ toolCalls: [{ name: 'task_completion', arguments: { result: text } }] });
    const { result } = await play(
      [done('It is Oslo.'), done('{"city":"Oslo"}')],
      { schema: CITY },
      { stopTools: true },
    );
    expect(result).toMatchObject({ status: 'completed', output: { city: 'Oslo' }, turns: 2 });
  });

  it('fails closed when the schema itself fails', async () => {
    const broken = z.string().refine(() => {
      throw new Error('boom');
    });
    const { result } = await play(['"x"', '"x"', '"x"'], { schema: broken, mode: 'native' });
    expect(result).toMatchObject({ status: 'invalid_output', output: undefined });
  });

  it.each([
    { retries: -1, schema: CITY },
    { name: 'a b', schema: CITY },
    { mode: 'magic', schema: CITY },
    { schema: { $ref: 'https://example.com/schema' } },
    { schema: 3 },
  ])('refuses %j', (output) => {
    expect(() => defineAgent({ model: scriptedModel([]), output: output as never })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });

  it('refuses a second say about the form, and tools of its name', () => {
    const model = scriptedModel([]);
    const own = defineTool({ name: 'structured_output', description: 'Mine.', execute: () => '' });
    expect(() => defineAgent({ model, output: { schema: CITY }, responseFormat: { type: 'json_object' } })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
    expect(() => defineAgent({ model, tools: [own] })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
  });
});
