import type { Agent } from '../agent.ts';
import type { RunState, SessionState } from './state.ts';

/** What decides about the next turn. */
export interface BetweenTurns {
  readonly state: SessionState;
  readonly run: RunState;
  readonly agent: Agent;
  readonly now: number;
  /** How the last turn came out; null before the first. */
  readonly last: RunState['last'];
}
