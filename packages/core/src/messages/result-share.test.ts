import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolResultContent, ToolResultMessage } from '../index.ts';
import { estimateMessage } from './estimate.ts';
import { cutResult } from './result-share.ts';
import { fairShare, resultTokens } from './result-limits.ts';

const result = (content: readonly ToolResultContent[]): ToolResultMessage => ({
  role: 'tool',
  id: 'r',
  at: 0,
  callId: 'call_1',
  toolName: 't',
  content,
  isError: false,
});
const text = (words: string): ToolResultContent => ({ type: 'text', text: words });

describe('the tokens of one result', () => {
  it.each([
    [50_000, null, 50_000],
    [50_000, 1_000_000, 50_000],
    [50_000, 200_000, 50_000],
    [50_000, 32_000, 8000],
    [10_000, 200_000, 10_000],
    [50_000, 100, 64],
  ])('%i of an agent, in a window of %s, are %i', (most, window, tokens) => {
    expect(resultTokens(most, window)).toBe(tokens);
  });
});

describe('the results of a turn', () => {
  it.each<[string, readonly number[], number | null, number | null]>([
    ['are whole where they fit', [10_000, 40_000, 50_000], 200_000, null],
    ['are cut to the most of one', [10, 60_000], 200_000, 50_000],
    ['share half the window', [50_000, 50_000, 50_000, 50_000], 200_000, 25_000],
    ['leave small ones whole, and share what these leave', [10_000, 80_000, 80_000, 80_000], 200_000, 30_000],
    ['share half of what a usual window is where nobody knows it', [50_000, 50_000, 50_000, 50_000], null, 25_000],
    ['keep room for a note however many there are', Array.from({ length: 128 }, () => 1000), 8000, 64],
    ['are none', [], 8000, null],
  ])('%s', (_, sizes, window, share) => {
    expect(fairShare(sizes, resultTokens(50_000, window), window)).toBe(share);
  });

  it('never have more than half the window together, unless notes alone do', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(100_000), { maxLength: 200 }),
        fc.integer({ min: 1000, max: 2e6 }),
        (sizes, window) => {
          const most = resultTokens(50_000, window);
          const share = fairShare(sizes, most, window) ?? Infinity;
          const cut = sizes.map((size) => Math.min(size, share));
          const sum = cut.reduce((all, size) => all + size, 0);
          expect(Math.max(0, ...cut)).toBeLessThanOrEqual(most);
          expect(sum <= window / 2 || share === 64).toBe(true);
          // No room is left that a cut result could have.
          if (share !== Infinity && share < most) expect(sum).toBeGreaterThan(window / 2 - sizes.length);
        },
      ),
    );
  });
});

describe('a result that is cut', () => {
  const content: fc.Arbitrary<ToolResultContent[]> = fc.array(
    fc.oneof(
      fc
        .tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), fc.nat(5000))
        .map(([unit, times]) => text(unit.repeat(times))),
      fc.nat(3_000_000).map((size) => ({ type: 'image' as const, mediaType: 'image/png', data: 'A'.repeat(size) })),
      fc.nat(200_000).map((size) => ({ type: 'file' as const, mediaType: 'text/csv', data: 'A'.repeat(size) })),
    ),
    { maxLength: 5 },
  );

  it('has at most its share, is valid Unicode, and says what is gone', () => {
    fc.assert(
      fc.property(content, fc.integer({ min: 200, max: 20_000 }), fc.boolean(), (blocks, most, canRecall) => {
        const whole = result(blocks);
        const cut = cutResult(whole, most, canRecall);
        expect(estimateMessage(cut)).toBeLessThanOrEqual(most);
        expect(cut === whole).toBe(estimateMessage(whole) <= most);
        if (cut === whole) return;
        const [first] = cut.content;
        const words = first?.type === 'text' ? first.text : '';
        expect(words.isWellFormed()).toBe(true);
        expect(words).toContain(canRecall ? 'recall({"handle":"call_1"})' : 'kept as call_1');
      }),
      { numRuns: 200 },
    );
  });

  it('keeps the beginning and the end', () => {
    const words = `first ${'x'.repeat(100_000)} last`;
    const [shown] = cutResult(result([text(words)]), 1000, true).content;
    expect(shown).toMatchObject({
      text: expect.stringMatching(
        /^first x+\n\[… \d+ characters cut out; read it with recall\(\{"handle":"call_1"\}\) …\]\nx+ last$/,
      ),
    });
    expect(estimateMessage(cutResult(result([text(words)]), 1000, true))).toBeGreaterThan(950);
  });

  it('keeps the images that fit', () => {
    const image = (size: number): ToolResultContent => ({
      type: 'image',
      mediaType: 'image/png',
      data: 'A'.repeat(size),
    });
    const [small, large] = [image(100_000), image(4_000_000)];
    const cut = cutResult(result([text('Two images.'), small, large]), 2000, true);
    expect(cut.content).toEqual([
      {
        type: 'text',
        text: `Two images.\n[The image (image/png) that was here doesn't fit; read it with recall({"handle":"call_1"}).]`,
      },
      small,
    ]);
  });
});
