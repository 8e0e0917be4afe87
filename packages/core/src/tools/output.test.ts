import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDeep } from '../json.ts';
import { normalOutput } from './output.ts';
import { plainData } from './plain-data.ts';

const anything = fc.anything({
  maxDepth: 4,
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
});

/** A value that answers each question as it likes. */
const hostile = fc.oneof(
  anything,
  anything.map((value) => ({ toJSON: () => value })),
  anything.map((value) => Object.defineProperty({}, 'content', { enumerable: true, get: () => value })),
  anything.map((thrown) => ({
    get content(): never {
      throw thrown;
    },
  })),
  anything.map((thrown) => ({
    toJSON(): never {
      throw thrown;
    },
  })),
  fc.tuple(fc.constantFrom('get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor'), anything).map(
    ([trap, answer]) =>
      new Proxy(
        { content: 'x' },
        {
          [trap]: () => answer,
        },
      ),
  ),
);

const textOf = (value: unknown, maxLength = 10_000): string => {
  const { content, isError } = normalOutput(value, maxLength);
  expect(isError).toBe(false);
  return content.map((block) => (block.type === 'text' ? block.text : block.type)).join('');
};

describe('what a tool returns', () => {
  it('becomes a result that a log can hold, whatever it is', () => {
    fc.assert(
      fc.property(hostile, fc.nat(300), (value, maxLength) => {
        const output = normalOutput(value, maxLength);
        expect(JSON.parse(JSON.stringify(output))).toEqual(output);
        expect(output.isError).toBe(plainError(value));
      }),
      { numRuns: 2000 },
    );
  });

  it('that is JSON is read as it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(plainData(value).value).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('that is nested deep, or contains itself, is shown down to the limit', () => {
    let deep: unknown = 'bottom';
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(textOf(deep)).toContain('nested deeper than 512 levels');
    expect(isDeep(plainData(deep).value)).toBe(false);
    const endless = (): object => ({
      get next() {
        return endless();
      },
    });
    expect(textOf(endless())).toContain('nested deeper than 512 levels');
    const list: unknown[] = [];
    list.push(list);
    expect(textOf(list)).toBe('["[an object that contains itself]"]');
  });

  it('that has no end is shown as far as anybody reads', () => {
    expect(textOf(Object.assign([], { length: 2 ** 32 - 1 }))).toMatch(/^\[null,.*more\]"\]$/s);
    const endless = Object.assign(new Set(), {
      *[Symbol.iterator]() {
        for (;;) yield 1;
      },
    });
    expect(textOf(endless)).toMatch(/more\]"\]$/);
    // Each level refers to the one below twice: 2 to the power of 60 values, if all were read.
    let wide: unknown = 'x';
    for (let level = 0; level < 60; level += 1) wide = [wide, wide];
    expect(textOf(wide).length).toBeLessThan(11_000);
  });

  it('that would be larger than any text says so', () => {
    const long = 'x'.repeat(1_000_000);
    const output = normalOutput({ content: 'done', details: Array.from({ length: 200 }, () => long) }, 100);
    expect(output).toEqual({
      content: [{ type: 'text', text: 'done' }],
      isError: false,
      details: '[too large to be shown]',
    });
    expect(textOf(Array.from({ length: 200 }, () => long))).toBe('[too large to be shown]');
  });

  it('keeps keys that mean something to JavaScript', () => {
    expect(textOf(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}');
    expect('a' in {}).toBe(false);
  });
});

/** Only a tool's own word makes its result an error. */
function plainError(value: unknown): boolean {
  const plain = plainData(value).value as { readonly content?: unknown; readonly isError?: unknown } | null | undefined;
  return plain?.isError === true && plain.content !== undefined;
}
