import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packed, unpacked } from './packed.ts';

/** Messages as a log has them, of few shapes, and anything else that is JSON. */
const PLAIN = { noNullPrototype: true };
const text = fc.oneof(fc.string({ maxLength: 40 }), fc.string({ unit: 'binary', maxLength: 10 }));
const at = fc.oneof(fc.integer({ min: 1_700_000_000_000, max: 1_800_000_000_000 }), fc.integer(), fc.double());
const message = fc.record(
  {
    role: fc.constantFrom('user', 'assistant', 'x'.repeat(100)),
    id: text,
    at,
    content: fc.array(fc.record({ type: fc.constantFrom('text', 'thinking'), text }, PLAIN), { maxLength: 6 }),
    usage: fc.record({ input: fc.option(fc.nat()), output: fc.option(fc.nat()) }, PLAIN),
    isError: fc.boolean(),
    arguments: fc.jsonValue(),
  },
  { requiredKeys: ['role', 'content'], ...PLAIN },
);
const values = fc.array(fc.oneof(message, fc.jsonValue(), fc.dictionary(text, message, PLAIN)), { maxLength: 12 });

describe('packed values', () => {
  it.each([
    ['nothing where something could be', { a: undefined }],
    ['a number that JSON has no word for', [1, NaN]],
    ['a zero below zero', [-0]],
    ['an object of a class', { at: new Date(0) }],
    ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 })],
    ['a field that would be lost', JSON.parse('{"__proto__":{"a":1}}') as object],
    ['a function', { run: () => 1 }],
    ['a number beyond JSON', { many: 10n }],
    ['something in the arguments of a call that is no JSON', { arguments: { deep: [{ at: undefined }] } }],
    ['one of many that is no JSON', [{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }, { a: undefined }]],
  ])('are left as they are with %s among them', (_, value) => {
    expect(packed([{ a: 'b' }, value])).toBeNull();
  });

  it('of the same shape take little more room than their texts, whatever characters are in some of them', () => {
    const said = (index: number, words: string) => ({
      role: 'assistant',
      id: `msg_${index}`,
      at: 1_760_000_000_000 + index,
      provider: 'unknown',
      model: 'unknown',
      content: [{ type: 'text', text: words }],
      stopReason: 'stop',
      usage: { input: null, output: null, cacheRead: null, cacheWrite: null, reasoning: null },
      cost: null,
    });
    const many = Array.from({ length: 100 }, (_, index) => said(index, index === 50 ? '→ “that”' : 'x'.repeat(200)));
    const pack = packed(many);
    expect(pack?.apart).toEqual(['→ “that”']);
    expect(pack?.text.length).toBeLessThan(100 * 225);
    expect(pack && unpacked(pack)).toEqual(many);
  });

  // After the others: it makes more shapes than are kept.
  it('come back as JSON would give them, in the same order of fields, or are not packed', () => {
    fc.assert(
      fc.property(values, (given) => {
        const pack = packed(given);
        // A zero below zero, among the numbers of the property, is what JSON changes.
        const isExact = !hasNegativeZero(given) && !JSON.stringify(given).includes('"__proto__":');
        expect(pack !== null).toBe(isExact);
        if (pack !== null) expect(JSON.stringify(unpacked(pack))).toBe(JSON.stringify(given));
      }),
      { numRuns: 500 },
    );
  });

  it('of more shapes than are kept come back all the same', () => {
    const many = Array.from({ length: 1500 }, (_, index) => ({ [`field${index}`]: index, and: [index, 'text'] }));
    const pack = packed(many);
    expect(pack && unpacked(pack)).toEqual(many);
    const again = packed([...many].reverse());
    expect(again && unpacked(again)).toEqual([...many].reverse());
  });
});

function hasNegativeZero(value: unknown): boolean {
  if (typeof value === 'number') return Object.is(value, -0) || !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasNegativeZero);
}
