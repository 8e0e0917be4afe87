import type { Agent } from '../../agent/agent.ts';
import type { RunState, SessionState, TurnState } from '../state.ts';

/** What stands between calls and their start. */
export interface CallGate {
  readonly state: SessionState;
  readonly run: RunState;
  readonly turn: TurnState;
  readonly agent: Agent;
  readonly now: number;
}
