import type { Agent } from '../agent/agent.ts';
import type { DurableEventBody, RunEnd } from '../events/events.ts';
import type { RunState, SessionState } from './state.ts';
import type { Step } from './step.ts';

/** What decides about the next turn. */
export interface BetweenTurns {
  readonly state: SessionState;
  readonly run: RunState;
  readonly agent: Agent;
  readonly now: number;
  /** How the last turn came out; null before the first. */
  readonly last: RunState['last'];
}

/** What a gate at the end of a run says: do this first, go on with these messages, or end it otherwise. */
export type FinishGate =
  | { readonly type: 'first'; readonly step: Step }
  | { readonly type: 'go_on'; readonly messages: readonly DurableEventBody[] }
  | { readonly type: 'end'; readonly end: RunEnd; readonly message: string };
