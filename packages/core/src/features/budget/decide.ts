import { estimateFrame, measureView } from '../../messages/estimate-frame.ts';
import { replyLimit } from '../../messages/prompt-size.ts';
import { errorText } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import type { BudgetDecision } from '../../kernel/services/money.ts';
import { affordableOutput, ASSUMED_OUTPUT_TOKENS, callPrice, type CallPrice } from '../../model/price.ts';
import { thinkingTokens } from '../../model/thinking.ts';
import { limitHit } from '../../kernel/services/limits.ts';
import type { PerformContext } from '../../kernel/context.ts';
import { limitsOf } from '../../kernel/services/run-limits.ts';
import type { Question } from '../../kernel/services/question.ts';
import type { RunState } from '../../kernel/state.ts';

type BudgetQuestion = Extract<Question, { type: 'budget' }>;

/** How often a smaller part of what is left is tried when others are faster. Each time there is less. */
const MOST_TRIES = 8;

/** What a call would be, in money. */
interface Wanted {
  readonly price: CallPrice;
  readonly prompt: number;
  /** Output tokens, those for thinking included. */
  readonly output: number;
  readonly thinking: number;
  /** Output tokens below which the call isn't worth making. */
  readonly least: number;
}

/** Sets the most that the open call can cost aside, as much of it as there is, or says why it isn't to be made. */
export async function reserveBudget(
  context: PerformContext,
  question: BudgetQuestion,
  signal: AbortSignal,
): Promise<JsonValue> {
  try {
    return await reserve(context, question, signal);
  } catch (thrown) {
    // Nothing is spent that nobody could write down.
    return { granted: false, message: `the ledger failed: ${errorText(thrown)}` };
  }
}

async function reserve(context: PerformContext, { key }: BudgetQuestion, signal: AbortSignal): Promise<BudgetDecision> {
  const { agent, state } = context;
  const { run } = state;
  if (!run?.turn) return { granted: false, message: 'there is no call to pay for' };
  const model = agent.models[run.turn.modelIndex] ?? agent.model;
  const wanted = wantedBy(context, model);
  if (wanted.price(wanted.prompt, wanted.output) === null) {
    const message = `the price of ${model.provider}/${model.id} is unknown, and money is limited. Lift the limit, or say in the agent's definition what to assume: budget: { unknownPrice: … }`;
    return { granted: false, message };
  }
  const { ledger } = agent.budget;
  // One settlement at most is untold at a time, and that one is told again after a death.
  await context.ledgerHeard();
  const { childRunner } = context;
  // Sub-agents in the background spend of the same meanwhile.
  const own = limitsOf(run, agent).maxCost - run.limits.spent - childRunner.held(run.runId);
  let left = own;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const output = affordableOutput(wanted.price, wanted.prompt, wanted.output, left);
    if (output < wanted.least) break;
    const amount = wanted.price(wanted.prompt, output) ?? 0;
    if (ledger === null) {
      childRunner.claim(key, amount);
      return granted(wanted, amount, output, own);
    }
    childRunner.claim(key, amount);
    const outcome = await ledger.reserve(key, amount);
    if (!outcome.granted) childRunner.claim(key, 0);
    else {
      if (signal.aborted) await ledger.release(key);
      // Under an id that held money before, it may be another amount.
      const paid = affordableOutput(wanted.price, wanted.prompt, output, outcome.amount + ROUNDING);
      if (paid >= wanted.least) return granted(wanted, outcome.amount, paid, outcome.amount + ROUNDING);
      await ledger.release(key);
      break;
    }
    left = Math.min(left, outcome.remaining);
  }
  return { granted: false, message: await whyNot(context, run, wanted) };
}

/** Amounts are whole billionths in a ledger, upwards. */
const ROUNDING = 1e-9;

function wantedBy({ agent, state }: PerformContext, model: PerformContext['agent']['model']): Wanted {
  const thinking = thinkingTokens(agent.thinking ?? 'off');
  const reply = replyLimit(state, agent, model) ?? model.outputLimit ?? ASSUMED_OUTPUT_TOKENS;
  return {
    price: callPrice(model, agent.budget.unknownPrice),
    prompt: measureView(state.view, state.anchor, estimateFrame(agent)),
    output: reply + thinking,
    thinking,
    least: Math.min(reply, agent.budget.minOutputTokens) + thinking,
  };
}

function granted(
  { price, prompt, output: most, thinking }: Wanted,
  reserved: number,
  output: number,
  left: number,
): BudgetDecision {
  // A provider that doesn't keep to what it was asked for is stopped when it has had all there is.
  const free = price(prompt, 0) === price(prompt, most);
  const stopAfter = affordableOutput(price, prompt, 4 * most, left);
  return {
    granted: true,
    reserved,
    maxTokens: Math.max(1, output - thinking),
    ...(free || stopAfter >= 4 * most ? {} : { stopAfter }),
  };
}

/** The refusal in words: how much is used, and what the call could cost. */
async function whyNot({ agent }: PerformContext, run: RunState, { price, prompt, least }: Wanted): Promise<string> {
  const { maxCost } = limitsOf(run, agent);
  const more = `; the next call could cost $${(price(prompt, least) ?? 0).toFixed(4)}`;
  const ownLeft = maxCost - run.limits.spent;
  const balance = await agent.budget.ledger?.balance();
  if (balance && balance.remaining < ownLeft) {
    return limitHit('cost', balance.spent + balance.reserved, balance.limit, more).message;
  }
  return limitHit('cost', run.limits.spent, maxCost, more).message;
}
