/** Time, injected so that a test owns it. */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
  /**
   * Calls `fn` once after `ms` milliseconds; returns a function that cancels it. A pending timer keeps the process
   * alive, so that a timeout fires even when nothing else is going on, unless it is marked `background`.
   */
  after(ms: number, fn: () => void, options?: { readonly background?: boolean }): () => void;
}

const LONGEST_TIMER = 2_147_483_647;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, fn, options) {
    const timer: unknown = setTimeout(fn, Math.min(ms, LONGEST_TIMER));
    // Node returns an object with `unref`, browsers a number.
    if (options?.background === true) (timer as { unref?: () => void }).unref?.();
    return () => {
      clearTimeout(timer as ReturnType<typeof setTimeout>);
    };
  },
};
