import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelError } from './model.ts';
import { decideRetry, DEFAULT_RETRY } from './retry.ts';

const busy: ModelError = { kind: 'rate_limited', message: 'Slow down.', retryable: true };
const middle = { sawText: false, random: 0.5 };

describe('a failed attempt', () => {
  it('waits 1, 2 and 4 seconds, and is then given up', () => {
    const decisions = [1, 2, 3, 4].map((attempt) => decideRetry(busy, attempt, DEFAULT_RETRY, middle));
    expect(decisions).toEqual([
      { retry: true, delayMs: 1000 },
      { retry: true, delayMs: 2000 },
      { retry: true, delayMs: 4000 },
      { retry: false },
    ]);
  });

  it('waits longer each time by the multiplier of its policy', () => {
    const policy = { ...DEFAULT_RETRY, multiplier: 3 };
    const delays = [1, 2, 3].map((attempt) => decideRetry(busy, attempt, policy, middle));
    expect(delays).toEqual([1000, 3000, 9000].map((delayMs) => ({ retry: true, delayMs })));
  });

  it('never waits less than 80 % or more than 120 % of that, nor more than 36 seconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
        const decision = decideRetry(busy, attempt, { ...DEFAULT_RETRY, maxRetries: 100 }, { sawText: false, random });
        const exact = Math.min(1000 * 2 ** (attempt - 1), 30_000);
        expect(decision).toMatchObject({ retry: true });
        const { delayMs } = decision as { delayMs: number };
        expect(delayMs).toBeGreaterThanOrEqual(Math.floor(exact * 0.8));
        expect(delayMs).toBeLessThanOrEqual(Math.ceil(exact * 1.2));
      }),
    );
  });

  it('waits as long as the provider asks', () => {
    expect(decideRetry({ ...busy, retryAfterMs: 7000 }, 1, DEFAULT_RETRY, middle)).toEqual({
      retry: true,
      delayMs: 7000,
    });
  });

  it('is tried again at once when the provider named a time that is over', () => {
    expect(decideRetry({ ...busy, retryAfterMs: -50 }, 1, DEFAULT_RETRY, middle)).toEqual({ retry: true, delayMs: 0 });
  });

  it('is given up, with a word, when the provider asks for a day', () => {
    const decision = decideRetry({ ...busy, retryAfterMs: 86_400_000 }, 1, DEFAULT_RETRY, middle);
    expect(decision).toMatchObject({ retry: false, why: expect.stringContaining('86400 s') as string });
  });

  it('is not tried again when trying again does not help', () => {
    expect(decideRetry({ ...busy, retryable: false }, 1, DEFAULT_RETRY, middle)).toEqual({ retry: false });
  });

  it('is tried again after the user saw text of it, unless that is not wanted', () => {
    const saw = { sawText: true, random: 0.5 };
    expect(decideRetry(busy, 1, DEFAULT_RETRY, saw)).toMatchObject({ retry: true });
    expect(decideRetry(busy, 1, { ...DEFAULT_RETRY, afterText: false }, saw)).toEqual({ retry: false });
  });
});
