import type { Clock } from '@treadle/core';

/** Requests a second on the average, and how many may come at once. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket extends RateLimit {
  left: number;
  at: number;
}

/** Those whose buckets are full again are forgotten when there are more than this. */
const MOST_KNOWN = 10_000;

/** A bucket for each key that fills up again with time. */
export function rateLimiter(clock: Clock, usual: RateLimit) {
  const buckets = new Map<string, Bucket>();

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
      const bucket = buckets.get(key) ?? { left: burst, at: now, perSecond, burst };
      bucket.left = Math.min(burst, bucket.left + (Math.max(0, now - bucket.at) / 1000) * perSecond);
      bucket.at = now;
      buckets.set(key, bucket);
      if (buckets.size > MOST_KNOWN) forgetFull(now);
      if (bucket.left < 1) return Math.ceil(((1 - bucket.left) / perSecond) * 1000);
      bucket.left -= 1;
      return 0;
    },
  };
}
