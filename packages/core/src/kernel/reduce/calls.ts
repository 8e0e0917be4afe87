import type { DurableEvent } from '../../events/events.ts';
import type { ToolResultContent } from '../../messages/content.ts';
import { callOf, consume, openRun, openTurn } from './open.ts';
import { foldFinishedTurn } from '../../features/limits/fold.ts';
import type { SessionState } from '../state.ts';

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>;

/** The call runs, here or at the client. */
export function toolStarted(state: SessionState, event: EventOf<'tool_started'>): void {
  const call = callOf(state, event);
  call.status = 'started';
  call.epoch = state.epoch;
  // A skipped call was never tried.
  if (event.skipped) call.overruled = true;
  else call.attempt = event.attempt;
  if (event.attempt === 1 && !event.skipped) openRun(state, event).limits.toolCalls += 1;
  if (event.childSessionId !== undefined) {
    call.childSessionId = event.childSessionId;
    if (event.attempt === 1) openRun(state, event).children += 1;
  }
  call.paused = null;
  call.runs = event.runs;
  call.expiresAt = event.expiresAt ?? null;
  call.replay = event.replay;
  call.decision = null;
  call.approvalId = null;
  call.answer = null;
}

/** The call has a result, whatever brought it. */
export function endCall(
  state: SessionState,
  event: EventOf<'tool_ended'> | EventOf<'tool_call_rejected'>,
  content: readonly ToolResultContent[],
  isError: boolean,
): void {
  const run = openRun(state, event);
  const turn = openTurn(state, event);
  const call = callOf(state, event);
  if (call.status !== 'ended') turn.ended += 1;
  call.status = 'ended';
  if (event.type === 'tool_ended' && event.reads) call.reads = event.reads;
  call.paused = null;
  if (event.type === 'tool_ended' && event.childSpent !== undefined) run.limits.spent += event.childSpent;
  if (event.type === 'tool_call_rejected' && OVERRULED.has(event.reason)) call.overruled = true;
  if (event.type === 'tool_call_rejected' && event.reason === 'limit') run.limits.callsUsedUp = true;
  call.result = {
    role: 'tool',
    id: `result_${event.callId}`,
    at: event.at,
    callId: event.callId,
    toolName: event.toolName,
    content,
    isError,
  };
  if (turn.ended === turn.calls.length && turn.message) foldFinishedTurn(run, turn, turn.message);
}

const OVERRULED: ReadonlySet<string> = new Set(['cancelled', 'limit', 'too_many_calls']);

/** Somebody is asked whether it may run. */
export function approvalRequested(state: SessionState, event: EventOf<'approval_requested'>): void {
  const call = callOf(state, event);
  call.approvalId = event.approvalId;
  call.askedArguments = event.arguments;
  call.asked += 1;
  call.expiresAt = event.expiresAt ?? null;
  call.decision = null;
  call.answer = null;
}

/** They have answered. */
export function approvalAnswered(state: SessionState, event: EventOf<'approval_answered'>): void {
  consume(state, event.inputSeq);
  const call = state.run?.turn?.calls.find(({ approvalId }) => approvalId === event.approvalId);
  if (!call) return;
  call.decision = event.decision;
  call.decisionMessage = event.message ?? null;
  const { updatedInput, updatedPermissions, interrupt } = event;
  call.answer = {
    ...(updatedInput === undefined ? {} : { updatedInput }),
    ...(updatedPermissions === undefined ? {} : { updatedPermissions }),
    ...(interrupt === undefined ? {} : { interrupt }),
  };
}
