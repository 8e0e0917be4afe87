import type { PendingCall } from '../events/events.ts';
import { resultsProblem, waitsForOthers } from './plan-calls.ts';
import { isAsked } from './plan-permission.ts';
import { waitingRuns, type SessionState } from './state.ts';

/** `idle`: no run is open. `paused`: the run waits for a client's results or a person's answers. */
export type SessionStatus = 'idle' | 'running' | 'paused';

/** What a session is at, as far as its events have been folded. */
export function sessionStatus(state: SessionState): SessionStatus {
  if (state.run === null) return waitingRuns(state).length > 0 ? 'running' : 'idle';
  return waitsForOthers(state.run.turn) ? 'paused' : 'running';
}

/** The calls that the open run waits for: a client's to run, and those that a person is asked about (`approvalId`). */
export function pendingCalls({ run }: SessionState): PendingCall[] {
  return (run?.turn?.calls ?? []).flatMap((call): PendingCall[] => {
    const { callId, name: toolName, arguments: args, approvalId } = call;
    if (isAsked(call) && approvalId !== null) {
      return [{ callId, toolName, arguments: call.askedArguments ?? args, approvalId }];
    }
    if (call.status === 'started' && call.paused?.woken === false) return [...call.paused.pending];
    return call.status === 'started' && call.runs === 'client' ? [{ callId, toolName, arguments: args }] : [];
  });
}

/** Why these results can't be taken by the open run, which wants those of all its client tools and no others; null when they can. */
export const clientResultsProblem = (
  state: SessionState,
  results: readonly { readonly callId: string }[],
): string | null =>
  resultsProblem(
    pendingCalls(state).filter(({ approvalId }) => approvalId === undefined),
    results,
  );
