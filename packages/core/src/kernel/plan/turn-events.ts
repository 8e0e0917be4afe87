import type { Agent } from '../../agent/agent.ts';
import type { Draft } from '../../draft.ts';
import type { DurableEventBody, TurnTrigger } from '../../events/events.ts';
import { estimateMessage } from '../../messages/estimate.ts';
import { fairShare, resultTokens } from '../../messages/result-limits.ts';
import { UNKNOWN_USAGE } from '../../model/model.ts';
import type { RunState, TurnOutcome, TurnState } from '../state.ts';
import { mayRecall, windowOf } from '../services/context-window.ts';
import type { LimitHit } from '../services/limits.ts';
import type { NewRun } from './run-events.ts';

export function turnEnded(run: RunState, turn: TurnState, agent: Agent, at: number): DurableEventBody {
  const usage = turn.message?.usage ?? UNKNOWN_USAGE;
  const ended: Draft<Extract<DurableEventBody, { type: 'turn_ended' }>> = {
    type: 'turn_ended',
    at,
    runId: run.runId,
    turnIndex: turn.index,
    usage,
    cost: turn.message?.cost ?? null,
  };
  const tokens = resultsShare(turn, agent);
  if (tokens !== null) ended.resultsCut = { tokens, recall: mayRecall(agent) };
  return ended;
}

/** The tokens to which the results of a turn must be cut; null when they fit. */
function resultsShare(turn: TurnState, agent: Agent): number | null {
  if (turn.calls.length === 0) return null;
  const sizes: number[] = [];
  for (const { result } of turn.calls) if (result) sizes.push(estimateMessage(result));
  const window = windowOf(agent.context, agent.models[turn.modelIndex] ?? agent.model);
  return fairShare(sizes, resultTokens(agent.maxToolResultTokens, window), window);
}

export function turnStarted(run: NewRun, turnIndex: number, at: number, closing?: LimitHit): DurableEventBody {
  const { runId, modelIndex } = run;
  const started: Draft<Extract<DurableEventBody, { type: 'turn_started' }>> = {
    type: 'turn_started',
    at,
    runId,
    turnIndex,
    triggeredBy: triggerOf(run, turnIndex),
    attempt: 1,
  };
  if (modelIndex !== 0) started.modelIndex = modelIndex;
  if (closing) started.closing = { status: closing.status, message: closing.message };
  return started;
}

/** The priority of the first turn: a branch, then any other continuation, then who called. */
export function triggerOf(run: Pick<RunState, 'continuation' | 'startedBy'>, turnIndex: number): TurnTrigger {
  if (turnIndex > 0) return 'continuation';
  if (run.continuation.kind === 'branch') return 'branch';
  return run.continuation.kind === 'initial' ? run.startedBy : 'continuation';
}

/** The reply came to its end and called no tool. */
export const lacksCall = ({ hadCalls, stopReason }: Pick<TurnOutcome, 'hadCalls' | 'stopReason'>): boolean =>
  !hadCalls && (stopReason === 'stop' || stopReason === 'tool_use' || stopReason === 'other');
