import type { CompactionStrategy } from './phase.ts';
import { blockOverlay, summarise, type OverlayOptions, type SummariseOptions } from './summary/summarise.ts';
import { condenseReplies, dropOldest, dropThinking, removeResults, truncateResults } from './transforms.ts';

// The ready-made strategies. Each is a list of phases; a strategy of your own is one too.

/**
 * A model writes a summary of everything but the newest turns. Summaries accumulate; should they, with the turns that
 * stay, be too much, the oldest messages go.
 */
export function summarising(options: SummariseOptions = {}): CompactionStrategy {
  return { name: 'summarising', phases: [summarise(options)] };
}

/** Options of {@link threeTiers}. */
export interface ThreeTiersOptions {
  /** Lines of a tool result. Default 50. */
  readonly maxLines?: number;
  /** Messages at the beginning that stay. Default 2. */
  readonly keepFirst?: number;
  /** Messages at the end that stay. Default 10. */
  readonly keepRecent?: number;
}

/**
 * Three tiers, each only when the one before wasn't enough: long tool results are cut to their first and last lines; old
 * replies become short notes; everything between the first and the newest messages goes, and at last the newest go too,
 * oldest first. No model is asked.
 */
export function threeTiers(options: ThreeTiersOptions = {}): CompactionStrategy {
  const { maxLines = 50, keepFirst = 2, keepRecent = 10 } = options;
  return {
    name: 'three_tiers',
    phases: [
      truncateResults({ maxLines }),
      condenseReplies({ keepRecent }),
      dropOldest({ keepFirst, keepRecent, middle: 'all' }),
      dropOldest(),
    ],
  };
}

/** Options of {@link slidingWindow}. */
export interface SlidingWindowOptions {
  /** Characters of an old tool result. Default 2,000. */
  readonly maxLength?: number;
  /** Newest tool results that stay as they are. Default 10. */
  readonly keepResults?: number;
  /** Messages at the beginning that stay. Default 1. */
  readonly keepFirst?: number;
  /** Messages at the end that stay. Default 20. */
  readonly keepRecent?: number;
}

/**
 * Four phases, each only when the one before wasn't enough: reasoning goes; old tool results are cut to their beginning
 * and end; old tool results go; the messages between the first and the newest go. No model is asked.
 */
export function slidingWindow(options: SlidingWindowOptions = {}): CompactionStrategy {
  const { maxLength = 2000, keepResults = 10, keepFirst = 1, keepRecent = 20 } = options;
  return {
    name: 'sliding_window',
    phases: [
      dropThinking(),
      truncateResults({ maxLength, keepRecent: keepResults }),
      removeResults({ keepRecent: keepResults }),
      dropOldest({ keepFirst, keepRecent, middle: 'all' }),
    ],
  };
}

/** Drops the oldest messages until the rest fits. No model is asked. */
export function pruneOldest(): CompactionStrategy {
  return { name: 'prune_oldest', phases: [dropOldest()] };
}

/**
 * Earlier runs show only a summary each, and the current one its first turns, a summary of what is between, and its
 * newest turns. A model writes the summaries.
 */
export function blockOverlays(options: OverlayOptions = {}): CompactionStrategy {
  return { name: 'block_overlays', phases: [blockOverlay(options)] };
}

/** What is done unless the agent says otherwise: a summary; if there can't be one, the four phases; then the oldest go. */
export const DEFAULT_STRATEGIES: readonly CompactionStrategy[] = Object.freeze([
  /* @__PURE__ */ summarising(),
  /* @__PURE__ */ slidingWindow(),
  /* @__PURE__ */ pruneOldest(),
]);
