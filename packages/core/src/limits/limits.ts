import type { JsonObject } from '../json.ts';

/** Hard caps of a run. `Infinity` switches one off. Each ends the run with a reason of its own. */
export interface Limits {
  /** Model calls. Default 50. */
  readonly maxTurns: number;
  /** Tokens in and out, cached ones included. Default 1,000,000. */
  readonly maxTotalTokens: number;
  /** Milliseconds of driven time; time spent paused or without a process doesn't count. Default 600,000. */
  readonly maxDurationMs: number;
}

export const DEFAULT_LIMITS: Limits = Object.freeze({
  maxTurns: 50,
  maxTotalTokens: 1_000_000,
  maxDurationMs: 600_000,
});

/** Limits as JSON data, where `Infinity` has no spelling: a limit that is off is left out. */
export function limitsAsData(limits: Limits): JsonObject {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => Number.isFinite(value)));
}
