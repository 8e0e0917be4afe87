/** Tokens that one result brings into the view at most, unless the agent says otherwise. */
export const DEFAULT_RESULT_TOKENS = 50_000;

/** Tokens that one result may bring into the view of a model with this window; null when it isn't known. */
export const resultTokens = (most: number, window: number | null): number =>
  Math.max(LEAST, Math.floor(Math.min(most, (window ?? ASSUMED_WINDOW) * SHARE_OF_ONE)));

/**
 * The tokens to which the results of a turn are cut: those with fewer stay whole, the others share what these leave. Null
 * when all of them fit.
 *
 * @param sizes Tokens of each result, estimated.
 * @param most Tokens that one of them may have: {@link resultTokens}.
 */
export function fairShare(sizes: readonly number[], most: number, window: number | null): number | null {
  let left = (window ?? ASSUMED_WINDOW) * SHARE_OF_ALL;
  let sharing = sizes.length;
  for (const size of sizes.toSorted((a, b) => a - b)) {
    const share = Math.max(LEAST, Math.min(most, Math.floor(left / sharing)));
    // The sizes only grow: this one and all that follow get the same.
    if (size > share) return share;
    left -= size;
    sharing -= 1;
  }
  return null;
}

/** A model whose window nobody knows: one result is a quarter of it by default. */
const ASSUMED_WINDOW = 4 * DEFAULT_RESULT_TOKENS;

/** What of the window one result may take, and all results of a turn together. */
const SHARE_OF_ONE = 1 / 4;

const SHARE_OF_ALL = 1 / 2;

/** A result keeps so many tokens however many there are: a note says where the rest is. */
const LEAST = 64;
