import type { Usage } from '../model/model.ts';

/** A branch, in the order of the configurations. */
export interface BranchRef {
  /** Its session: a fork of the parent's. */
  readonly sessionId: string;
  readonly configId: string;
  /** The run it is. Absent in logs that don't say. */
  readonly runId?: string;
}

/** What a branch came to. */
export interface BranchEnd {
  readonly sessionId: string;
  /** How its run ended; `failed` when it could not be driven. Only `completed` can be selected. */
  readonly status: string;
  readonly usage: Usage;
  /** US dollars, or null when any part is unknown. */
  readonly cost: number | null;
}

/** Durable: branches begin. */
export interface BranchesStarted {
  readonly type: 'branches_started';
  readonly at: number;
  readonly runId: string;
  readonly branches: readonly BranchRef[];
  readonly strategy?: string;
}

/** Durable: one of them is selected. */
export interface BranchesEnded {
  readonly type: 'branches_ended';
  readonly at: number;
  readonly runId: string;
  readonly selectedSessionId: string;
  /** Its place among the branches, from 0. */
  readonly selectedIndex: number;
  readonly evaluationUsage: Usage;
  readonly evaluationCost?: number | null;
  /** What each came to, in the order of the configurations. */
  readonly branches?: readonly BranchEnd[];
}
