import type { EventOf, Fold } from '../../kernel/fold.ts';
import type { SessionState } from '../../kernel/state.ts';
import { asPermissionDecision, updatesOf } from './decision.ts';
import { applyUpdate } from './updates.ts';

export const permissionsFold: Fold = {
  after(state, event) {
    for (const update of updatesOf(event)) state.permissions = applyUpdate(state.permissions, update);
    if (event.type === 'decision_made' && event.kind === 'permission') decided(state, event);
  },
};

/** What was decided takes effect on the call and on the run. */
function decided(state: SessionState, { runId, callId, decision }: EventOf<'decision_made'>): void {
  const said = asPermissionDecision(decision);
  const { run } = state;
  if (run === null || run.runId !== runId) return;
  const call = run.turn?.calls.find((each) => each.callId === callId);
  if (call && said.arguments) call.arguments = said.arguments;
  if (said.waitedMs !== undefined) run.activeMs = Math.max(0, run.activeMs - said.waitedMs);
  if (said.interrupt === true) run.stop = { reason: said.reason };
}
