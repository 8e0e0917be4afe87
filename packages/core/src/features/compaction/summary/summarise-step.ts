import { estimateText } from '../../../messages/estimate.ts';
import { estimateMessages, estimateFrame } from '../../../messages/estimate-frame.ts';
import { CompactionError, type SummaryOptions, type View } from '../phase.ts';
import { summaryProblem, summaryRequest } from './summarise.ts';
import type { ContextPolicy } from '../options.ts';
import { ASSUMED_OUTPUT_TOKENS, priceOf } from '../../../model/price.ts';
import { thinkingTokens } from '../../../model/thinking.ts';
import { askModel, type Meter, type ModelAnswer } from '../../../ask-model.ts';
import { pause, timedCall } from '../../../timed-call.ts';
import { type ModelMessage, isForModel } from '../../../messages/message.ts';
import { userText } from '../../../messages/final-text.ts';
import type { Model, ModelRequest } from '../../../model/model.ts';
import { decideRetry } from '../../../model/retry.ts';
import { addUsage, UNKNOWN_USAGE, type Usage } from '../../../model/usage.ts';
import type { PerformContext } from '../../../kernel/context.ts';
import { requestWithBlobs } from '../../../kernel/services/request-blobs.ts';
import { payForSummary } from './summary-budget.ts';

/** What summaries have used so far. */
export interface Spending {
  usage: Usage | null;
  /** Null once any part of it is unknown. */
  cost: number | null;
  /** True when nobody waits for the compaction any more. */
  isOver: boolean;
  /** What the latest call has used; null when it said nothing. */
  last: Usage | null;
}

interface Summariser {
  readonly model: Model;
  readonly policy: ContextPolicy['summary'];
  readonly instructions: readonly string[];
  readonly spending: Spending;
}

/** Has the model write a summary, again when what came can't be used. Throws `CompactionError` when none can. */
export async function writeSummary(
  context: PerformContext,
  summariser: Summariser,
  messages: View,
  options: SummaryOptions,
): Promise<string> {
  const { policy, spending } = summariser;
  const { clock, interrupt } = context;
  const stopped = new AbortController();
  const forget = interrupt.on(() => stopped.abort());
  try {
    for (let attempt = 1; ; attempt++) {
      if (spending.isOver) throw new CompactionError('The compaction was interrupted.');
      const made = await paidFor({ context, summariser, messages, options, signal: stopped.signal });
      const problem = 'text' in made ? problemOf(made, options) : made.problem;
      if (problem === null && 'text' in made) return made.text.trim();
      const wait = attempt > policy.maxRetries ? null : delay(context, made, attempt);
      if (wait === null || interrupt.fired() !== null) throw new CompactionError(problem ?? 'No summary came.');
      if (wait > 0) await pause(clock, wait, stopped);
    }
  } finally {
    forget();
  }
}

function problemOf(
  { text, stopReason, called }: Extract<ModelAnswer, { readonly text: string }>,
  { replaces }: SummaryOptions,
): string | null {
  if (called !== null) return `Instead of a summary the model called ${called}.`;
  if (stopReason === 'refusal' || stopReason === 'content_filter') return 'The model refused to write a summary.';
  return summaryProblem(text, estimateText(text), replaces);
}

/** Milliseconds before the next attempt; null when another one would fail like this one. */
function delay({ agent, random }: PerformContext, made: ModelAnswer, attempt: number): number | null {
  if ('text' in made || !made.error) return 0;
  const decision = decideRetry(made.error, attempt, agent.retry, { sawText: false, random: random() });
  return decision.retry ? decision.delayMs : null;
}

/** One call that is to be made. */
interface Call {
  readonly context: PerformContext;
  readonly summariser: Summariser;
  readonly messages: View;
  readonly options: SummaryOptions;
  readonly signal: AbortSignal;
}

/** Makes a call, with money set aside for it before and settled after where money is limited. */
async function paidFor(one: Call): Promise<ModelAnswer> {
  const { context, summariser, messages, options } = one;
  const { agent } = context;
  const { model, spending } = summariser;
  const prompt = estimateFrame(agent) + estimateMessages(messages) + QUESTION_TOKENS;
  const thinking = thinkingTokens(agent.thinking ?? 'off');
  const output = thinking > 0 ? (agent.maxTokens ?? model.outputLimit ?? ASSUMED_OUTPUT_TOKENS) : options.maxTokens;
  const money = await payForSummary(context, model, { prompt, output: output + thinking });
  if ('problem' in money) return money;
  spending.last = null;
  try {
    return await ask(one);
  } finally {
    // When nobody waits any more, the end of the run settles it.
    if (!spending.isOver) await money.settle(spending.last);
  }
}

/** What the instructions for a summary take, about. */
const QUESTION_TOKENS = 500;

async function ask(one: Call): Promise<ModelAnswer> {
  const { context, summariser, signal } = one;
  const { model, policy } = summariser;
  const request = summaryRequestOf(one);
  const meter: Meter = { usage: null };
  const call = async (inner: AbortSignal): Promise<ModelAnswer> => {
    const whole = context.state.needsBlobs ? await requestWithBlobs(context, request) : request;
    return askModel(model, whole, inner, meter);
  };
  const { timeoutMs } = policy;
  const outcome = await timedCall({ name: 'The summary', timeoutMs, clock: context.clock, signal, call });
  if (meter.usage) spend(summariser, meter.usage);
  return outcome.ok ? outcome.value : outcome;
}

/** It begins with what the run's own requests begin with, so that the provider's cache is of use. */
function summaryRequestOf({ context, summariser, messages, options }: Call): ModelRequest {
  const { state, agent, clock, ids, modelRequest } = context;
  const { model, instructions } = summariser;
  const { responseFormat: _, ...request } = modelRequest(state, agent, model);
  const wanted = [...(options.instructions === undefined ? [] : [options.instructions]), ...instructions];
  const text = summaryRequest(wanted, options.maxTokens);
  const question = userText(ids.create('msg'), clock.now(), 'compaction', text);
  const hasTools = request.tools.length > 0 || (request.providerTools?.length ?? 0) > 0;
  const thinks = agent.thinking !== undefined && agent.thinking !== 'off';
  return {
    ...request,
    messages: [...messages.filter((message): message is ModelMessage => isForModel(message)), question],
    // Reasoning takes its part of what may be written.
    ...(thinks ? {} : { maxTokens: options.maxTokens }),
    ...(hasTools ? { toolChoice: 'none' } : {}),
  };
}

function spend({ spending, model }: Summariser, usage: Usage): void {
  const cost = priceOf(model, usage);
  const before = spending.usage === null ? 0 : spending.cost;
  spending.usage = addUsage(spending.usage ?? UNKNOWN_USAGE, usage);
  spending.last = usage;
  spending.cost = before === null || cost === null ? null : before + cost;
}
