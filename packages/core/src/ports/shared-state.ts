/** What is kept under a key, and for how long. */
export interface KeptValue<Value> {
  /** JSON. */
  readonly value: Value;
  /** Milliseconds until it is forgotten. */
  readonly forMs: number;
}

/**
 * Small values that all servers of a journal have in common for a while, each under a key: failed logins, used tickets,
 * requests that were made before. What can't be read or written is an error, and the request fails with it.
 */
export interface SharedState {
  /**
   * Replaces what a key has by what `next` makes of it; no other change of the key, by any process, comes in between. `next`
   * gets null where nothing is kept any more, and the time in milliseconds since 1970. It may be called again, so it only
   * computes; null leaves all as it is. Resolves with what the key has then.
   */
  update<Value>(
    key: string,
    next: (before: Value | null, now: number) => KeptValue<Value> | null,
  ): Promise<Value | null>;
}
