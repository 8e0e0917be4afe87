import type { AssistantMessage, Message } from './message.ts';
import type { Usage } from '../model/usage.ts';
import { estimateMessage } from './estimate.ts';

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

type Estimator = (message: Message) => number;

/** How far a view without reports has been summed up. Views only grow, until they are replaced. */
const sums = new WeakMap<readonly Message[], { count: number; tokens: number }>();

/**
 * The tokens the next request would have. Counts what the provider has reported as it was reported, and estimates only
 * what came after; without a report it keeps a running sum. What it costs grows with what is new.
 *
 * @param frameTokens The estimate of system prompt and tools, for a view without a report.
 */
export function measureView(
  view: readonly Message[],
  anchor: ViewAnchor,
  frameTokens: number,
  estimate: Estimator = estimateMessage,
): number {
  if (anchor.tokens !== null) {
    let { tokens } = anchor;
    for (let index = anchor.count; index < view.length; index++) tokens += weigh(view[index], estimate);
    return tokens;
  }
  let sum = sums.get(view);
  if (!sum || sum.count > view.length) sums.set(view, (sum = { count: 0, tokens: 0 }));
  for (; sum.count < view.length; sum.count++) sum.tokens += weigh(view[sum.count], estimate);
  return frameTokens + sum.tokens;
}

const weigh = (message: Message | undefined, estimate: Estimator): number => (message ? estimate(message) : 0);
