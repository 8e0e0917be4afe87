import type { Agent } from '../../agent/agent.ts';
import type { SessionState } from '../state.ts';

/** The id that the agent's next run in this session will have. */
export function nextRunId(state: SessionState, { configSegment }: Agent): { runId: string; ordinal: number } {
  const ordinal = (state.ordinals.get(configSegment) ?? 0) + 1;
  return { runId: `${state.sessionId}.${configSegment}.${ordinal}`, ordinal };
}

/** Which configuration's run an id names, and its number: the inverse of `nextRunId`. */
export function partsOfRunId(sessionId: string, runId: string): { configSegment: string; ordinal: number } {
  const end = runId.lastIndexOf('.');
  return { configSegment: runId.slice(sessionId.length + 1, end), ordinal: Number(runId.slice(end + 1)) };
}
