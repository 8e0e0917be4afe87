import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TreadleError } from './errors.ts';
import {
  asJson,
  copyJson,
  isDeep,
  isDeepText,
  MAX_JSON_DEPTH,
  parseJson,
  type JsonObject,
  type JsonValue,
} from './json.ts';

const json = fc.jsonValue({ maxDepth: 5 }).map((value) => value as JsonValue);

/** Every object and array in a value, itself included. */
function parts(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value, ...Object.values(value).flatMap(parts)];
}

describe('a copy', () => {
  it('is the same JSON, and shares no object with the original', () => {
    fc.assert(
      fc.property(json, (value) => {
        const copy = copyJson(value);
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
        const originals = new Set(parts(value));
        expect(parts(copy).filter((part) => originals.has(part))).toEqual([]);
      }),
    );
  });

  it('keeps a key named __proto__ as data', () => {
    const copy = copyJson(JSON.parse('{"a":{"__proto__":{"x":[1]}}}') as { readonly a: JsonObject });
    expect(JSON.stringify(copy)).toBe('{"a":{"__proto__":{"x":[1]}}}');
    expect(Object.getPrototypeOf(copy.a)).toBe(Object.prototype);
  });

  it('may be as deep as it likes', () => {
    const deep: { inner?: object } = {};
    for (let inner = deep, level = 0; level < 100_000; level++) inner = inner.inner = {};
    expect(copyJson(deep as JsonObject)).toHaveProperty('inner');
  });
});

const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('the limit on nesting', () => {
  it.each([
    ['lists', lists],
    ['objects', objects],
  ])('takes 512 levels of %s and refuses one more, however many there are', (_, nested) => {
    expect(depthOf(parseJson(nested(MAX_JSON_DEPTH)))).toBe(512);
    expect(asJson(parseJson(nested(512)))).not.toBeNull();
    for (const depth of [513, 8000, 1_000_000]) {
      expect(() => parseJson(nested(depth))).toThrow(TreadleError);
      expect(() => parseJson(nested(depth))).toThrow('The JSON is nested deeper than 512 levels.');
    }
  });

  it('counts the levels of a text as those of its value, whatever its strings hold', () => {
    const value = fc.letrec<{ readonly value: JsonValue; readonly text: string }>((tie) => ({
      text: fc.stringMatching(/^[[\]{}"\\a-c]*$/),
      value: fc.oneof(
        { depthSize: 'small' },
        tie('text'),
        fc.integer(),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(tie('text'), tie('value'), { maxKeys: 3 }),
      ),
    })).value;
    fc.assert(
      fc.property(value, fc.nat(6), (given, most) => {
        const text = JSON.stringify(given);
        const isDeeper = depthOf(given) > most;
        expect(isDeep(given, most)).toBe(isDeeper);
        expect(isDeepText(text, most)).toBe(isDeeper);
      }),
      { numRuns: 1000 },
    );
  });

  it('refuses a value that contains itself, and is quick with one that is referred to many times', () => {
    const circular: unknown[] = [];
    circular.push(circular);
    expect(isDeep(circular)).toBe(true);
    let wide: unknown = [];
    for (let level = 1; level < 512; level += 1) wide = [wide, wide];
    expect(isDeep(wide)).toBe(false);
    expect(isDeep([wide])).toBe(true);
  });
});
