import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withMarks } from './cache-marks.ts';
import { createGrowingText, joined, withoutFirst } from './growing-text.ts';
import type { Piece } from './growing-text.ts';

const decoded = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);
const textOf = (pieces: readonly Piece[]): string => decoded(joined(pieces));
const words = fc.string({ unit: 'binary', maxLength: 40 });

describe('a growing text', () => {
  it('is what was appended, and each view of it stays as it was', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(words, fc.constantFrom(1, 50)), { maxLength: 30 }), (parts) => {
        const text = createGrowingText();
        const views: { readonly view: Uint8Array; readonly text: string }[] = [];
        let all = '';
        for (const [word, times] of parts) {
          const part = word.repeat(times);
          text.append(part);
          all += part;
          views.push({ view: text.view(), text: all });
        }
        expect(text.size()).toBe(Buffer.byteLength(all));
        for (const { view, text: then } of views) expect(decoded(view)).toBe(then);
      }),
    );
  });

  it('is not copied when there is room for what is new', () => {
    const text = createGrowingText();
    text.append('{"a":1}');
    const before = text.view();
    text.append(',{"b":2}');
    expect(text.view().buffer).toBe(before.buffer);
  });
});

describe('pieces', () => {
  it('come together in their order, whatever their lengths', () => {
    const long = fc.tuple(words, fc.constantFrom(1, 200, 1000)).map(([text, times]) => text.repeat(times));
    fc.assert(
      fc.property(fc.array(fc.tuple(long, fc.boolean()), { maxLength: 8 }), (parts) => {
        const pieces = parts.map(([text, asBytes]) => (asBytes ? new TextEncoder().encode(text) : text));
        expect(textOf(pieces)).toBe(parts.map(([text]) => text).join(''));
      }),
    );
  });

  it('lose their first character wherever it is', () => {
    expect(textOf(withoutFirst(['', new Uint8Array(), ',é', 'b']))).toBe('éb');
    expect(textOf(withoutFirst([new TextEncoder().encode(',é'), 'b']))).toBe('éb');
    expect(textOf(withoutFirst([new Uint8Array(), '']))).toBe('');
  });
});

describe('marks', () => {
  it('stand where they belong, in the text and in the end of one request', () => {
    const blocks = fc.array(
      words.map((text) => JSON.stringify(text)),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(blocks, blocks, fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), (kept, last, marked) => {
        const text = createGrowingText();
        const places: number[] = [];
        let end = '';
        for (const [index, block] of [...kept, ...last].entries()) {
          if (index < kept.length) text.append(block);
          else end += block;
          if (marked[index] === true) places.push(text.size() + end.length);
        }
        const expected = [...kept, ...last].map((block, index) => (marked[index] === true ? `${block}!` : block));
        expect(textOf(withMarks(text, end, places, '!'))).toBe(expected.join(''));
      }),
    );
  });
});
