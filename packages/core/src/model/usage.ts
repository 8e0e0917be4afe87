/**
 * Why a model stopped. `stop`: it was done. `length`: its output limit. `tool_use`: it wants tools. `pause`: the provider
 * asks to be called again as it is. `refusal` and `content_filter` are not successes. `other`: a word we don't know.
 */
export type StopReason =
  'stop' | 'length' | 'tool_use' | 'pause' | 'refusal' | 'content_filter' | 'error' | 'aborted' | 'other';

/** Token counts. `null` means the provider didn't say: unknown is not zero. `input` excludes cached tokens. */
export interface Usage {
  readonly input: number | null;
  readonly output: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  /** Part of `cacheWrite` that is kept for an hour, where the provider says so. */
  readonly cacheWrite1h?: number;
  /** Part of `output` spent on reasoning. */
  readonly reasoning: number | null;
}

/** Usage of which nothing is known. */
export const UNKNOWN_USAGE: Usage = Object.freeze({
  input: null,
  output: null,
  cacheRead: null,
  cacheWrite: null,
  reasoning: null,
});

/** Usage of something that asked no model. */
export const NO_USAGE: Usage = Object.freeze({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 });

/** A usage as part of a sum. Zero tokens say nothing about counts that the other parts don't know. */
export const asPart = (usage: Usage): Usage => (totalTokens(usage) === 0 ? UNKNOWN_USAGE : usage);

/** Whether a ledger may rely on it. A price function may take an unknown count for none. */
export const isCounted = ({ input, output }: Usage): boolean => input !== null && output !== null;

const add = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b);

/** The sum of two usages; an unknown count doesn't erase a known one. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: add(a.input, b.input),
    output: add(a.output, b.output),
    cacheRead: add(a.cacheRead, b.cacheRead),
    cacheWrite: add(a.cacheWrite, b.cacheWrite),
    reasoning: add(a.reasoning, b.reasoning),
    ...(a.cacheWrite1h === undefined && b.cacheWrite1h === undefined
      ? {}
      : { cacheWrite1h: (a.cacheWrite1h ?? 0) + (b.cacheWrite1h ?? 0) }),
  };
}

/** All tokens of a usage; unknown counts as nothing. `reasoning` is part of `output`. */
export function totalTokens(usage: Usage): number {
  return (usage.input ?? 0) + (usage.output ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
}

/**
 * The share of a prompt that came out of the provider's cache, from 0 to 1, or null when it wasn't counted or there was no
 * prompt. A provider that doesn't count what it writes to its cache counts that as input.
 *
 * For one message, give its `usage`; a run's is in its result, which knows whether all of its messages were counted.
 *
 * @example
 * ```ts
 * import { cacheHitRate } from '@treadle/core/model';
 *
 * console.log(cacheHitRate({ input: 100, output: 20, cacheRead: 900, cacheWrite: 0, reasoning: null })); // 0.9
 * console.log(cacheHitRate({ input: 100, output: 20, cacheRead: null, cacheWrite: null, reasoning: null })); // null
 * ```
 */
export function cacheHitRate(usage: Usage): number | null {
  const { input, cacheRead, cacheWrite } = usage;
  if (input === null || cacheRead === null) return null;
  const prompt = input + cacheRead + (cacheWrite ?? 0);
  return prompt === 0 ? null : cacheRead / prompt;
}
