import type { EventOf } from '../fold.ts';
import type { ToolResultContent } from '../../messages/content.ts';
import { callOf, openRun, openTurn } from './open.ts';
import type { SessionState } from '../state.ts';

/** The call runs, here or at the client. */
export function toolStarted(state: SessionState, event: EventOf<'tool_started'>): void {
  const call = callOf(state, event);
  call.status = 'started';
  call.epoch = state.epoch;
  // A skipped call was never tried.
  if (event.skipped) call.overruled = true;
  else call.attempt = event.attempt;
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
  delete call.asking;
}

/** The call has a result, whatever brought it. */
export function endCall(
  state: SessionState,
  event: EventOf<'tool_ended'> | EventOf<'tool_call_rejected'>,
  content: readonly ToolResultContent[],
  isError: boolean,
): void {
  const turn = openTurn(state, event);
  const call = callOf(state, event);
  if (call.status !== 'ended') turn.ended += 1;
  call.status = 'ended';
  if (event.type === 'tool_ended' && event.reads) call.reads = event.reads;
  call.paused = null;
  if (event.type === 'tool_call_rejected' && OVERRULED.has(event.reason)) call.overruled = true;
  call.result = {
    role: 'tool',
    id: `result_${event.callId}`,
    at: event.at,
    callId: event.callId,
    toolName: event.toolName,
    content,
    isError,
  };
}

const OVERRULED: ReadonlySet<string> = new Set(['cancelled', 'limit', 'too_many_calls']);
