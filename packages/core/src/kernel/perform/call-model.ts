import { cutCallWarning, nextModel, settleCall, type Spending } from '../features.ts';
import type { Draft } from '../../draft.ts';
import type { DurableEventBody } from '../../events/events.ts';
import type { BlobKeeper } from '../../ports/blob-keeper.ts';
import { eventsMovedOut } from '../../events/move-out.ts';
import { promptTokens } from '../../messages/anchor.ts';
import { errorText } from '../../errors.ts';
import type { SizeLimit } from '../../events/limits.ts';
import type { AssistantContent } from '../../messages/content.ts';
import type { AssistantMessage } from '../../messages/message.ts';
import type { Model, ModelError, StopReason } from '../../model/model.ts';
import { isUsageValid, type ModelWarning } from '../../model/check-usage.ts';
import { decideRetry } from '../../model/retry.ts';
import { UNKNOWN_USAGE, type Usage } from '../../model/usage.ts';
import { priceOf } from '../../model/price.ts';
import { runOf, type PerformContext } from '../context.ts';
import { openMessage, type OpenMessage } from './open-message.ts';
import type { Step } from '../step.ts';
import { INTERRUPTED, readReply, type Call, type Ending, type Finish, type StreamFacts } from './read-reply.ts';
import { warnOfBlob } from '../services/request-blobs.ts';

/** Calls the model once and records what came of it: a message, or a failed attempt. Never throws for the model. */
export async function callModel(context: PerformContext, step: Extract<Step, { type: 'call_model' }>): Promise<void> {
  const { state, ids, interrupt, emit, observed } = context;
  const { runId } = runOf(state);
  const { turnIndex, attempt } = step;
  const place = { afterSeq: state.seq, runId, turnIndex, messageId: ids.create('msg'), attempt };
  const open = openMessage(place, ids);
  context.setOpenMessage(open);
  if (observed()) emit(open.started());
  const model = context.agent.models[step.modelIndex] ?? context.agent.model;
  const facts: StreamFacts = { model: null, responseId: null, containerId: null };
  const abort = new AbortController();
  let forget = (): void => {};
  try {
    const ending = await new Promise<Ending>((resolve) => {
      forget = interrupt.on(() => {
        abort.abort();
        resolve(INTERRUPTED);
      });
      void readReply(context, { step, model, open, facts }, abort.signal).then(resolve);
    });
    if (ending.type === 'overspent' || ending.type === 'too_long') abort.abort();
    // From here on it is told as a whole: whoever joins now gets it by the event that is about to be written.
    context.setOpenMessage(null);
    const outcome = outcomeEvents(context, { step, model, open, facts }, ending);
    const events = context.blobs ? await kept(context, context.blobs, outcome) : outcome;
    const settled = settlement(context, model, open, ending);
    await context.log.record(settled.length === 0 ? events : [...events, ...settled]);
  } finally {
    forget();
    context.setOpenMessage(null);
  }
}

/** The log has them with the message. */
function tellWarnings({ state, emit }: PerformContext, warnings: readonly ModelWarning[] = []): void {
  const { runId } = runOf(state);
  for (const { code, message } of warnings) emit({ type: 'warning', afterSeq: state.seq, runId, code, message });
}

/** What a model drew goes into the log as it is where it can't be kept apart. */
const kept = (
  context: PerformContext,
  blobs: BlobKeeper,
  events: readonly DurableEventBody[],
): Promise<readonly DurableEventBody[]> =>
  eventsMovedOut(blobs, events).catch((error: unknown) => {
    warnOfBlob(context, `What the model made stays in the log: ${errorText(error)}`);
    return events;
  });

/** What the call came to in money, when some was set aside for it. */
function settlement(
  { state, agent, clock }: PerformContext,
  model: Model,
  open: OpenMessage,
  ending: Ending,
): readonly DurableEventBody[] {
  if (!state.run?.limits.reservation) return NOTHING;
  return settleCall(state, model, agent.budget.unknownPrice, spendingOf(open, ending), clock.now());
}

const NOTHING: readonly DurableEventBody[] = [];

function spendingOf(open: OpenMessage, ending: Ending): Spending {
  if (ending.type === 'finished') {
    const { usage, warnings } = ending.finish;
    return isUsageValid(warnings) ? { type: 'reported', usage } : { type: 'unknown' };
  }
  if (ending.type === 'overspent') return { type: 'stopped', outputTokens: ending.outputTokens };
  if (ending.type === 'interrupted' || ending.type === 'too_long') return { type: 'unknown' };
  const { usage, error } = ending;
  return open.hasBegun() ? { type: 'reported', usage } : { type: 'refused', kind: error.kind, usage };
}

function outcomeEvents(context: PerformContext, call: Call, ending: Ending): DurableEventBody[] {
  const { open } = call;
  const at = context.clock.now();
  if (ending.type === 'finished') {
    const { finish } = ending;
    const content = open.finished(finish.stopReason);
    const cut = cutCallWarning(content, finish.usage);
    const warnings = cut ? [...(finish.warnings ?? []), cut] : finish.warnings;
    tellWarnings(context, warnings);
    const overflow = silentOverflow(context, call, finish, content);
    if (overflow) return overflow;
    // An empty message is a fact, but no wire takes it back.
    return [messageAdded(call, at, content.length > 0, content, warnings ? { ...finish, warnings } : finish)];
  }
  if (ending.type === 'failed') return failedEvents(context, call, at, ending);
  if (ending.type === 'too_long') return [stoppedReply(call, at, ending.limit)];
  const content = open.salvaged(false);
  if (content.length > 0)
    return [messageAdded(call, at, true, content, { stopReason: 'aborted', usage: UNKNOWN_USAGE })];
  return open.hasBegun() ? [discarded(call, at, 'interrupted')] : [];
}

/** The text so far stands. Without any, the thinking so far is a fact that no model is sent. */
function stoppedReply(call: Call, at: number, limit: SizeLimit): DurableEventBody {
  const text = call.open.salvaged(false);
  const inView = text.length > 0;
  const errorMessage = `The reply was stopped: its ${limit === 'reply' ? 'length' : limit} exceeded a limit.`;
  const rest = { stopReason: 'aborted', usage: UNKNOWN_USAGE, errorMessage } as const;
  const added = messageAdded(call, at, inView, inView ? text : call.open.salvaged(true), rest);
  return { ...added, stoppedAt: limit };
}

/**
 * A provider that was sent more than the window holds may cut the beginning off and answer all the same, or answer nothing.
 * Where the agent can do something about it, that is a failure. Text that people have seen stands.
 */
function silentOverflow(
  { agent, clock }: PerformContext,
  call: Call,
  { usage, stopReason }: Finish,
  content: readonly AssistantContent[],
): DurableEventBody[] | null {
  const { contextWindow: window } = call.model;
  const tokens = promptTokens(usage);
  if (agent.context === null || window === undefined || tokens === null) return null;
  const cutOff = tokens > window && !call.open.hasText();
  const noRoom = stopReason === 'length' && content.length === 0 && tokens > window * FULL;
  if (!cutOff && !noRoom) return null;
  const at = clock.now();
  const { runId, turnIndex, attempt } = call.open.place;
  const message = `The request had ${tokens} tokens, and the model's window holds ${window}.`;
  const error: ModelError = { kind: 'context_overflow', message, retryable: false };
  return [
    { type: 'attempt_failed', at, runId, turnIndex, attempt, error, usage, cost: priceOf(call.model, usage) },
    ...(call.open.hasBegun() ? [discarded(call, at, 'attempt_failed')] : []),
  ];
}

/** The share of the window from which there is no room for a reply. */
const FULL = 0.99;

/** A failed attempt is tried again, or its partial reply is kept as the fact it is. */
function failedEvents(
  context: PerformContext,
  call: Call,
  at: number,
  { error, usage }: Extract<Ending, { type: 'failed' }>,
): DurableEventBody[] {
  const { runId, turnIndex, attempt } = call.open.place;
  const next = nextAttempt(context, call, error);
  const failed = { type: 'attempt_failed' as const, at, runId, turnIndex, attempt };
  // A call that failed before it showed anything costs nothing; of one that broke off nobody said what it cost.
  const free = usage === UNKNOWN_USAGE && !call.open.hasBegun();
  const used = free ? {} : { usage, cost: priceOf(call.model, usage) };
  if (next.retry) {
    const voided = call.open.hasBegun() ? [discarded(call, at, 'attempt_failed')] : [];
    return [{ ...failed, error, retry: next.retry, ...used }, ...voided];
  }
  const told = next.why === undefined ? error : { ...error, message: `${error.message} ${next.why}` };
  const content = call.open.salvaged(true);
  if (content.length === 0) return [{ ...failed, error: told, ...used }];
  const rest: MessageRest = { stopReason: 'error', usage, errorMessage: told.message };
  return [messageAdded(call, at, false, content, rest), { ...failed, error: told }];
}

/** The same model again, or the next one, or the end: decided here, once, and kept in the log. */
function nextAttempt(
  { agent, random }: PerformContext,
  { step, open }: Call,
  error: ModelError,
): { readonly retry?: { readonly delayMs: number; readonly modelIndex: number }; readonly why?: string } {
  const { modelIndex, modelAttempt } = step;
  const sawText = open.hasText();
  const decision = decideRetry(error, modelAttempt, agent.retry, { sawText, random: random() });
  if (decision.retry) return { retry: { delayMs: decision.delayMs, modelIndex } };
  const mayMoveOn = agent.fallbackOn.includes(error.kind) && (!sawText || agent.retry.afterText);
  const next = mayMoveOn ? nextModel(agent.models, agent.routing, modelIndex) : null;
  if (next !== null) return { retry: { delayMs: 0, modelIndex: next } };
  return decision.why === undefined ? {} : { why: decision.why };
}

function discarded({ open }: Call, at: number, reason: 'attempt_failed' | 'interrupted'): DurableEventBody {
  const { runId, turnIndex, attempt } = open.place;
  return { type: 'message_discarded', at, runId, turnIndex, attempt, reason };
}

function messageAdded(
  { model, facts, open }: Call,
  at: number,
  inView: boolean,
  content: readonly AssistantContent[],
  rest: MessageRest,
): Extract<DurableEventBody, { type: 'message_added' }> {
  const { runId, messageId } = open.place;
  const containerId = rest.containerId ?? facts.containerId;
  const message: Draft<AssistantMessage> = {
    role: 'assistant',
    id: messageId,
    at,
    provider: model.provider,
    model: facts.model ?? model.id,
    content,
    stopReason: rest.stopReason,
    usage: rest.usage,
    cost: priceOf(model, rest.usage),
  };
  if (rest.rawStopReason !== undefined) message.rawStopReason = rest.rawStopReason;
  if (rest.errorMessage !== undefined) message.errorMessage = rest.errorMessage;
  if (containerId !== null) message.containerId = containerId;
  if (facts.responseId !== null) message.responseId = facts.responseId;
  if (rest.unknownTypes !== undefined) message.unknownTypes = rest.unknownTypes;
  if (rest.warnings !== undefined && rest.warnings.length > 0) message.warnings = rest.warnings;
  return { type: 'message_added', at, runId, inView, message };
}

interface MessageRest {
  readonly stopReason: StopReason;
  readonly usage: Usage;
  readonly rawStopReason?: string;
  readonly errorMessage?: string;
  readonly containerId?: string;
  readonly unknownTypes?: Readonly<Record<string, number>>;
  readonly warnings?: readonly ModelWarning[];
}
