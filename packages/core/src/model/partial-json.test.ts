import { deepStrictEqual } from 'node:assert/strict';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { JsonValue } from '../json.ts';
import { createPartialJson, type PartialJson } from './partial-json.ts';

function scan(...pieces: string[]): PartialJson {
  const json = createPartialJson();
  for (const piece of pieces) json.push(piece);
  return json;
}

/** What a reader can see, after one push and after the end. */
const seen = (json: PartialJson): object => ({
  value: structuredClone(json.value),
  complete: json.complete,
  failed: json.failed,
});

/** Cuts a text into pieces of the given lengths, over and over. */
function cut(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
const string = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('"', '\\', '\n', '\u2028', '\ud83d', '\ude00', '😀'),
  ),
});
const key = fc.oneof(string, fc.constantFrom('__proto__', 'constructor', 'toString', '0', ''));
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>(null, true, false, 0, -0, 1e300, -1.5e-7),
    fc.double({ noDefaultInfinity: true, noNaN: true }),
    fc.integer(),
    string,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
}));
/** Escapes every character beyond ASCII in the long form, as some serialisers do. */
const escapeAll = (text: string): string =>
  text
    .split('')
    .map((unit) => (unit > '~' ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}` : unit))
    .join('');
const text = fc
  .tuple(value, fc.constantFrom('', ' ', '\t', '   '), fc.boolean(), fc.constantFrom('', ' ', '\r\n'))
  .map(([json, indent, escaped, around]) => {
    const written = JSON.stringify(json, null, indent);
    return around + (escaped ? escapeAll(written) : written) + around;
  });

/** Whether `later` is `earlier` grown: strings by their end, arrays by items, objects by properties. */
function hasGrown(earlier: JsonValue | undefined, later: JsonValue | undefined): boolean {
  if (earlier === undefined) return true;
  if (typeof earlier === 'string') return typeof later === 'string' && later.startsWith(earlier);
  if (typeof earlier !== 'object' || earlier === null) return Object.is(earlier, later);
  if (typeof later !== 'object' || later === null || Array.isArray(earlier) !== Array.isArray(later)) return false;
  const before = earlier as Readonly<Record<string, JsonValue>>;
  const after = later as Readonly<Record<string, JsonValue>>;
  return Object.keys(before).every((name) => Object.hasOwn(after, name) && hasGrown(before[name], after[name]));
}

const isContainer = (json: unknown): boolean => typeof json === 'object' && json !== null;

describe('any JSON text, cut anywhere', () => {
  it('ends as the value JSON.parse gives', () => {
    fc.assert(
      fc.property(text, lengths, (json, sizes) => {
        const scanned = scan(...cut(json, sizes));
        scanned.end();
        expect(scanned).toMatchObject({ complete: true, failed: false });
        deepStrictEqual(scanned.value, JSON.parse(json));
      }),
      { numRuns: 500 },
    );
  });

  it('only grows on the way there, in place', () => {
    fc.assert(
      fc.property(text, lengths, (json, sizes) => {
        const final = JSON.parse(json) as JsonValue;
        const scanned = createPartialJson();
        let before: JsonValue | undefined;
        for (const piece of cut(json, sizes)) {
          const container = scanned.value;
          scanned.push(piece);
          const now = structuredClone(scanned.value);
          expect(hasGrown(before, now)).toBe(true);
          expect(hasGrown(now, final)).toBe(true);
          expect(isContainer(container) && scanned.value !== container).toBe(false);
          before = now;
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('any text at all', () => {
  const garbage = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'{}[]",:\\ue01-+.tnafrls \n\u0000😀'.split('')), maxLength: 40 }),
    text.chain((json) =>
      fc
        .tuple(fc.nat(json.length), fc.nat(3), fc.constantFrom('', '"', '}', '\\', '\u0001', ',', '1'))
        .map(([at, removed, put]) => json.slice(0, at) + put + json.slice(at + removed)),
    ),
  );

  it('gives the same whatever the pieces', () => {
    fc.assert(
      fc.property(garbage, lengths, (json, sizes) => {
        expect(seen(scan(...cut(json, sizes)))).toEqual(seen(scan(json)));
      }),
      { numRuns: 1000 },
    );
  });

  it('fails if and only if JSON.parse does, and never throws', () => {
    fc.assert(
      fc.property(garbage, (json) => {
        const scanned = scan(json);
        scanned.end();
        let parsed: unknown;
        let fails = false;
        try {
          parsed = JSON.parse(json);
        } catch {
          fails = true;
        }
        expect(scanned.failed).toBe(fails);
        expect(scanned.complete).toBe(!fails);
        if (!fails) deepStrictEqual(scanned.value, parsed);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the value so far', () => {
  it.each<[string, unknown]>([
    ['', undefined],
    [' ', undefined],
    ['"', ''],
    ['"ab', 'ab'],
    ['"a\\', 'a'],
    ['"a\\u00', 'a'],
    ['"a\\u00e9', 'aé'],
    ['{', {}],
    ['{"a"', {}],
    ['{"a":', {}],
    ['{"a":"', { a: '' }],
    ['{"a":1', {}],
    ['{"a":1,', { a: 1 }],
    ['{"a":tru', {}],
    ['{"a":true', { a: true }],
    ['[1,2', [1]],
    ['[[{"a":["x', [[{ a: ['x'] }]]],
    ['12', undefined],
    ['12 ', 12],
  ])('of %s', (prefix, expected) => {
    expect(scan(prefix).value).toStrictEqual(expected);
    expect(scan(...prefix).value).toStrictEqual(expected);
  });

  it('never ends in half a character', () => {
    for (const written of ['"😀"', '"\\ud83d\\ude00"']) {
      const json = createPartialJson();
      for (const piece of written) {
        for (const unit of piece.split('')) {
          json.push(unit);
          expect(['', '😀', undefined]).toContain(json.value);
        }
      }
      expect(json.value).toBe('😀');
    }
  });

  it('has __proto__ as a property like any other', () => {
    const json = scan('{"__proto__":{"polluted":', '"ye', 's"},"a":{"__proto__":"gr', 'own"}}');
    expect(json.value).toStrictEqual(JSON.parse('{"__proto__":{"polluted":"yes"},"a":{"__proto__":"grown"}}'));
    expect(Object.getPrototypeOf(json.value)).toBe(Object.prototype);
    expect('polluted' in {}).toBe(false);
  });

  it('stays as it was when the text breaks off into something else', () => {
    const json = scan('{"a":"hello', ' you\\q rest"}');
    expect(json).toMatchObject({ value: { a: 'hello you' }, failed: true, complete: false });
    json.push('"}');
    json.end();
    expect(json).toMatchObject({ value: { a: 'hello you' }, failed: true });
  });

  it('of a number at the top level needs the end', () => {
    const json = scan('-1', '2.5e', '1');
    expect(json).toMatchObject({ value: undefined, complete: false });
    json.end();
    expect(json).toMatchObject({ value: -125, complete: true });
  });

  it('that is not finished fails at the end', () => {
    const json = scan('{"a":"b');
    json.end();
    expect(json).toMatchObject({ value: { a: 'b' }, complete: false, failed: true });
  });
});

describe('cost', () => {
  const pushed = (written: string, size: number): PartialJson => {
    const json = createPartialJson();
    for (let at = 0; at < written.length; at += size) {
      json.push(written.slice(at, at + size));
      if (json.value === undefined) throw new Error('nothing to see');
    }
    return json;
  };
  const DOCUMENTS: Readonly<Record<string, (size: number) => string>> = {
    'one long string': (size) => JSON.stringify({ content: 'x'.repeat(size) }),
    'a string full of escapes': (size) => JSON.stringify({ content: '"\\\n'.repeat(size / 6) }),
    'many rows': (size) => JSON.stringify(Array.from({ length: size / 20 }, (_, id) => ({ id, name: 'row' }))),
    'one long number': (size) => `[${'1'.repeat(size)}]`,
  };

  it.each(Object.entries(DOCUMENTS))('is at most two steps a character and one a push: %s', (_name, document) => {
    for (const size of [30_000, 300_000]) {
      const written = document(size);
      for (const piece of [1, 20, written.length]) {
        const json = pushed(written, piece);
        expect(json.complete).toBe(true);
        expect(json.work).toBeGreaterThanOrEqual(written.length);
        expect(json.work).toBeLessThanOrEqual(2 * written.length + Math.ceil(written.length / piece));
      }
    }
  });

  it('of nesting is no stack: 512 levels are read, more are refused', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect(scan(nested(512))).toMatchObject({ complete: true, failed: false });
    expect(scan(nested(513))).toMatchObject({ complete: false, failed: true });
    expect(scan('{"a":'.repeat(1_000_000)).failed).toBe(true);
  });
});
