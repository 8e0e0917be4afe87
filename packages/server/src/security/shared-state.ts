import type { Clock } from '@treadle/core';
import type { KeptValue, SharedState } from '@treadle/core/ports';
import { rateLimiter, taken, type Bucket, type RateLimit } from './rate.ts';

/**
 * The state of a server that shares it with nobody.
 *
 * @param most keys that are kept at most; those changed longest ago go first
 */
export function memoryState(clock: Clock, most = Number.POSITIVE_INFINITY): SharedState {
  const kept = new Map<string, { readonly value: unknown; readonly until: number }>();
  let lookAt = 100;

  function forget(now: number): void {
    if (kept.size > lookAt) {
      for (const [key, { until }] of kept) if (until <= now) kept.delete(key);
      lookAt = 100 + 2 * kept.size;
    }
    for (const oldest of kept.keys()) {
      if (kept.size <= most) break;
      kept.delete(oldest);
    }
  }

  return {
    async update<Value>(
      key: string,
      next: (before: Value | null, now: number) => KeptValue<Value> | null,
    ): Promise<Value | null> {
      const now = clock.now();
      const found = kept.get(key);
      // Whoever names a key knows what it put there.
      const before = found !== undefined && found.until > now ? (found.value as Value) : null;
      const after = next(before, now);
      if (after === null) return before;
      kept.delete(key);
      kept.set(key, { value: after.value, until: now + after.forMs });
      forget(now);
      return after.value;
    },
  };
}

/** The failed logins of an address: here, so that a flood costs others nothing, and then those at all servers together. */
export function loginLimiter(clock: Clock, limit: RateLimit, shared: SharedState | undefined) {
  const here = rateLimiter(clock, limit);
  const forMs = Math.ceil((limit.burst / limit.perSecond) * 1000);
  return {
    /** Milliseconds until another one may come; 0 when this one may. */
    async take(address: string): Promise<number> {
      const waitMs = here.take(address);
      if (waitMs > 0 || shared === undefined) return waitMs;
      const bucket = await shared.update<Bucket>(`login:${address}`, (before, now) => ({
        value: taken(before, now, limit),
        forMs,
      }));
      return bucket?.waitMs ?? 0;
    },
  };
}
