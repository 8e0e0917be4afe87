/** Hard caps of a run. `Infinity` switches one off. Each but `maxCallsPerTurn` ends the run with a reason of its own. */
export interface Limits {
  /** Model calls; attempts at the same turn count once. Default 50. */
  readonly maxTurns: number;
  /** Turns in which the model called tools. Default: none. */
  readonly maxToolTurns: number;
  /** Tool calls that were started. A model that has used them up may still answer. Default: none. */
  readonly maxToolCalls: number;
  /** Tool calls of one reply. The others are answered as not executed, and the run goes on. Default 128. */
  readonly maxCallsPerTurn: number;
  /** Tokens in and out, cached ones included. Default 1,000,000. */
  readonly maxTotalTokens: number;
  /** Milliseconds of driven time; time spent paused or without a process doesn't count. Default 600,000. */
  readonly maxDurationMs: number;
  /** US dollars. The worst case is set aside before each call, so that no call begins that could cost more. Default: none. */
  readonly maxCost: number;
  /** Characters of one reply: its text, its thinking and its arguments. Default 16,000,000. */
  readonly maxReplyLength: number;
  /** Characters of one block of thinking. Default 16,000,000. */
  readonly maxThinkingLength: number;
  /** Characters of the arguments of one tool call. Default 8,000,000. */
  readonly maxArgumentsLength: number;
  /** The fraction of a limit at which the model is told that it comes near, once for each. Default 0.8. */
  readonly warnAt: number;
}

/** A limit of what a run uses up, by what it counts. */
export type UseLimit = 'turns' | 'tool_turns' | 'tool_calls' | 'tokens' | 'time' | 'cost';

/** A limit of the size of one reply, by what it measures. */
export type SizeLimit = 'reply' | 'thinking' | 'arguments';

/** A limit that a run can reach. */
export type LimitName = UseLimit | SizeLimit;

/** Limits of one run as they stand in the log: null is off. */
export type LimitsData = { readonly [Name in keyof Limits]?: number | null };

/** What a run does when it gets nowhere. */
export type LoopPattern = 'repeated_calls' | 'repeated_error' | 'empty_answer' | 'cycle';
