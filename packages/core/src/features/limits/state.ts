import type { RunStatus } from '../../events/events.ts';
import type { GuardState } from './guard.ts';
import type { LimitName, LimitsData, SizeLimit } from '../../events/limits.ts';

/** Money that is set aside for the open call. */
export interface Reservation {
  readonly key: string;
  readonly reserved: number;
}

/** What a run has used up, what it was told about that, and how it ends for it: the part of its state that limits are about. */
export interface RunLimits {
  /** The limits that differ from the agent's. */
  readonly own: LimitsData | null;
  /** Turns in which the model called tools. */
  toolTurns: number;
  /** Calls that were started; another start of one in doubt is not counted. */
  toolCalls: number;
  /** The model wanted more calls than there may be. */
  callsUsedUp: boolean;
  /** US dollars, of calls that money was set aside for. */
  spent: number;
  reservation: Reservation | null;
  /** Summaries that money was set aside for. */
  summaries: number;
  /** A stream had to be stopped, for its money was used up. */
  overspent: boolean;
  /** The limit at which the newest reply was stopped for its size; null for none. */
  stoppedAt: SizeLimit | null;
  /** The limits that the model was told come near. */
  warned: LimitName[];
  /** Set by the one call after a limit: how the run ends then. */
  closing: { readonly status: RunStatus; readonly message: string } | null;
  /** How often the answer that is being given was cut off and went on, and what it said until then. */
  continued: number;
  answered: string;
  /** What tells whether the run gets anywhere; null when nobody looks. */
  guard: GuardState | null;
}
