import type { UnknownPrice } from '../../model/price.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { RunStatus } from '../../events/events.ts';
import type { Message } from '../../messages/message.ts';
import type { Usage } from '../../model/usage.ts';
import type { Clock } from '../../ports/clock.ts';

/** What one branch came to. */
export interface BranchOutcome {
  /** Its place among the branches, from 0. */
  readonly index: number;
  readonly sessionId: string;
  readonly configId: string;
  /** Null when no run began. */
  readonly runId: string | null;
  /** How its run ended; `failed` when it could not be driven, `paused` when it waits for somebody. */
  readonly status: RunStatus | 'failed' | 'paused';
  /** Why it isn't `completed`, in words. */
  readonly message: string | null;
  readonly text: string;
  /** All it added to the history, oldest first. */
  readonly messages: readonly Message[];
  readonly turns: number;
  readonly usage: Usage;
  readonly cost: number | null;
  /** Its own copy of the files; null without one. */
  readonly folder: string | null;
}

/** The money that branches and their judge share. */
export interface EvaluationBudget {
  readonly ledger: Ledger;
  /** What becomes of a call whose price is unknown. */
  readonly unknownPrice: UnknownPrice;
  /** An id for one more call. */
  readonly key: () => string;
}

/** What a strategy may look at, and use. */
export interface EvaluationContext {
  /** What was asked: the prompt, or the last thing the user had said. */
  readonly query: string;
  /** The conversation before the branches. */
  readonly history: readonly Message[];
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Where money is limited: a judge sets aside what asking can cost, and isn't asked when there is too little. */
  readonly budget?: EvaluationBudget | null;
  /** Tells people of something that is not as it should be. */
  warn(message: string): void;
}

/** What a strategy has chosen. */
export interface Evaluation {
  /** The place of the branch among all, from 0: `index` of its outcome. */
  readonly selectedIndex: number;
  /** What choosing took. Absent when no model was asked. */
  readonly usage?: Usage;
  readonly cost?: number | null;
  /** Why, in words. */
  readonly reason?: string;
}

/** Chooses one of the branches that came to an answer. */
export interface BranchStrategy {
  /** For the log. */
  readonly name: string;
  /** `outcomes` are those that completed, in order, at least one. What it throws ends the group's run. */
  evaluate(outcomes: readonly BranchOutcome[], context: EvaluationContext): Promise<Evaluation> | Evaluation;
}
