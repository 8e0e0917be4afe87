import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyJson, type JsonObject, type JsonValue } from './json.ts';

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
