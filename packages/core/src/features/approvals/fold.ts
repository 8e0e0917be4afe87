import type { EventOf, Fold } from '../../kernel/fold.ts';
import { callOf, consume } from '../../kernel/reduce/open.ts';
import type { SessionState } from '../../kernel/state.ts';

export const approvalsFold: Fold = {
  after(state, event) {
    if (event.type === 'approval_requested') approvalRequested(state, event);
    else if (event.type === 'approval_answered') approvalAnswered(state, event);
  },
};

/** Somebody is asked whether it may run. */
function approvalRequested(state: SessionState, event: EventOf<'approval_requested'>): void {
  const call = callOf(state, event);
  call.approvalId = event.approvalId;
  call.askedArguments = event.arguments;
  call.question = event.question;
  if (event.suggestions) call.suggestions = event.suggestions;
  else delete call.suggestions;
  call.asked += 1;
  call.expiresAt = event.expiresAt ?? null;
  call.decision = null;
  call.answer = null;
  if (event.key !== undefined) {
    call.asking = { key: event.key, ...(event.state === undefined ? {} : { state: event.state }) };
  }
}

/** They have answered. */
function approvalAnswered(state: SessionState, event: EventOf<'approval_answered'>): void {
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
  if (call.asking === undefined || !state.run) return;
  const { decision, message } = event;
  const said = { ...(message === undefined ? {} : { message }), ...(updatedInput && { input: updatedInput }) };
  call.answers = [...(call.answers ?? []), { ...call.asking, decision, ...said }];
  if (decision === 'reject' && interrupt === true) state.run.stop = { reason: message ?? 'The user ended the run.' };
}
