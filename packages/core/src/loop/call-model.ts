import type { DurableEventBody } from '../events/events.ts';
import { errorText } from '../errors.ts';
import type { AssistantContent } from '../messages/content.ts';
import type { AssistantMessage } from '../messages/message.ts';
import type { ModelError, ModelEvent, StopReason } from '../model/model.ts';
import { UNKNOWN_USAGE, type Usage } from '../model/usage.ts';
import { runOf, type PerformContext } from './context.ts';
import { untilInterrupted } from './interrupt.ts';
import { openMessage, type OpenMessage } from './open-message.ts';
import type { Step } from './step.ts';
import { modelRequest } from './request.ts';

type Finish = Extract<ModelEvent, { type: 'finish' }>;

/** How a stream ended. */
type Ending =
  | { readonly type: 'finished'; readonly finish: Finish }
  | { readonly type: 'failed'; readonly error: ModelError; readonly usage: Usage }
  | { readonly type: 'interrupted' };

/** What a stream said about itself besides its content. */
interface StreamFacts {
  model: string | null;
  responseId: string | null;
  containerId: string | null;
}

const INTERRUPTED: Ending = { type: 'interrupted' };

/** Calls the model once and records what came of it: a message, or a failed attempt. Never throws for the model. */
export async function callModel(context: PerformContext, step: Extract<Step, { type: 'call_model' }>): Promise<void> {
  const { state, ids, interrupt, emit, observed } = context;
  const { runId } = runOf(state);
  const { turnIndex, attempt } = step;
  const place = { afterSeq: state.seq, runId, turnIndex, messageId: ids.create('msg'), attempt };
  const open = openMessage(place, ids);
  context.setOpenMessage(open);
  if (observed()) emit({ type: 'message_started', ...place });
  const facts: StreamFacts = { model: null, responseId: null, containerId: null };
  const abort = new AbortController();
  const forget = interrupt.on(() => {
    abort.abort();
  });
  try {
    const stream = consume(context, open, facts, abort.signal);
    const ending = await untilInterrupted(interrupt, stream, INTERRUPTED, (stop) => {
      stop();
    });
    await context.log.record(outcomeEvents(context, open, facts, ending));
  } finally {
    forget();
    context.setOpenMessage(null);
  }
}

async function consume(
  { agent, state, observed, emit }: PerformContext,
  open: OpenMessage,
  facts: StreamFacts,
  signal: AbortSignal,
): Promise<Ending> {
  try {
    for await (const event of agent.model.stream(modelRequest(state, agent), signal)) {
      if (signal.aborted) return INTERRUPTED;
      if (event.type === 'finish') return { type: 'finished', finish: event };
      if (event.type === 'error') return { type: 'failed', error: event.error, usage: event.usage ?? UNKNOWN_USAGE };
      if (event.type === 'start') {
        facts.model = event.model ?? null;
        facts.responseId = event.responseId ?? null;
        facts.containerId = event.containerId ?? null;
        continue;
      }
      const live = open.take(event, observed());
      if (live) emit(live);
    }
  } catch (thrown) {
    const message = `The model threw instead of streaming an error: ${errorText(thrown)}`;
    return { type: 'failed', error: { kind: 'other', message, retryable: false }, usage: UNKNOWN_USAGE };
  }
  if (signal.aborted) return INTERRUPTED;
  const message = 'The stream ended without saying that the message was finished.';
  return { type: 'failed', error: { kind: 'network', message, retryable: true }, usage: UNKNOWN_USAGE };
}

function outcomeEvents(
  { agent, clock }: PerformContext,
  open: OpenMessage,
  facts: StreamFacts,
  ending: Ending,
): DurableEventBody[] {
  const { runId, turnIndex, attempt, messageId } = open.place;
  const at = clock.now();
  const added = (inView: boolean, content: readonly AssistantContent[], rest: MessageRest): DurableEventBody => {
    const { model } = agent;
    const containerId = rest.containerId ?? facts.containerId;
    const message: AssistantMessage = {
      role: 'assistant',
      id: messageId,
      at,
      provider: model.provider,
      model: facts.model ?? model.id,
      content,
      stopReason: rest.stopReason,
      usage: rest.usage,
      cost: model.cost?.(rest.usage) ?? null,
      ...(rest.rawStopReason === undefined ? {} : { rawStopReason: rest.rawStopReason }),
      ...(rest.errorMessage === undefined ? {} : { errorMessage: rest.errorMessage }),
      ...(containerId === null ? {} : { containerId }),
      ...(facts.responseId === null ? {} : { responseId: facts.responseId }),
    };
    return { type: 'message_added', at, runId, inView, message };
  };
  if (ending.type === 'finished') {
    const { finish } = ending;
    const content = open.finished(finish.stopReason);
    // An empty message is a fact, but no wire takes it back.
    return [added(content.length > 0, content, finish)];
  }
  if (ending.type === 'failed') {
    const { error, usage } = ending;
    const failed: DurableEventBody = { type: 'attempt_failed', at, runId, turnIndex, attempt, error };
    const content = open.salvaged(true);
    if (content.length === 0) return [failed];
    return [added(false, content, { stopReason: 'error', usage, errorMessage: error.message }), failed];
  }
  const content = open.salvaged(false);
  if (content.length > 0) return [added(true, content, { stopReason: 'aborted', usage: UNKNOWN_USAGE })];
  return open.begun ? [{ type: 'message_discarded', at, runId, turnIndex, attempt, reason: 'interrupted' }] : [];
}

interface MessageRest {
  readonly stopReason: StopReason;
  readonly usage: Usage;
  readonly rawStopReason?: string;
  readonly errorMessage?: string;
  readonly containerId?: string;
}
