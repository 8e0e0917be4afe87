import { userText } from '../../messages/final-text.ts';
import { estimateText } from '../../messages/estimate.ts';
import { askModel, type Meter } from '../../ask-model.ts';
import { affordableOutput, ASSUMED_OUTPUT_TOKENS, callPrice } from '../../model/price.ts';
import type { Model } from '../../model/model.ts';
import { addUsage, isCounted, UNKNOWN_USAGE, type Usage } from '../../model/usage.ts';
import type { EvaluationContext } from './outcome.ts';
import { timedCall } from '../../timed-call.ts';

/** What judging has used. */
export interface Spent {
  usage: Usage;
  cost: number | null;
}

export const nothingSpent = (): Spent => ({ usage: UNKNOWN_USAGE, cost: 0 });

export interface JudgeCall {
  readonly model: Model;
  readonly system: string;
  readonly text: string;
  readonly timeoutMs: number;
}

/** What a model says to one text; null, with a warning, when it says nothing that can be used. */
export async function askJudge(call: JudgeCall, context: EvaluationContext, spent: Spent): Promise<string | null> {
  const { clock, signal, warn } = context;
  const { timeoutMs } = call;
  const outcome = await timedCall({
    name: 'The judge',
    timeoutMs,
    clock,
    signal,
    call: (inner) => said(call, context, spent, inner),
  });
  if (outcome.ok) return outcome.value;
  warn(outcome.problem);
  return null;
}

async function said(
  { model, system, text, timeoutMs }: JudgeCall,
  context: EvaluationContext,
  spent: Spent,
  signal: AbortSignal,
): Promise<string | null> {
  const { clock, warn } = context;
  const money = await setAside({ model, system, text, timeoutMs }, context);
  if (money === 'refused') return null;
  const messages = [userText('judge', clock.now(), 'prompt', text)];
  const request = { system, messages, tools: [], ...(money ? { maxTokens: money.maxTokens } : {}) };
  const meter: Meter = { usage: null };
  const answer = await askModel(model, request, signal, meter);
  const cost = spend(spent, model, meter.usage ?? UNKNOWN_USAGE);
  // Where nobody says what it cost, all that was set aside is gone.
  if (money) await money.settle(cost);
  if ('text' in answer) return answer.text;
  warn(`The judge's model failed: ${answer.problem}`);
  return null;
}

interface SetAside {
  readonly maxTokens: number;
  readonly settle: (cost: number | null) => Promise<void>;
}

/** Tokens below which a judge can't say whom it takes. */
const LEAST_REPLY = 64;

/** Sets aside what the question can cost; null where money isn't limited. */
async function setAside(
  { model, system, text }: JudgeCall,
  { budget, warn }: EvaluationContext,
): Promise<SetAside | 'refused' | null> {
  if (!budget) return null;
  const { ledger, unknownPrice, key } = budget;
  const price = callPrice(model, unknownPrice);
  const prompt = estimateText(system) + estimateText(text);
  const { remaining } = await ledger.balance();
  const most = model.outputLimit ?? ASSUMED_OUTPUT_TOKENS;
  const maxTokens = affordableOutput(price, prompt, most, remaining);
  const id = key();
  const amount = price(prompt, maxTokens);
  const isPaid = maxTokens >= LEAST_REPLY && amount !== null && (await ledger.reserve(id, amount)).granted;
  if (!isPaid) {
    const why =
      price(prompt, most) === null ? 'its price is unknown, and money is limited' : 'there is too little money left';
    warn(`The judge was not asked: ${why}.`);
    return 'refused';
  }
  return { maxTokens, settle: (cost) => ledger.settle(id, cost ?? amount) };
}

/** Returns what a ledger is told: null when nobody knows. */
function spend(spent: Spent, model: Model, usage: Usage): number | null {
  const cost = model.cost?.(usage) ?? null;
  spent.usage = addUsage(spent.usage, usage);
  spent.cost = spent.cost === null || cost === null ? null : spent.cost + cost;
  return isCounted(usage) ? cost : null;
}
