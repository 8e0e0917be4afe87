import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { asBudgetDecision, type BudgetDecision } from '../../kernel/services/money.ts';
import { limitHit, type LimitHit } from '../../kernel/services/limits.ts';
import { limitMessage, endRun } from '../../kernel/plan/run-events.ts';
import { turnEnded } from '../../kernel/plan/turn-events.ts';
import { limitsOf } from '../../kernel/services/run-limits.ts';
import { isForSummary } from '../../kernel/services/summary-key.ts';
import type { RunState, SessionState, TurnState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';

/** The id under which money is set aside for a call: the same in any process, another for each attempt. */
function budgetKey(state: SessionState, run: RunState, turn: TurnState): string {
  const key = `${run.runId}/${turn.index}/${turn.attempt}`;
  // A fork goes on with the run of its parent, and its calls are others.
  return run.runId.startsWith(`${state.sessionId}.`) ? key : `${state.sessionId}/${key}`;
}

/** What was decided about the money of the open call; null when money isn't limited, or nobody has asked yet. */
export function budgetOf(state: SessionState, run: RunState, turn: TurnState): BudgetDecision | null {
  const known = state.decisions.get(budgetKey(state, run, turn));
  return known ? asBudgetDecision(known.answer) : null;
}

/** Whether money is set aside before each call of the run. */
export const isMoneyLimited = (run: RunState, agent: Agent): boolean =>
  agent.budget.ledger !== null || limitsOf(run, agent).maxCost !== Infinity;

/** Money is set aside before the call, or the run ends; null when the call may be made. */
export function gateBudget(
  state: SessionState,
  run: RunState,
  turn: TurnState,
  agent: Agent,
  now: number,
): Step | null {
  if (!isMoneyLimited(run, agent)) return null;
  const decided = budgetOf(state, run, turn);
  const { runId } = run;
  if (decided === null) {
    const key = budgetKey(state, run, turn);
    return { type: 'decide', questions: [{ type: 'budget', key, runId, turnIndex: turn.index }] };
  }
  if (decided.granted) return null;
  const { closing } = run.limits;
  const hit: LimitHit = { limit: 'cost', status: 'budget_limit', message: decided.message };
  const end = endRun(run, now, closing?.status ?? hit.status, run.last?.stopReason ?? null, {
    message: closing?.message ?? hit.message,
  });
  return {
    type: 'record',
    events: [turnEnded(run, turn, agent, now), ...(closing ? [] : [limitMessage(run, now, hit)]), end],
  };
}

/** The run whose stream had to be stopped, for what it had was used up. */
export function overspent(run: RunState, agent: Agent): LimitHit | null {
  if (!run.limits.overspent) return null;
  const { maxCost } = limitsOf(run, agent);
  if (maxCost !== Infinity) return limitHit('cost', run.limits.spent, maxCost, ' while the model replied');
  return { limit: 'cost', status: 'budget_limit', message: 'budget reached while the model replied' };
}

/** What a reservation came to that no outcome settled: all of it when another drive may have made the call, else nothing. */
export function settleOpen(state: SessionState, run: RunState, at: number): DurableEventBody[] {
  const { reservation } = run.limits;
  if (!reservation) return [];
  const { key, reserved } = reservation;
  // A summary is asked for as soon as there is money for it, and the call of another turn was made.
  const wasMade =
    isForSummary(key) ||
    (run.turn !== null && (run.turn.epoch !== state.epoch || key !== budgetKey(state, run, run.turn)));
  const turnIndex = run.turn?.index ?? run.turns - 1;
  const came = wasMade ? ({ cost: reserved, basis: 'worst_case' } as const) : ({ cost: 0, basis: 'none' } as const);
  return [{ type: 'budget_settled', at, runId: run.runId, turnIndex, key, reserved, ...came }];
}

/** A log that was torn amid what was written at once may have a call's reply and not its settlement. */
export function settleStray(state: SessionState, run: RunState, turn: TurnState, at: number): DurableEventBody[] {
  const { reservation } = run.limits;
  return reservation && reservation.key !== budgetKey(state, run, turn) ? settleOpen(state, run, at) : [];
}

/** No run ends with money set aside. */
export function settleAtEnd(state: SessionState, step: Step, at: number): Step {
  const { run } = state;
  if (!run?.limits.reservation || step.type !== 'record') return step;
  const end = step.events.at(-1);
  if (end?.type !== 'run_ended' || step.events.some(({ type }) => type === 'budget_settled')) return step;
  return { type: 'record', events: [...step.events.slice(0, -1), ...settleOpen(state, run, at), end] };
}
