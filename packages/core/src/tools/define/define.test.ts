import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';

import { TreadleError } from '../../errors.ts';
import type { JsonObject, JsonSchema, JsonValue } from '../../json.ts';
import type { FromJsonSchema, ToolArguments } from './define-types.ts';
import { defineTool } from './define.ts';
import type { StandardSchema } from './standard-schema.ts';
import type { Tool, ToolContext } from '../tool.ts';

const containing = (text: string): unknown => expect.stringContaining(text);
const aFunction: unknown = expect.any(Function);
const execute = (): string => 'done';
const base = { name: 'tool', description: 'Does it.', execute } as const;

const context: ToolContext = {
  sessionId: 's',
  runId: 'r',
  callId: 'c',
  toolName: 'tool',
  context: undefined,
  idempotencyKey: 'k',
  lastRead: () => null,
  signal: new AbortController().signal,
  update: () => {},
  progress: () => {},
};

/** The message of the `invalid_definition` a definition is refused with. Takes what the type checker would not. */
function refusal(definition: object): string {
  try {
    defineTool(definition as Parameters<typeof defineTool>[0]);
  } catch (thrown) {
    if (thrown instanceof TreadleError && thrown.code === 'invalid_definition') return thrown.message;
    throw thrown;
  }
  return 'accepted';
}

/** A schema of a library that knows nothing of JSON Schema. */
function plainStandard<Output>(
  validate: StandardSchema<unknown, Output>['~standard']['validate'],
): StandardSchema<unknown, Output> {
  return { '~standard': { version: 1, vendor: 'plain', validate } };
}

describe('defaults', () => {
  it('are those of a server tool that may change things', () => {
    expect(defineTool(base)).toEqual({
      name: 'tool',
      label: 'tool',
      description: 'Does it.',
      inputSchema: { type: 'object', properties: {} },
      runs: 'server',
      replay: 'never',
      readOnly: false,
      execution: 'parallel',
      endsRun: false,
      check: aFunction,
      execute: aFunction,
    });
  });

  it('make a read-only tool safe to replay, unless it says otherwise', () => {
    expect(defineTool({ ...base, readOnly: true }).replay).toBe('safe');
    expect(defineTool({ ...base, readOnly: true, replay: 'ask' }).replay).toBe('ask');
  });

  it('give way to what is said', () => {
    const given = { label: 'A tool', execution: 'sequential', endsRun: true, timeoutMs: 5, replay: 'safe' } as const;
    expect(defineTool({ ...base, ...given })).toMatchObject(given);
  });

  it('leave a client tool without execute', () => {
    const tool = defineTool({ name: 'pick', description: 'Asks.', runs: 'client' });
    expect(tool.runs).toBe('client');
    expect('execute' in tool).toBe(false);
  });
});

describe('a definition is refused', () => {
  it.each(['', 'a b', 'ä', 'x'.repeat(65), 'a.b', 'a\n', 3, undefined])('with the name %j', (name) => {
    expect(refusal({ ...base, name })).toContain('the name must be 1 to 64');
  });

  it.each([
    [{ description: ' ' }, 'the description is empty'],
    [{ label: '' }, 'the label'],
    [{ execute: undefined }, 'execute is missing'],
    [{ runs: 'client' }, 'a client tool has no execute'],
    [{ runs: 'browser' }, 'runs must be "server" or "client"'],
    [{ replay: 'maybe' }, 'replay must be'],
    [{ execution: 'serial' }, 'execution must be'],
    [{ readOnly: 'yes' }, 'readOnly must be true or false'],
    [{ timeoutMs: 0 }, 'timeoutMs must be a positive'],
    [{ timeoutMs: Infinity }, 'timeoutMs must be a positive'],
    [{ inputSchema: { type: 'string' } }, 'must have type "object"'],
    [{ inputSchema: { type: ['object', 'null'] } }, 'must have type "object"'],
    [{ inputSchema: { anyOf: [{ type: 'string' }, { type: 'number' }] } }, 'must have type "object"'],
    [{ inputSchema: z.string() }, 'must have type "object"'],
    [{ inputSchema: [] }, 'must be a JSON Schema object'],
    [{ inputSchema: null }, 'must be a JSON Schema object'],
    [{ inputSchema: { type: 'object', properties: { a: { $ref: 'other.json' } } } }, '#/properties/a/$ref leads to no'],
    [{ inputSchema: { properties: { a: { pattern: '(a' } } } }, '#/properties/a/pattern is not a valid regular'],
    [{ jsonSchema: { type: 'object' } }, 'jsonSchema is only for Standard Schema'],
    [{ inputSchema: plainStandard((value) => ({ value })) }, "plain schemas can't be turned into a JSON Schema"],
    [{ inputSchema: z.object({ at: z.date() }) }, 'zod could not turn inputSchema into a JSON Schema'],
  ])('%#: %o', (part, message) => {
    expect(refusal({ ...base, ...part })).toContain(message);
  });

  it('when its schema is cyclic', () => {
    const schema: Record<string, unknown> = { type: 'object' };
    schema['properties'] = schema;
    expect(refusal({ ...base, inputSchema: schema })).toContain('not plain JSON data');
  });

  it('by name, so that it can be found', () => {
    expect(refusal({ ...base, timeoutMs: -1 })).toMatch(/^Tool "tool": /);
  });
});

it.each(['toString', '__proto__', 'constructor', 'hasOwnProperty', '-', '0'])('the name %s is fine', (name) => {
  expect(defineTool({ ...base, name }).name).toBe(name);
});

describe('JSON Schema parameters', () => {
  const tool = defineTool({
    ...base,
    inputSchema: { properties: { path: { type: 'string' }, lines: { type: 'integer' } }, required: ['path'] },
    execute: ({ path, lines = 0 }) => `${path}:${lines}`,
  });

  it('get the type that providers insist on', () => {
    expect(tool.inputSchema).toMatchObject({ type: 'object', required: ['path'] });
  });

  it('are checked, and reach execute as they are', async () => {
    expect(await tool.check({ path: 3 })).toEqual({
      ok: false,
      issues: [{ path: '/path', message: 'must be string, got number 3' }],
    });
    const outcome = await tool.check({ path: 'a', lines: 2 });
    expect(outcome).toEqual({ ok: true, value: { path: 'a', lines: 2 } });
    expect(tool.execute?.(outcome.ok && outcome.value, context)).toBe('a:2');
  });

  it('are a copy: changing the schema later changes nothing', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const copied = defineTool({ ...base, inputSchema: schema });
    schema.properties.a.type = 'number';
    expect(copied.inputSchema['properties']).toEqual({ a: { type: 'string' } });
    expect(await copied.check({ a: 'x' })).toMatchObject({ ok: true });
  });

  it('lose $schema, which no provider wants', () => {
    const parameters: JsonSchema = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' };
    expect(defineTool({ ...base, inputSchema: parameters }).inputSchema).toEqual({ type: 'object', properties: {} });
  });
});

describe('Standard Schema parameters', () => {
  it('of Zod tell the model their JSON Schema, and execute their output', async () => {
    const tool = defineTool({
      ...base,
      inputSchema: z.object({
        path: z.string(),
        lines: z.number().default(3),
        on: z.string().transform((on) => on.length),
      }),
      execute: ({ path, lines, on }) => `${path}:${lines + on}`,
    });
    expect(tool.inputSchema).toEqual({
      type: 'object',
      properties: { path: { type: 'string' }, lines: { type: 'number', default: 3 }, on: { type: 'string' } },
      required: ['path', 'on'],
    });
    const outcome = await tool.check({ path: 'a', on: 'xyz' });
    expect(outcome).toEqual({ ok: true, value: { path: 'a', lines: 3, on: 3 } });
    expect(tool.execute?.(outcome.ok && outcome.value, context)).toBe('a:6');
  });

  it('of a union of objects get type object beside it', () => {
    const shapes = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a') }),
      z.object({ kind: z.literal('b') }),
    ]);
    expect(defineTool({ ...base, inputSchema: shapes }).inputSchema).toMatchObject({ type: 'object' });
  });

  it('report issues with JSON pointers, whether the check is synchronous or not', async () => {
    const schema = z.object({ 'a/b': z.array(z.object({ n: z.number() })) });
    const issues = [{ path: '/a~1b/1/n', message: containing('number') }];
    const args: JsonObject = { 'a/b': [{ n: 1 }, { n: 'x' }] };
    expect(defineTool({ ...base, inputSchema: schema }).check(args)).toEqual({ ok: false, issues });
    const later = schema.refine(async () => Promise.resolve(false), { message: 'later', path: ['a/b', 0] });
    const outcome = defineTool({ ...base, inputSchema: later }).check({ 'a/b': [{ n: 1 }] });
    expect(outcome).toBeInstanceOf(Promise);
    expect(await outcome).toEqual({ ok: false, issues: [{ path: '/a~1b/0', message: 'later' }] });
  });

  it('without a JSON Schema of their own are told by jsonSchema', async () => {
    const parameters = plainStandard((value) =>
      typeof value === 'object' ? { value: 42 } : { issues: [{ message: 'no', path: [{ key: 'a' }, 0, Symbol('s')] }] },
    );
    const jsonSchema: JsonSchema = { type: 'object', properties: { a: { type: 'string' } } };
    const tool = defineTool({ ...base, inputSchema: parameters, jsonSchema });
    expect(tool.inputSchema).toEqual(jsonSchema);
    expect(await tool.check({})).toEqual({ ok: true, value: 42 });
  });

  it('that are functions are recognised', async () => {
    const callable = Object.assign(
      () => {},
      plainStandard(() => ({ issues: [{ message: 'no', path: ['a'] }] })),
    );
    const tool = defineTool({ ...base, inputSchema: callable, jsonSchema: { type: 'object' } });
    expect(await tool.check({})).toEqual({ ok: false, issues: [{ path: '/a', message: 'no' }] });
  });

  it('that crash, reject or fail without a word have not passed', async () => {
    const checked = async (validate: StandardSchema['~standard']['validate']): Promise<unknown> =>
      defineTool({ ...base, inputSchema: plainStandard(validate), jsonSchema: { type: 'object' } }).check({});
    const failed = (message: string): object => ({ ok: false, issues: [{ path: '', message }] });
    expect(
      await checked(() => {
        throw new Error('boom');
      }),
    ).toEqual(failed('could not be checked: boom'));
    expect(await checked(() => Promise.reject(new Error('later')))).toEqual(failed('could not be checked: later'));
    expect(await checked(() => ({ issues: [] }))).toEqual(failed('is not valid'));
  });

  it('are asked for their JSON Schema once', () => {
    let asked = 0;
    const parameters: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'counting',
        validate: (value) => ({ value }),
        jsonSchema: { input: () => ({ type: 'object', asked: (asked += 1) }), output: () => ({}) },
      },
    };
    const tool = defineTool({ ...base, inputSchema: parameters });
    expect(tool.inputSchema).toBe(tool.inputSchema);
    expect(asked).toBe(1);
  });
});

describe('types', () => {
  it('of arguments follow a JSON Schema literal', () => {
    defineTool({
      ...base,
      inputSchema: {
        type: 'object',
        properties: {
          path: { type: 'string' },
          mode: { type: 'string', enum: ['read', 'write'] },
          kind: { const: 'x' },
          depth: { type: 'integer' },
          ratio: { type: ['number', 'null'] },
          deep: { type: 'object', properties: { on: { type: 'boolean' } }, required: ['on'] },
          list: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } } } },
          any: {},
          some: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          map: { type: 'object', additionalProperties: { type: 'number' } },
          maybe: { type: 'string', nullable: true },
        },
        required: ['path', 'mode', 'deep'],
      },
      execute: (args) => {
        expectTypeOf(args).toEqualTypeOf<{
          path: string;
          mode: 'read' | 'write';
          deep: { on: boolean };
          kind?: 'x';
          depth?: number;
          ratio?: number | null;
          list?: { n?: number }[];
          any?: JsonValue;
          some?: string | null;
          map?: Record<string, number>;
          maybe?: string | null;
        }>();
        return '';
      },
    });
  });

  it('of arguments are a JSON object when nothing more is known', () => {
    defineTool({ ...base, execute: (args) => (expectTypeOf(args).toEqualTypeOf<JsonObject>(), '') });
    const schema: JsonSchema = { type: 'object' };
    defineTool({
      ...base,
      inputSchema: schema,
      execute: (args) => (expectTypeOf(args).toEqualTypeOf<JsonObject>(), ''),
    });
    expectTypeOf<ToolArguments<{ anyOf: [{ $ref: '#/a' }] }>>().toEqualTypeOf<JsonObject>();
    expectTypeOf<FromJsonSchema<{ $ref: '#/a' }>>().toEqualTypeOf<JsonValue>();
    expectTypeOf<FromJsonSchema<true>>().toEqualTypeOf<JsonValue>();
  });

  it('of arguments are the output of a Standard Schema', () => {
    const parameters = z.object({ at: z.string().transform(Number), n: z.number().default(1) });
    defineTool({
      ...base,
      inputSchema: parameters,
      execute: (args) => (expectTypeOf(args).toEqualTypeOf<{ at: number; n: number }>(), ''),
    });
  });

  it('of access and approval are those of execute', async () => {
    const parameters = z.object({ path: z.string().transform((path) => `/root/${path}`) });
    const tool = defineTool({
      ...base,
      inputSchema: parameters,
      access: ({ path }) => ({ paths: [{ path, write: true }] }),
      approval: ({ path }) => path.endsWith('.env'),
      execute: () => '',
    });
    const checked = await tool.check({ path: 'a.txt' });
    if (!checked.ok) throw new Error('the check failed');
    expect(tool.access?.(checked.value)).toEqual({ paths: [{ path: '/root/a.txt', write: true }] });
    // @ts-expect-error: neither a boolean nor another word
    expect(() => defineTool({ ...base, approval: 'never' })).toThrow('approval must be');
    // @ts-expect-error: what is touched depends on the arguments
    expect(() => defineTool({ ...base, access: { readOnly: true } })).toThrow('access must be a function');
  });

  it('want execute on server tools and none on client tools', () => {
    const { execute: _, ...without } = base;
    // @ts-expect-error: a server tool needs execute
    expect(() => defineTool(without)).toThrow('execute is missing');
    // @ts-expect-error: a client tool has none
    expect(() => defineTool({ ...base, runs: 'client' })).toThrow('has no execute');
    expectTypeOf(defineTool(base)).toExtend<Tool>();
  });
});
