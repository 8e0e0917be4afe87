import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkUsage } from './check-usage.ts';
import { totalTokens, UNKNOWN_USAGE, type Usage } from './usage.ts';

const usage = (more: Partial<Usage>): Usage => ({ ...UNKNOWN_USAGE, input: 10, output: 5, ...more });

describe('token counts', () => {
  it.each<[string, Partial<Usage>]>([
    ['negative', { input: -1 }],
    ['a fraction', { output: 1.5 }],
    ['no number', { input: Number.NaN }],
    ['infinite', { output: Infinity }],
    ['absurd', { input: 1e308 }],
    ['more than any call has', { output: 100_000_001 }],
    ['text', { input: '10' as never }],
    ['missing', { cacheRead: undefined as never }],
    // What a wire makes of more cached tokens than the prompt has.
    ['contradictory', { input: -4_999_990, cacheRead: 5_000_000 }],
    ['more reasoning than output', { output: 5, reasoning: 6 }],
  ])('that are %s become unknown, with a warning', (_, given) => {
    const checked = checkUsage(usage(given));
    expect(checked.usage).toEqual(UNKNOWN_USAGE);
    expect(checked.warning).toMatchObject({ code: 'usage_invalid' });
  });

  it.each<[string, Usage]>([
    ['nothing is said', UNKNOWN_USAGE],
    ['all of a prompt is cached', usage({ input: 0, cacheRead: 10 })],
    ['the output is all reasoning', usage({ output: 5, reasoning: 5 })],
    ['nothing was said in reply', usage({ output: 0 })],
    ['nothing was counted', { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 }],
    ['the prompt is the largest there is', usage({ input: 10_000_000 })],
  ])('are believed where %s', (_, given) => {
    expect(checkUsage(given)).toEqual({ usage: given, warning: null });
  });

  it('can be added up after the check, whatever they were, and a second check finds nothing', () => {
    const count = fc.oneof(
      fc.constant(null),
      fc.nat(10),
      fc.double(),
      fc.integer(),
      fc.constantFrom(-0, 1e308, undefined, '5', {}),
    );
    const any = fc.record({ input: count, output: count, cacheRead: count, cacheWrite: count, reasoning: count });
    fc.assert(
      fc.property(any, (given) => {
        const checked = checkUsage(given as Usage);
        expect(Number.isSafeInteger(totalTokens(checked.usage))).toBe(true);
        expect(totalTokens(checked.usage)).toBeGreaterThanOrEqual(0);
        expect(checkUsage(checked.usage)).toEqual({ usage: checked.usage, warning: null });
      }),
    );
  });
});
