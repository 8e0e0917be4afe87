import type { Clock } from '@treadle/core';

/** Requests a second on the average, and how many may come at once. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** What is left of a limit at a time. */
export interface Bucket {
  readonly left: number;
  readonly at: number;
  /** Milliseconds until the next request may come; 0 when the last one might. */
  readonly waitMs: number;
}

/** A bucket after another request. */
export function taken(bucket: Bucket | null | undefined, now: number, { perSecond, burst }: RateLimit): Bucket {
  const { left, at } = bucket ?? { left: burst, at: now };
  const filled = Math.min(burst, left + (Math.max(0, now - at) / 1000) * perSecond);
  if (filled < 1) return { left: filled, at: now, waitMs: Math.ceil(((1 - filled) / perSecond) * 1000) };
  return { left: filled - 1, at: now, waitMs: 0 };
}

/** Those whose buckets are full again are forgotten when there are more than this. */
const MOST_KNOWN = 10_000;

/** A bucket for each key that fills up again with time. */
export function rateLimiter(clock: Clock, usual: RateLimit) {
  const buckets = new Map<string, Bucket & RateLimit>();

  function forgetFull(now: number): void {
    for (const [key, { left, at, perSecond, burst }] of buckets) {
      if (left + ((now - at) / 1000) * perSecond >= burst) buckets.delete(key);
    }
    // Everybody is busy: the oldest go, so that memory stays bounded.
    for (const key of buckets.keys()) {
      if (buckets.size <= MOST_KNOWN) break;
      buckets.delete(key);
    }
  }

  return {
    /** Milliseconds until another request may come; 0 when this one may. */
    take(key: string, { perSecond, burst }: RateLimit = usual): number {
      const now = clock.now();
      const bucket = taken(buckets.get(key), now, { perSecond, burst });
      buckets.set(key, { ...bucket, perSecond, burst });
      if (buckets.size > MOST_KNOWN) forgetFull(now);
      return bucket.waitMs;
    },
  };
}
