import type { EventOf, Fold } from '../../kernel/fold.ts';
import type { SessionState } from '../../kernel/state.ts';
import { asPermissionDecision } from './decision.ts';
import { applyUpdate } from './updates.ts';

export const permissionsFold: Fold = {
  after(state, event) {
    if (event.type === 'decision_made') {
      if (event.kind === 'permission') decided(state, event);
    } else if (event.type === 'input_received' && event.input.type === 'permission_updates') {
      for (const update of event.input.updates) state.permissions = applyUpdate(state.permissions, update);
    }
  },
};

/** What was decided takes effect: on the call, on what the session may do, on the run. */
function decided(state: SessionState, { runId, callId, decision }: EventOf<'decision_made'>): void {
  const said = asPermissionDecision(decision);
  for (const update of said.updates ?? []) state.permissions = applyUpdate(state.permissions, update);
  const { run } = state;
  if (run === null || run.runId !== runId) return;
  const call = run.turn?.calls.find((each) => each.callId === callId);
  if (call && said.arguments) call.arguments = said.arguments;
  if (said.waitedMs !== undefined) run.activeMs = Math.max(0, run.activeMs - said.waitedMs);
  if (said.interrupt === true) run.stop = { reason: said.reason };
}
