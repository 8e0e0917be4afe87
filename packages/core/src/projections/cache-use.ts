import type { AssistantMessage } from '../messages/message.ts';

/** What a run made of its providers' prompt caches, in tokens. */
export interface CacheUse {
  /** Read from a cache. */
  readonly read: number;
  /** Written to one. */
  readonly written: number;
  /** Kept by an earlier call of the run, and not read by the next: they lapsed, or the prompt had changed before them. */
  readonly missed: number;
  /** The first byte of a request that differed from the one before, where a hit was expected; null when none did. */
  readonly changedAt: number | null;
}

/** Adds up the cache use of a run, reply by reply. */
export class CacheUseFold {
  #use: CacheUse = { read: 0, written: 0, missed: 0, changedAt: null };
  #expected = 0;
  #by = '';

  readonly result = (): CacheUse => this.#use;

  take({ usage, provider, model, warnings = [] }: AssistantMessage): void {
    const { cacheRead, cacheWrite } = usage;
    if (cacheRead === null) return;
    const { read, written, missed, changedAt } = this.#use;
    const by = `${provider}/${model}`;
    // Another model has a cache of its own.
    const expected = by === this.#by ? this.#expected : 0;
    this.#use = {
      read: read + cacheRead,
      written: written + (cacheWrite ?? 0),
      missed: missed + Math.max(0, expected - cacheRead),
      changedAt: changedAt ?? warnings.find(({ code }) => code === 'cache_missed')?.at ?? null,
    };
    this.#by = by;
    this.#expected = cacheRead + (cacheWrite ?? 0);
  }

  /** The view was made anew: what was kept of it is not expected back. */
  compacted(): void {
    this.#expected = 0;
  }
}
