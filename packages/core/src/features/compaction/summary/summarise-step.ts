import { estimateText } from '../../../messages/estimate.ts';
import { estimateMessages, estimateFrame } from '../../../messages/estimate-frame.ts';
import { CompactionError, type SummaryOptions, type View } from '../phase.ts';
import { checkSummary, summaryRequest } from './summarise.ts';
import type { ContextPolicy } from '../options.ts';
import { errorText } from '../../../errors.ts';
import { ASSUMED_OUTPUT_TOKENS, THINKING_TOKENS, priceOf } from '../../../model/price.ts';
import { sizedStream } from '../../../kernel/services/reply-size.ts';
import { type ModelMessage, type UserMessage, isForModel } from '../../../messages/message.ts';
import type { Model, ModelError, ModelEvent, ModelRequest } from '../../../model/model.ts';
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

type Attempt = { readonly text: string } | { readonly problem: string; readonly error?: ModelError };

/** Has the model write a summary, again when what came can't be used. Throws `CompactionError` when none can. */
export async function writeSummary(
  context: PerformContext,
  summariser: Summariser,
  messages: View,
  options: SummaryOptions,
): Promise<string> {
  const { policy, spending } = summariser;
  for (let attempt = 1; ; attempt++) {
    if (spending.isOver) throw new CompactionError('The compaction was interrupted.');
    const made = await paidFor(context, summariser, messages, options);
    const problem = 'text' in made ? problemOf(made.text, options) : made.problem;
    if (problem === null && 'text' in made) return made.text.trim();
    const wait = attempt > policy.maxRetries ? null : delay(context, made, attempt);
    if (wait === null || context.interrupt.fired() !== null) throw new CompactionError(problem ?? 'No summary came.');
    if (wait > 0) await pause(context, wait);
  }
}

function problemOf(text: string, { replaces }: SummaryOptions): string | null {
  try {
    checkSummary(text, estimateText(text), replaces);
    return null;
  } catch (thrown) {
    return errorText(thrown);
  }
}

/** Milliseconds before the next attempt; null when another one would fail like this one. */
function delay({ agent, random }: PerformContext, made: Attempt, attempt: number): number | null {
  if ('text' in made || !made.error) return 0;
  const decision = decideRetry(made.error, attempt, agent.retry, { sawText: false, random: random() });
  return decision.retry ? decision.delayMs : null;
}

function pause({ clock, interrupt }: PerformContext, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      forget();
      resolve();
    };
    let forget = (): void => {};
    const cancel = clock.after(ms, done);
    forget = interrupt.on(done);
  });
}

/** One call, with money set aside for it before and settled after where money is limited. */
async function paidFor(
  context: PerformContext,
  summariser: Summariser,
  messages: View,
  options: SummaryOptions,
): Promise<Attempt> {
  const { agent } = context;
  const { model } = summariser;
  const prompt = estimateFrame(agent) + estimateMessages(messages) + QUESTION_TOKENS;
  const thinking = THINKING_TOKENS[agent.thinking ?? 'off'];
  const output = thinking > 0 ? (agent.maxTokens ?? model.outputLimit ?? ASSUMED_OUTPUT_TOKENS) : options.maxTokens;
  const money = await payForSummary(context, model, { prompt, output: output + thinking });
  if ('problem' in money) return money;
  const { spending } = summariser;
  spending.last = null;
  try {
    return await ask(context, summariser, messages, options);
  } finally {
    // When nobody waits any more, the end of the run settles it.
    if (!spending.isOver) await money.settle(spending.last);
  }
}

/** What the instructions for a summary take, about. */
const QUESTION_TOKENS = 500;

/** One call. The request begins with what the run's own requests begin with, so that the provider's cache is of use. */
async function ask(
  context: PerformContext,
  summariser: Summariser,
  messages: View,
  options: SummaryOptions,
): Promise<Attempt> {
  const { clock, interrupt } = context;
  const { model, policy } = summariser;
  const abort = new AbortController();
  return new Promise((resolve) => {
    const settle = (made: Attempt): void => {
      cancel();
      forget();
      resolve(made);
    };
    let forget = (): void => {};
    const spent = { began: false, told: false };
    const give = (problem: string): void => {
      abort.abort();
      // It has begun and nobody says what it cost.
      if (spent.began && !spent.told) spend(summariser, UNKNOWN_USAGE);
      spent.told = true;
      settle({ problem });
    };
    const cancel = clock.after(policy.timeoutMs, () => give(`The summary took more than ${policy.timeoutMs} ms.`));
    forget = interrupt.on(() => give('The compaction was interrupted.'));
    const request = summaryRequestOf(context, summariser, messages, options);
    const answer = context.state.needsBlobs
      ? requestWithBlobs(context, request).then((whole) => read(model, whole, abort.signal, spent, summariser))
      : read(model, request, abort.signal, spent, summariser);
    void answer.then(settle, (thrown: unknown) =>
      give(`The model threw instead of streaming an error: ${errorText(thrown)}`),
    );
  });
}

function summaryRequestOf(
  { state, agent, clock, ids, modelRequest }: PerformContext,
  { model, instructions }: Summariser,
  messages: View,
  options: SummaryOptions,
): ModelRequest {
  const { responseFormat: _, ...request } = modelRequest(state, agent, model);
  const wanted = [...(options.instructions === undefined ? [] : [options.instructions]), ...instructions];
  const question: UserMessage = {
    role: 'user',
    id: ids.create('msg'),
    at: clock.now(),
    origin: 'compaction',
    content: [{ type: 'text', text: summaryRequest(wanted, options.maxTokens) }],
  };
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

async function read(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  spent: { began: boolean; told: boolean },
  summariser: Summariser,
): Promise<Attempt> {
  let text = '';
  let called: string | null = null;
  for await (const event of sizedStream(model, request, signal)) {
    if (signal.aborted) break;
    if (event.type === 'start') [text, called] = ['', null];
    spent.began ||= event.type !== 'error';
    if (event.type === 'block_end' && event.block.type === 'text') text += event.block.text;
    if (event.type === 'block_end' && event.block.type === 'tool_call') called = event.block.name;
    if (event.type === 'finish') return finished(event, text, called, spent, summariser);
    if (event.type === 'error') {
      if (event.usage !== undefined || spent.began) spend(summariser, event.usage ?? UNKNOWN_USAGE);
      spent.told = true;
      return { problem: event.error.message, error: event.error };
    }
  }
  if (spent.began && !spent.told) spend(summariser, UNKNOWN_USAGE);
  spent.told = true;
  return { problem: 'The stream ended without saying that the summary was finished.' };
}

function finished(
  { usage, stopReason }: Extract<ModelEvent, { type: 'finish' }>,
  text: string,
  called: string | null,
  spent: { told: boolean },
  summariser: Summariser,
): Attempt {
  if (!spent.told) spend(summariser, usage);
  spent.told = true;
  if (called !== null) return { problem: `Instead of a summary the model called ${called}.` };
  if (stopReason === 'refusal' || stopReason === 'content_filter')
    return { problem: 'The model refused to write a summary.' };
  return { text };
}

function spend({ spending, model }: Summariser, usage: Usage): void {
  const cost = priceOf(model, usage);
  const before = spending.usage === null ? 0 : spending.cost;
  spending.usage = addUsage(spending.usage ?? UNKNOWN_USAGE, usage);
  spending.last = usage;
  spending.cost = before === null || cost === null ? null : before + cost;
}
