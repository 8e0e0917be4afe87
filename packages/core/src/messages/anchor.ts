import type { Usage } from '../model/usage.ts';
import type { AssistantMessage } from './message.ts';

/**
 * What is known of a view's size: its first `count` messages, system prompt and tools included, came to `tokens`. Null
 * before anything was reported; then all of it is estimated.
 */
export interface ViewAnchor {
  readonly count: number;
  readonly tokens: number | null;
}

/** The anchor of a view nobody has counted. */
export const NO_ANCHOR: ViewAnchor = Object.freeze({ count: 0, tokens: null });

/** The tokens of the prompt a usage tells of, cached ones included; null when it doesn't, or says none. */
export function promptTokens({ input, cacheRead, cacheWrite }: Usage): number | null {
  const tokens = (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0);
  return tokens > 0 ? tokens : null;
}

/** What a reply that joins a view of `count` messages says of its size; null when it says nothing. */
export function anchorOf({ usage }: AssistantMessage, count: number): ViewAnchor | null {
  const tokens = promptTokens(usage);
  return tokens === null ? null : { count, tokens };
}
