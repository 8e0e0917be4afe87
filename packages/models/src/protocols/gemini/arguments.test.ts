import type { JsonValue } from '@treadle/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPartialArguments, jsonPathSteps } from './arguments.ts';

interface Entry {
  readonly jsonPath: string;
  readonly willContinue?: boolean;
  readonly [kind: string]: unknown;
}

const stepText = (step: string | number): string =>
  typeof step === 'number'
    ? `[${step}]`
    : /^[^.[\]]+$/.test(step)
      ? `.${step}`
      : `['${step.replace(/['\\]/g, '\\$&')}']`;

/** The entries a service sends for a value: its leaves in order, strings in pieces. Empty containers have none. */
function entriesOf(value: JsonValue, path: string, pieces: number): Entry[] {
  if (typeof value === 'string') {
    const size = Math.max(1, Math.ceil(value.length / pieces));
    const parts: Entry[] = [];
    for (let at = 0; at < value.length; at += size) {
      parts.push({ jsonPath: path, stringValue: value.slice(at, at + size), willContinue: true });
    }
    return [...parts, { jsonPath: path, stringValue: '' }];
  }
  if (typeof value === 'number') return [{ jsonPath: path, numberValue: value }];
  if (typeof value === 'boolean') return [{ jsonPath: path, boolValue: value }];
  if (value === null) return [{ jsonPath: path, nullValue: 'NULL_VALUE' }];
  const children: [string | number, JsonValue][] = Array.isArray(value)
    ? (value as JsonValue[]).map((item, at) => [at, item])
    : Object.entries(value as Record<string, JsonValue>);
  return children.flatMap(([step, child]) => entriesOf(child, path + stepText(step), pieces));
}

const name = fc.oneof(
  fc.constantFrom('a', 'b', '__proto__', 'a.b', "it's", '\\', 'ключ', '0'),
  fc.string({ minLength: 1 }),
);
const { tree } = fc.letrec<{ tree: JsonValue; leaf: JsonValue; list: JsonValue; object: JsonValue }>((tie) => ({
  leaf: fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
  ),
  list: fc.array(tie('tree'), { minLength: 1, maxLength: 4 }),
  object: fc.dictionary(name, tie('tree'), { minKeys: 1, maxKeys: 4 }),
  tree: fc.oneof({ maxDepth: 4 }, tie('leaf'), tie('list'), tie('object')),
}));
const args = fc.dictionary(name, tree, { maxKeys: 4 });

describe('arguments by path', () => {
  it('come to the text of the value they were taken from, shown piece by piece', () => {
    fc.assert(
      fc.property(args, fc.integer({ min: 1, max: 4 }), (value, pieces) => {
        const partial = createPartialArguments();
        let shown = '';
        for (const entry of entriesOf(value, '$', pieces)) shown += partial.add([entry]);
        expect(partial.isIncomplete()).toBe(false);
        const { rest, text } = partial.close();
        expect(shown + rest).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 500 },
    );
  });

  it('are never JSON before they are closed, and never throw, whatever comes', () => {
    const entry = fc.record(
      {
        jsonPath: fc.constantFrom(
          '$',
          '$.a',
          '$.a.b',
          '$.a[0]',
          '$.a[1].b',
          '$.a[9]',
          '$.b',
          '$.__proto__.x',
          '$..',
          'a',
        ),
        stringValue: fc.string(),
        numberValue: fc.double(),
        willContinue: fc.boolean(),
      },
      { requiredKeys: ['jsonPath'] },
    );
    fc.assert(
      fc.property(fc.array(entry), (entries) => {
        const partial = createPartialArguments();
        for (const one of entries) partial.add([one]);
        expect(() => JSON.parse(partial.unclosed()) as unknown).toThrow(SyntaxError);
        expect(() => JSON.parse(partial.close().text) as unknown).not.toThrow();
        expect(({} as { x?: unknown }).x).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it('may come out of order: then the text is only told at the end', () => {
    const partial = createPartialArguments();
    partial.add([
      { jsonPath: '$.a.x', numberValue: 1 },
      { jsonPath: '$.b', numberValue: 2 },
      { jsonPath: '$.a.y', numberValue: 3 },
    ]);
    expect(partial.close()).toEqual({ rest: '', text: '{"a":{"x":1,"y":3},"b":2}' });
  });

  it('keep the latest of a value that comes twice', () => {
    const partial = createPartialArguments();
    partial.add([
      { jsonPath: '$.a', numberValue: 1 },
      { jsonPath: '$.a', numberValue: 2 },
    ]);
    expect(partial.close().text).toBe('{"a":2}');
  });

  it('are incomplete while a string goes on', () => {
    const partial = createPartialArguments();
    partial.add([{ jsonPath: '$.a', stringValue: 'half', willContinue: true }]);
    expect(partial.isIncomplete()).toBe(true);
    partial.add([{ jsonPath: '$.a', stringValue: '' }]);
    expect(partial.isIncomplete()).toBe(false);
  });

  it.each([
    ['a hole in a list', [{ jsonPath: '$.a[3]', numberValue: 1 }]],
    [
      'a key of a list',
      [
        { jsonPath: '$.a[0]', numberValue: 1 },
        { jsonPath: '$.a.b', numberValue: 1 },
      ],
    ],
    [
      'a part of a number',
      [
        { jsonPath: '$.a', numberValue: 1 },
        { jsonPath: '$.a.b', numberValue: 1 },
      ],
    ],
    ['a path that is none', [{ jsonPath: '$.a[', numberValue: 1 }]],
    ['no path', [{ numberValue: 1 }]],
  ])('with %s are incomplete for good', (_, entries) => {
    const partial = createPartialArguments();
    partial.add(entries);
    partial.add([{ jsonPath: '$.fine', numberValue: 1 }]);
    expect(partial.isIncomplete()).toBe(true);
  });

  it('that came whole can be added to, but not gone into', () => {
    const partial = createPartialArguments();
    expect(partial.assign({ a: { b: 1 } })).toBe('{"a":{"b":1}');
    partial.add([{ jsonPath: '$.c', boolValue: true }]);
    expect(partial.close().text).toBe('{"a":{"b":1},"c":true}');
    partial.add([{ jsonPath: '$.a.__proto__.polluted', numberValue: 1 }]);
    expect(partial.isIncomplete()).toBe(true);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('without any are an empty object', () => {
    expect(createPartialArguments().close()).toEqual({ rest: '{}', text: '{}' });
  });
});

describe('a JSON path', () => {
  it.each([
    ['$', []],
    ['$.a', ['a']],
    ['$.a[0][12].b_c', ['a', 0, 12, 'b_c']],
    [`$['a.b']["c\\"d"].e`, ['a.b', 'c"d', 'e']],
  ])('%s has its steps', (path, steps) => {
    expect(jsonPathSteps(path)).toEqual(steps);
  });

  it.each(['', 'a', '.a', '$a', '$.', '$.a.', '$[a]', '$[-1]', '$[1', "$['a]", `$${'.a'.repeat(101)}`])(
    '%s is none',
    (path) => {
      expect(jsonPathSteps(path)).toBeUndefined();
    },
  );
});
