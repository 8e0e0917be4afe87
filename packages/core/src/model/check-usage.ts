import { UNKNOWN_USAGE, type Usage } from './usage.ts';

/** Something about a reply that doesn't look right and doesn't stop the run. */
export interface ModelWarning {
  /** Stable: `usage_invalid`, `prompt_truncated`, `call_cut_off`, `cache_missed`. */
  readonly code: string;
  readonly message: string;
  /** With `cache_missed`: the first byte of the request, without its cache marks, that differs from the one before. */
  readonly at?: number;
}

/** Tokens that no call has: over ten times the largest context window there is. */
const MOST_TOKENS = 100_000_000;

/** A usage that may be relied on. */
export interface CheckedUsage {
  readonly usage: Usage;
  readonly warning: ModelWarning | null;
}

/**
 * Checks the counts that a provider reports. Where one can't be true, or two contradict each other, nobody knows which of
 * them is wrong: all become unknown. Unknown counts are settled at their worst case, never at nothing.
 *
 * @example
 * ```ts
 * import { checkUsage } from '@treadle/core/model';
 *
 * const { usage, warning } = checkUsage({ input: -5, output: 20, cacheRead: 15, cacheWrite: null, reasoning: null });
 * console.log(usage.output, warning?.code); // null usage_invalid
 * ```
 */
export function checkUsage(usage: Usage): CheckedUsage {
  const { input, output, cacheRead, cacheWrite, reasoning } = usage;
  const counts = [input, output, cacheRead, cacheWrite, reasoning];
  if (counts.every(isCount) && (reasoning ?? 0) <= (output ?? Infinity)) return { usage, warning: null };
  const told = `${input} of input, ${cacheRead} from the cache, ${cacheWrite} to it, ${output} of output, ${reasoning} of reasoning`;
  const message = `The provider reports token counts that can't be true, and they are not counted: ${told}.`;
  return { usage: UNKNOWN_USAGE, warning: { code: USAGE_INVALID, message } };
}

/** Whether what a reply used is known. */
export const isUsageValid = (warnings: readonly ModelWarning[] = []): boolean =>
  warnings.every(({ code }) => code !== USAGE_INVALID);

const USAGE_INVALID = 'usage_invalid';

/** A model may be anybody's: its types are only promises. */
const isCount = (value: unknown): boolean =>
  value === null || (Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MOST_TOKENS);
