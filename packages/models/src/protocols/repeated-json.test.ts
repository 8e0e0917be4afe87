import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseObject } from './json-text.ts';
import { createRepeatedJson } from './repeated-json.ts';
import type { RepeatedJson } from './repeated-json.ts';

const reader = (): RepeatedJson =>
  createRepeatedJson({ strings: ['id', 'text'], padding: ['pad'], containers: ['list', 'inner'] });

/** What was read, at the time it was read, without its padding. */
const essence = (value: unknown): string | undefined =>
  JSON.stringify(value, (key, part: unknown) => (key === 'pad' && typeof part === 'string' ? '' : part));

const event = (id: string, text: string, n: number, pad = 'x'): string =>
  JSON.stringify({ id, object: 'event', created: 100 + n, list: [{ index: n, inner: { text }, end: null }], pad });

const STRING = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 5 }),
  fc.constantFrom('"', '\\', '\\"', '"text":"', '","id":"', '"list":[', 'treadle-marks-the-place-0', 'a'.repeat(20)),
);
const VALUE = fc.oneof(STRING, fc.nat(), fc.maxSafeInteger(), fc.constantFrom(null, -1, 0.5, 1e300, true, [], {}));
const INNER = fc.record({ text: VALUE, n: VALUE, id: VALUE }, { requiredKeys: [] });
const EVENT = fc
  .record(
    {
      id: VALUE,
      n: VALUE,
      list: fc.array(fc.oneof(INNER, fc.record({ inner: INNER }), VALUE), { maxLength: 2 }),
      inner: fc.oneof(INNER, VALUE),
      pad: VALUE,
      other: fc.oneof(INNER, VALUE),
      text: STRING,
    },
    { requiredKeys: ['id', 'n'] },
  )
  .map((fields) => JSON.stringify(fields));

/** The text with a character changed, put in or left out, which may be JSON still. */
const damaged = (text: string, place: number, by: string, instead: boolean): string => {
  const at = place % (text.length + 1);
  return text.slice(0, at) + by + text.slice(instead ? at + 1 : at);
};

describe('a text', () => {
  it('is read as parsing reads it, whatever was read before', () => {
    fc.assert(
      fc.property(fc.array(EVENT, { minLength: 2, maxLength: 12 }), (texts) => {
        const json = reader();
        for (const text of [...texts, ...texts]) expect(essence(json.read(text))).toBe(essence(parseObject(text)));
      }),
      { numRuns: 300 },
    );
  });

  it('that repeats another with other values is read as parsing reads it', () => {
    const values = fc.tuple(STRING, STRING, fc.nat(), STRING);
    fc.assert(
      fc.property(fc.array(values, { minLength: 2, maxLength: 8 }), (all) => {
        const json = reader();
        for (const [id, text, n, pad] of all) {
          const given = event(id, text, n, pad);
          expect(essence(json.read(given))).toBe(essence(JSON.parse(given)));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('that is nearly a known one is read as parsing reads it, or is no more JSON to it than to parsing', () => {
    const by = fc.constantFrom(
      '',
      '"',
      '\\',
      ',',
      '}',
      ']',
      '0',
      '1',
      '-',
      '.',
      ' ',
      '\t',
      '\u0000',
      '\u007f',
      'a',
      'é',
    );
    fc.assert(
      fc.property(STRING, fc.nat(), by, fc.boolean(), (text, place, by, instead) => {
        const json = reader();
        json.read(event('id-1', 'first', 1));
        const other = damaged(event('id-1', text, 12), place, by, instead);
        expect(essence(json.read(other))).toBe(essence(parseObject(other)));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('an object', () => {
  it('is used again for a text of the same form, of the same response or of another', () => {
    const json = reader();
    json.read(event('id-1', 'first', 1));
    const second = json.read(event('id-1', 'second "quoted"', 2, 'yy'));
    const third = json.read(event('id-2', 'third', 345));
    expect(third).toBe(second);
    expect(essence(third)).toBe(essence(JSON.parse(event('id-2', 'third', 345))));
  });

  it('is not used again when it has a list or an object that the reader may have kept', () => {
    const json = reader();
    const first = json.read('{"id":"1","list":[],"other":{"text":"first"}}');
    const second = json.read('{"id":"1","list":[],"other":{"text":"next"}}');
    expect(first).toEqual({ id: '1', list: [], other: { text: 'first' } });
    expect(second).toEqual({ id: '1', list: [], other: { text: 'next' } });
  });

  it('is made for each form when forms take turns', () => {
    const json = reader();
    const plain = (id: string): string => `{"id":"${id}","list":[],"end":true}`;
    for (let round = 0; round < 3; round++) {
      for (const text of [event('a', 'text', round), plain('b'), event('c', 'more', round)]) {
        expect(essence(json.read(text))).toBe(essence(JSON.parse(text)));
      }
    }
    expect(json.read(plain('x'))).toBe(json.read(plain('y')));
    expect(json.read(event('x', 'text', 1))).toBe(json.read(event('y', 'text', 2)));
  });
});

describe('texts that never repeat', () => {
  it('are only parsed after some attempts, and their forms looked for again much later', () => {
    const json = reader();
    const isLearned = (): boolean => {
      json.read(event('a', 'text', 1));
      return json.read(event('a', 'text', 2)) === json.read(event('a', 'text', 3));
    };
    expect(isLearned()).toBe(true);
    let different = 0;
    const readAnother = (): unknown => json.read(`{"id":"1","key${different++}":1,"list":[]}`);
    while (different < 1000) readAnother();
    expect(isLearned()).toBe(false);
    while (different < 10_000) readAnother();
    let again = false;
    for (let attempt = 0; attempt < 10_000 && !again; attempt++) again = isLearned();
    expect(again).toBe(true);
  });
});
