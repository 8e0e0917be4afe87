import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from './json.ts';
import { createDigest } from './digest.ts';

function digestOf(value: JsonValue): string {
  const digest = createDigest();
  digest.json(value);
  return digest.value();
}

describe('a digest', () => {
  it('is the same for the same JSON value, and another for another', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const [a, b] = [one as JsonValue, other as JsonValue];
        const same = JSON.stringify(a) === JSON.stringify(b);
        expect(digestOf(a) === digestOf(b)).toBe(same);
        expect(digestOf(JSON.parse(JSON.stringify(a)) as JsonValue)).toBe(digestOf(a));
      }),
      { numRuns: 1000 },
    );
  });

  it.each<[string, JsonValue, JsonValue]>([
    ['where a text ends', ['ab', 'c'], ['a', 'bc']],
    ['what is in which list', [[1], 2], [1, [2]]],
    ['a number and its text', 1, '1'],
    ['null and its text', null, 'null'],
    ['an empty list and an empty object', [], {}],
    ['the order of a list', [1, 2], [2, 1]],
    ['what is in which object', { a: { b: 1 } }, { a: {}, b: 1 }],
    [
      'a text changed in its middle',
      `${'x'.repeat(5000)}a${'x'.repeat(5000)}`,
      `${'x'.repeat(5000)}b${'x'.repeat(5000)}`,
    ],
  ])('tells apart %s', (_, one, other) => {
    expect(digestOf(one)).not.toBe(digestOf(other));
  });

  it('takes values nested as deeply as a model likes', () => {
    let deep: JsonValue = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(digestOf(deep)).toBe(digestOf(deep));
  });

  it('has no collisions among many similar values', () => {
    const seen = new Set<string>();
    for (let n = 0; n < 50_000; n++) seen.add(digestOf({ path: `/src/file-${n}.ts`, line: n % 7 }));
    expect(seen.size).toBe(50_000);
  });

  it('is the same after another that could not be made, or was made meanwhile', () => {
    const value = { a: [1, { b: 'c' }], d: null };
    const known = digestOf(value);
    const throwing = {
      first: 'x',
      get second(): string {
        throw new Error('not loaded');
      },
    };
    expect(() => digestOf(throwing)).toThrow('not loaded');
    expect(digestOf(value)).toBe(known);
    const nested = (inner: () => string): JsonValue => ({
      a: 'x',
      get b() {
        inner();
        return 'y';
      },
      c: [1, 2],
    });
    expect(digestOf(nested(() => digestOf(value)))).toBe(digestOf(nested(() => '')));
  });
});
