import { typedPending, type PendingCall } from '../../events/tool-events.ts';
import { isPending, pendingCall, isAsked } from '../../kernel/services/pending.ts';
import { waitsForOthers } from '../../kernel/plan/calls.ts';
import { waitingRuns, type SessionState } from '../../kernel/state.ts';

/** `idle`: no run is open. `paused`: the run waits for a client's results or a person's answers. */
export type SessionStatus = 'idle' | 'running' | 'paused';

/** What a session is at, as far as its events have been folded. */
export function sessionStatus(state: SessionState): SessionStatus {
  if (state.run === null) return waitingRuns(state).length > 0 ? 'running' : 'idle';
  return waitsForOthers(state.run.turn) ? 'paused' : 'running';
}

/**
 * The calls that the open run waits for, as far as its events have been folded: a client's to run, those that a person is
 * asked about (`approvalId`), and what its sub-agents wait for (`sessionId`).
 */
export const pendingCalls = ({ run }: SessionState): PendingCall[] =>
  (run?.turn?.calls ?? []).flatMap((call): readonly PendingCall[] => {
    if (isAsked(call) || isPending(call)) return [pendingCall(call)];
    return call.status === 'started' && call.paused?.woken === false ? call.paused.pending.map(typedPending) : [];
  });
