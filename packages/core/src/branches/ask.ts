import { errorText } from '../errors.ts';
import type { Model } from '../model/model.ts';
import { addUsage, UNKNOWN_USAGE, type Usage } from '../model/usage.ts';
import type { EvaluationContext } from './outcome.ts';
import { timedCall } from '../timed-call.ts';

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
  if (outcome.ok) return typeof outcome.value === 'string' ? outcome.value : null;
  warn(outcome.problem);
  return null;
}

async function said(
  { model, system, text }: JudgeCall,
  { clock, warn }: EvaluationContext,
  spent: Spent,
  signal: AbortSignal,
): Promise<string | null> {
  const message = {
    role: 'user',
    id: 'judge',
    at: clock.now(),
    origin: 'prompt',
    content: [{ type: 'text', text }],
  } as const;
  let answer = '';
  try {
    for await (const event of model.stream({ system, messages: [message], tools: [] }, signal)) {
      if (event.type === 'start') answer = '';
      if (event.type === 'block_end' && event.block.type === 'text') answer += event.block.text;
      if (event.type === 'finish') {
        spend(spent, model, event.usage);
        return answer;
      }
      if (event.type === 'error') {
        spend(spent, model, event.usage ?? UNKNOWN_USAGE);
        warn(`The judge's model failed: ${event.error.message}`);
        return null;
      }
    }
    warn("The judge's stream ended without an end.");
  } catch (thrown) {
    warn(`The judge's model threw: ${errorText(thrown)}`);
  }
  spend(spent, model, UNKNOWN_USAGE);
  return null;
}

function spend(spent: Spent, model: Model, usage: Usage): void {
  const cost = model.cost?.(usage) ?? null;
  spent.usage = addUsage(spent.usage, usage);
  spent.cost = spent.cost === null || cost === null ? null : spent.cost + cost;
}
