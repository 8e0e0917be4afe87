import { errorText } from '../../../errors.ts';
import { callPrice, costOf } from '../../../model/price.ts';
import type { Model } from '../../../model/model.ts';
import type { Usage } from '../../../model/usage.ts';
import type { PerformContext } from '../../../kernel/context.ts';
import { limitsOf } from '../../../kernel/services/run-limits.ts';
import { summaryKey } from '../../../kernel/services/summary-key.ts';

/** Money that is set aside for one call of a summary's model. */
export interface SummaryMoney {
  /** Says what the call used: nothing when it never began (null), all that was set aside when nobody knows. */
  settle(usage: Usage | null): Promise<void>;
}

const FREE: SummaryMoney = { settle: () => Promise.resolve() };

/** Sets aside the most that a summary can cost, as before any other call of a model; or says why it isn't to be made. */
export async function payForSummary(
  context: PerformContext,
  model: Model,
  { prompt, output }: { readonly prompt: number; readonly output: number },
): Promise<SummaryMoney | { readonly problem: string }> {
  const { agent, state, clock, log } = context;
  const { run } = state;
  const { ledger, unknownPrice } = agent.budget;
  const { childRunner } = context;
  const left = run
    ? limitsOf(run, agent).maxCost - run.limits.spent - childRunner.held(run.runId)
    : Number.POSITIVE_INFINITY;
  if (ledger === null && left === Number.POSITIVE_INFINITY) return FREE;
  const amount = callPrice(model, unknownPrice)(prompt, output);
  if (amount === null) {
    return { problem: `The price of ${model.provider}/${model.id} is unknown, and money is limited.` };
  }
  const tooDear = { problem: `A summary could cost $${amount.toFixed(4)}, and there is less left.` };
  if (amount > left) return tooDear;
  const key = run ? summaryKey(run.runId, run.limits.summaries) : summaryKey(state.sessionId, state.seq);
  childRunner.claim(key, amount);
  let reserved = amount;
  try {
    await context.ledgerHeard();
    const outcome = await ledger?.reserve(key, amount);
    if (outcome?.granted === false) return tooDear;
    // Under an id that held money before, it may be another amount.
    if (outcome) reserved = outcome.amount;
  } catch (thrown) {
    return { problem: `The ledger failed: ${errorText(thrown)}` };
  }
  const place = run && { runId: run.runId, turnIndex: run.turn?.index ?? 0, key };
  if (place) {
    const decision = { granted: true, reserved, maxTokens: output };
    await log.record([{ type: 'decision_made', at: clock.now(), kind: 'budget', ...place, decision }]);
  }
  return {
    async settle(usage) {
      const known = usage === null ? 0 : costOf(model, unknownPrice, usage);
      const cost = known ?? reserved;
      // The drive tells the ledger what the log says. Outside of a run there is nothing to say it to.
      if (!place) return ledger?.settle(key, cost);
      const basis = known === null ? 'worst_case' : usage === null ? 'none' : 'usage';
      await log.record([{ type: 'budget_settled', at: clock.now(), ...place, reserved, cost, basis }]);
    },
  };
}
