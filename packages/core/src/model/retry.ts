import type { ModelError } from './model.ts';

/** When a failed model call is tried again. */
export interface RetryPolicy {
  /** Attempts after the first, per model. Default 3. */
  readonly maxRetries: number;
  /** Milliseconds before the first retry. Default 1,000. */
  readonly initialDelayMs: number;
  /** How many times as long each further retry waits. At least 1. Default 2. */
  readonly multiplier: number;
  /** The longest wait of our own choice, in milliseconds. Default 30,000. */
  readonly maxDelayMs: number;
  /** The longest wait a provider may ask for, in milliseconds; when it asks for more, the call fails. Default 120,000. */
  readonly maxRetryAfterMs: number;
  /**
   * Whether a call is tried again after the user has seen text of it: that text is then marked as discarded. With false
   * the text stays, and the run ends with the error. Default true.
   */
  readonly afterText: boolean;
}

/** How failed model calls are retried by default. */
export const DEFAULT_RETRY: RetryPolicy = Object.freeze({
  maxRetries: 3,
  initialDelayMs: 1000,
  multiplier: 2,
  maxDelayMs: 30_000,
  maxRetryAfterMs: 120_000,
  afterText: true,
});

/** What becomes of a failed attempt: a wait in milliseconds, or no retry and, when that isn't obvious, why. */
export type RetryDecision =
  { readonly retry: true; readonly delayMs: number } | { readonly retry: false; readonly why?: string };

/**
 * Decides about a failed attempt. Pure: chance comes in as `random`, a number from 0 to 1 that spreads our own waits by
 * ±20 %. What a provider asks for is taken as it is.
 *
 * @param attempt The attempt that failed, from 1, counted for this model.
 */
export function decideRetry(
  error: ModelError,
  attempt: number,
  policy: RetryPolicy,
  { sawText, random }: { readonly sawText: boolean; readonly random: number },
): RetryDecision {
  if (!error.retryable || attempt > policy.maxRetries) return { retry: false };
  if (sawText && !policy.afterText) return { retry: false };
  if (error.retryAfterMs !== undefined) {
    if (error.retryAfterMs <= policy.maxRetryAfterMs) return { retry: true, delayMs: Math.max(0, error.retryAfterMs) };
    const asked = Math.ceil(error.retryAfterMs / 1000);
    return {
      retry: false,
      why: `The provider asked to wait ${asked} s, more than the ${policy.maxRetryAfterMs / 1000} s that are allowed.`,
    };
  }
  const wait = Math.min(policy.initialDelayMs * policy.multiplier ** (attempt - 1), policy.maxDelayMs);
  return { retry: true, delayMs: Math.round(wait * (0.8 + 0.4 * random)) };
}
