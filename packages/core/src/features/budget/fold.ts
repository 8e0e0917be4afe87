import type { EventOf, Fold } from '../../kernel/fold.ts';
import { openRun } from '../../kernel/reduce/open.ts';
import { asBudgetDecision } from '../../kernel/services/money.ts';
import { isForSummary } from '../../kernel/services/summary-key.ts';
import type { RunState, SessionState } from '../../kernel/state.ts';

export const budgetFold: Fold = {
  after(state, event) {
    switch (event.type) {
      case 'decision_made':
        if (event.kind === 'budget') decided(state, event);
        return;
      case 'budget_settled':
        state.settled = { key: event.key, cost: event.cost, basis: event.basis };
        return foldSettlement(openRun(state, event), event);
      case 'tool_ended':
        if (event.childSpent !== undefined) openRun(state, event).limits.spent += event.childSpent;
        return;
      case 'session_created':
        // Of a fork: both are the parent's to tell its ledger of.
        state.settled = null;
        if (state.run) state.run.limits.reservation = null;
        return;
      default:
    }
  },
};

function decided(state: SessionState, event: EventOf<'decision_made'>): void {
  if (!state.run?.turn) return;
  foldReservation(state.run, event);
  // The call is this drive's to make, whoever began the turn.
  state.run.turn.epoch = state.epoch;
}

/** Money was set aside for the open call, or for a summary that is written before it. */
function foldReservation(run: RunState, { key, decision }: EventOf<'decision_made'>): void {
  if (isForSummary(key)) run.limits.summaries += 1;
  const decided = asBudgetDecision(decision);
  if (decided.granted) run.limits.reservation = { key, reserved: decided.reserved };
}

function foldSettlement(run: RunState, { cost, basis }: EventOf<'budget_settled'>): void {
  run.limits.reservation = null;
  run.limits.spent += cost;
  if (basis === 'streamed') run.limits.overspent = true;
}
