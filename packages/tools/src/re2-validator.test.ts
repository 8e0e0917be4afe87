import {
  createSession,
  defineAgent,
  defineTool,
  type AgentDefinition,
  type JsonSchema,
  type JsonValue,
  type DurableEvent,
} from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { re2Validator } from './re2-validator.ts';

const validator = re2Validator();
const fits = (schema: JsonSchema, value: JsonValue): boolean => validator.compile(schema)(value).length === 0;
const skipped = (pattern: string): readonly string[] => validator.compile({ pattern }).unchecked ?? [];

const atom = fc.constantFrom(
  'a',
  'b',
  '.',
  '\\w',
  '\\d',
  '[ab]',
  '[^a]',
  '\\s',
  '\\S',
  '[\\s1]',
  '[^\\S]',
  '-',
  '\\u{1f600}',
);
const rare = fc.constantFrom('\\p{L}', '[\\]x]', '\\u00e9', '[]', '[^]', '[[a]', '\\x61', '\\/', '\\cJ', '\\0');
const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    atom,
    rare,
    fc.constantFrom('^', '$', '\\b', '\\B', ''),
    fc.array(tie('expression'), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('')),
    fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `(${a}|${b})`),
    fc
      .tuple(tie('expression'), fc.constantFrom('*', '+', '?', '*?', '{2}', '{1,3}', '{2,}', '{0}'))
      .map(([body, count]) => `(?:${body})${count}`),
  ),
}));
const text = fc.string({
  unit: fc.constantFrom(
    'a',
    'b',
    '1',
    '-',
    ' ',
    '\u00a0',
    'é',
    '\u{1f600}',
    ']',
    '[',
    'x',
    '\n',
    '\r',
    '\u2028',
    '/',
    '\0',
  ),
  maxLength: 8,
});

describe('a pattern', () => {
  it('means what it means to JavaScript', () => {
    fc.assert(
      fc.property(expression, text, (pattern, value) => {
        // V8 finds `\B` between the halves of a surrogate pair, where the standard has no position.
        fc.pre(!(pattern.includes('\\B') && value.includes('\u{1f600}')));
        fc.pre(isUnicode(pattern));
        expect(skipped(pattern)).toEqual([]);
        expect(fits({ pattern }, value)).toBe(new RegExp(pattern, 'u').test(value));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['^[a-z0-9]+(?:-[a-z0-9]+)*$', 'a-slug-2', 'a--slug'],
    ['^(\\d{1,3}\\.){3}\\d{1,3}$', '127.0.0.1', '127.0.0'],
    ['^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$', 'someone@example.org', 'someone@example'],
    ['^[\\w\\-]+$', 'old-grammar', 'no spaces'],
    ['^\\d{3}\\-\\d{4}$', '555-0100', '5550100'],
    ['needle', 'a needle in hay', 'hay'],
    ['^(?<year>\\d{4})$', '2026', '26'],
    ['^\\S+$', 'word', 'two\u00a0words'],
  ])('%s accepts %j and refuses %j', (pattern, good, bad) => {
    expect(skipped(pattern)).toEqual([]);
    expect([fits({ pattern }, good), fits({ pattern }, bad)]).toEqual([true, false]);
  });

  it.each(['^(a+)+$', '^(a|aa)+$', '(a*)*b', '^(?:a?){40}a{40}$', '(x+x+)+y', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
    '%s, which takes JavaScript exponential time, is answered for a text of 100,000 characters',
    (pattern) => {
      expect(fits({ pattern }, `${'a'.repeat(100_000)}!`)).toBe(false);
    },
  );

  it.each(['^(?=.*x)a$', '(?<!a)b', '(a)\\1', '(?<n>a)\\k<n>', '^a{1,2048}$', '\\p{Letter}', '\\A\\-', '[\\b]'])(
    '%s is skipped, since RE2 does not have it',
    (pattern) => {
      expect(skipped(pattern)).toEqual([pattern]);
      expect([fits({ pattern }, 'anything'), fits({ not: { pattern } }, 'anything')]).toEqual([true, true]);
    },
  );

  it('is checked in the names of properties too', () => {
    const schema = { patternProperties: { '^n': { type: 'number' } }, propertyNames: { pattern: '^[a-z]+$' } };
    expect(fits(schema, { n: 1, other: 'x' })).toBe(true);
    expect(fits(schema, { n: 'x' })).toBe(false);
    expect(fits(schema, { N1: 'x' })).toBe(false);
  });
});

/** Whether JavaScript has it in the grammar that schemas are written in. */
function isUnicode(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').unicode;
  } catch {
    return false;
  }
}

describe('the validator of an agent', () => {
  const lookup = defineTool({
    name: 'lookup',
    description: 'Looks up a code.',
    inputSchema: {
      type: 'object',
      properties: { code: { type: 'string', pattern: '^[A-Z]{3}$' } },
      required: ['code'],
    },
    execute: ({ code }) => `found ${code}`,
  });
  const ahead = defineTool({
    name: 'ahead',
    description: 'Needs look-ahead.',
    inputSchema: { type: 'object', properties: { word: { type: 'string', pattern: '^(?=a)' } } },
    execute: () => 'done',
  });

  const calling = (name: string, ...all: JsonValue[]): AgentDefinition['model'] =>
    scriptedModel([
      ...all.map((args) => ({ toolCalls: [{ name, arguments: args as Record<string, JsonValue> }] })),
      'Done.',
    ]);

  /** What the calls of a run came to, and the warnings. */
  async function play(definition: AgentDefinition): Promise<{ results: string[]; warnings: string[] }> {
    const session = await createSession(defineAgent(definition));
    const results: string[] = [];
    const warnings: string[] = [];
    const textOf = (content: Extract<DurableEvent, { type: 'tool_ended' }>['content']): string =>
      content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    for await (const event of session.prompt('Go.')) {
      if (event.type === 'tool_ended') results.push(textOf(event.content));
      if (event.type === 'tool_call_rejected') results.push(event.reason);
      if (event.type === 'warning') warnings.push(`${event.code}: ${event.message}`);
    }
    return { results, warnings };
  }

  it('checks the tools that were defined before the agent', async () => {
    const model = calling('lookup', { code: 'OSL' }, { code: 'oslo' });
    const { results, warnings } = await play({ model, tools: [lookup], validator });
    expect(results).toEqual(['found OSL', 'invalid_arguments']);
    expect(warnings).toEqual([]);
  });

  it('checks tools that may run in the background', async () => {
    const model = calling('lookup', { code: 'oslo' });
    const { results } = await play({ model, tools: [lookup], background: { tools: ['lookup'] }, validator });
    expect(results).toEqual(['invalid_arguments']);
  });

  it('checks structured output', async () => {
    const output = {
      schema: { type: 'object', properties: { code: { type: 'string', pattern: '^[A-Z]{3}$' } } },
    } as const;
    const model = scriptedModel(['{"code":"oslo"}', '{"code":"OSL"}']);
    const session = await createSession(defineAgent({ model, output: { ...output, mode: 'prompted' }, validator }));
    expect((await session.prompt('Go.').result).output).toEqual({ code: 'OSL' });
  });

  it('names each pattern that it skips, once', async () => {
    const model = calling('ahead', { word: 'b' }, { word: 'c' });
    const { results, warnings } = await play({ model, tools: [ahead], validator });
    expect(results).toEqual(['done', 'done']);
    expect(warnings).toEqual([
      expect.stringMatching(/^pattern_unchecked: The pattern \^\(\?=a\) of tool ahead .*support/),
    ]);
  });

  it('is missed in one warning when there is none, and patterns are not checked', async () => {
    const model = calling('lookup', { code: 'oslo' }, { code: 'rome' });
    const output = { schema: { type: 'string', pattern: '^[A-Z]' }, mode: 'prompted' } as const;
    const { results, warnings } = await play({ model, tools: [lookup], output, limits: { maxTurns: 4 } });
    expect(results).toEqual(['found oslo', 'found rome']);
    expect(warnings).toEqual([expect.stringMatching(/^pattern_unchecked: .* of tool lookup .*re2Validator/)]);
  });

  it('that throws refuses the call', async () => {
    const compile = (): never => {
      throw new Error('out of order');
    };
    const { results } = await play({
      model: calling('lookup', { code: 'OSL' }),
      tools: [lookup],
      validator: { compile },
    });
    expect(results).toEqual(['invalid_arguments']);
  });

  it('is refused when it can compile nothing', () => {
    // @ts-expect-error: a validator has `compile`
    expect(() => defineAgent({ model: scriptedModel([]), validator: {} })).toThrow('validator must have a method');
  });
});
