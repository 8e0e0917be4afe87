import type { Agent } from '../../agent/agent.ts';
import type { EvaluationBudget } from './outcome.ts';
import type { BranchRef } from '../../events/branches.ts';
import type { DurableEvent } from '../../events/events.ts';
import { TreadleError } from '../../errors.ts';
import type { Journal } from '../../journal/journal.ts';
import { asBudgetDecision } from '../../kernel/services/money.ts';
import { runOf, type PerformContext } from '../../kernel/context.ts';
import { limitsOf } from '../../kernel/services/run-limits.ts';
import { createPurse, drawingOn, type Purse } from '../../ports/purse.ts';

/**
 * The money of a run that branches do, for all of them and the judge together: what the run may cost, and the ledger of the
 * session's agent. What the branches have spent before this process began is taken out of it. Null where nothing limits it.
 */
export async function branchesBudget(
  journal: Journal,
  { state, agent, ids }: Pick<PerformContext, 'state' | 'agent' | 'ids'>,
  branches: readonly BranchRef[],
): Promise<EvaluationBudget | null> {
  const run = runOf(state);
  const left = limitsOf(run, agent).maxCost - run.limits.spent;
  const purse = left === Infinity ? null : createPurse(Math.max(0, left));
  if (purse) for (const { sessionId } of branches) await drawBefore(journal, sessionId, purse);
  const { unknownPrice } = agent.budget;
  const ledger = drawingOn(purse, [agent.budget.ledger]);
  return ledger && { ledger, unknownPrice, key: () => `${run.runId}/${ids.create('judge')}` };
}

/** A branch's agent, drawing on the money of its run besides its own. */
export function agentWithin(agent: Agent, budget: EvaluationBudget | null): Agent {
  if (budget === null) return agent;
  return Object.freeze({
    ...agent,
    budget: { ...agent.budget, ledger: drawingOn(null, [budget.ledger, agent.budget.ledger]) },
  });
}

/** Takes what a branch has spent and set aside, its sub-agents included. */
async function drawBefore(journal: Journal, sessionId: string, purse: Purse): Promise<void> {
  let isOwn = false;
  try {
    for await (const event of journal.read(sessionId, 1)) {
      if (isOwn) draw(event, purse);
      else isOwn = event.type === 'session_created' && event.sessionId === sessionId;
    }
  } catch (error) {
    // It has not begun.
    if (!(error instanceof TreadleError) || error.code !== 'session_not_found') throw error;
  }
}

function draw(event: DurableEvent, purse: Purse): void {
  if (event.type === 'budget_settled') purse.settle(event.key, event.cost);
  else if (event.type === 'tool_ended' && event.childSpent !== undefined) purse.settle(event.callId, event.childSpent);
  else if (event.type === 'decision_made' && event.kind === 'budget') {
    const decided = asBudgetDecision(event.decision);
    // What is set aside and not settled may have been spent.
    if (decided.granted && !purse.reserve(event.key, decided.reserved)) purse.settle(event.key, decided.reserved);
  }
}
