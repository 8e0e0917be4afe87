import type { DurableEventBody } from '../../events/events.ts';
import type { CallState, RunState, TurnState } from '../state.ts';

export type Rejection = Extract<DurableEventBody, { type: 'tool_call_rejected' }>['reason'];

/** A call gets its result without having run. */
export function rejectCall(
  run: RunState,
  turn: TurnState,
  call: CallState,
  at: number,
  reason: Rejection,
  words: string,
): DurableEventBody {
  return {
    type: 'tool_call_rejected',
    at,
    runId: run.runId,
    turnIndex: turn.index,
    callId: call.callId,
    toolName: call.name,
    reason,
    content: [{ type: 'text', text: words }],
  };
}
