import { meterFor, unwrapCalls } from '../features.ts';
import { errorText } from '../../errors.ts';
import type { Model, ModelError, ModelEvent, ModelEventIterator } from '../../model/model.ts';
import { checkUsage } from '../../model/check-usage.ts';
import { UNKNOWN_USAGE, type Usage } from '../../model/usage.ts';
import { runOf, type PerformContext } from '../context.ts';
import type { OpenMessage } from './open-message.ts';
import { headOf } from '../../messages/cut.ts';
import { ReplySize } from '../services/reply-size.ts';
import type { SizeLimit } from '../../events/limits.ts';
import { limitsOf } from '../services/run-limits.ts';
import { promptWarning } from '../../messages/prompt-size.ts';
import { modelRequest } from './request.ts';
import { requestWithBlobs } from '../services/request-blobs.ts';
import type { Step } from '../step.ts';

export type Finish = Extract<ModelEvent, { type: 'finish' }>;

/** How a stream ended. */
export type Ending =
  | { readonly type: 'finished'; readonly finish: Finish }
  | { readonly type: 'failed'; readonly error: ModelError; readonly usage: Usage }
  | { readonly type: 'interrupted' }
  /** Stopped after so many tokens, for there was no money for more. */
  | { readonly type: 'overspent'; readonly outputTokens: number }
  /** Stopped for its size. */
  | { readonly type: 'too_long'; readonly limit: SizeLimit };

/** What a stream said about itself besides its content. */
export interface StreamFacts {
  model: string | null;
  responseId: string | null;
  containerId: string | null;
}

/** One call of one model. */
export interface Call {
  readonly step: Extract<Step, { type: 'call_model' }>;
  readonly model: Model;
  readonly open: OpenMessage;
  readonly facts: StreamFacts;
}

export const INTERRUPTED: Ending = { type: 'interrupted' };

const threw = (thrown: unknown): Ending => {
  const message = `The model threw instead of streaming an error: ${errorText(thrown)}`;
  return { type: 'failed', error: { kind: 'other', message, retryable: false }, usage: UNKNOWN_USAGE };
};

const unfinished = (): Ending => {
  const message = 'The stream ended without saying that the message was finished.';
  return { type: 'failed', error: { kind: 'network', message, retryable: true }, usage: UNKNOWN_USAGE };
};

/** Sends the request and reads the reply into the open message. Never rejects. */
export async function readReply(context: PerformContext, call: Call, signal: AbortSignal): Promise<Ending> {
  const { model, step } = call;
  try {
    const written = modelRequest(context.state, context.agent, model, step.money?.maxTokens);
    const request = context.state.needsBlobs ? await requestWithBlobs(context, written) : written;
    if (signal.aborted) return INTERRUPTED;
    const sent: ModelEventIterator = model.stream(request, signal)[Symbol.asyncIterator]();
    const events = context.agent.toolSearch && !model.deferredTools ? unwrapCalls(sent) : sent;
    const take = createReader(context, call, signal);
    for (;;) {
      const ready = events.ready?.();
      const next = ready === undefined ? await events.next() : { done: false, value: ready };
      if (next.done === true) return signal.aborted ? INTERRUPTED : unfinished();
      const ending = take(next.value);
      if (ending === null) continue;
      // Lets go of the stream first: its model may have something to close.
      await events.return?.();
      return ending;
    }
  } catch (thrown) {
    return threw(thrown);
  }
}

/** Takes the events of one reply. Says how an event ends it; null when it goes on. */
function createReader(context: PerformContext, call: Call, signal: AbortSignal): (event: ModelEvent) => Ending | null {
  const { observed, emit } = context;
  const { open, facts } = call;
  const meter = meterFor(call.step.money?.stopAfter);
  const size = new ReplySize(limitsOf(runOf(context.state), context.agent));

  const show = (event: ModelEvent): void => {
    const live = open.take(event, observed());
    if (live) emit(live);
  };

  return (event) => {
    if (signal.aborted) return INTERRUPTED;
    if (meter?.take(event) === true) return { type: 'overspent', outputTokens: meter.outputTokens() };
    const excess = size.take(event);
    if (excess) {
      // What is within the limit is part of the reply.
      if ('text' in event) show({ ...event, text: headOf(event.text, excess.keep) });
      return { type: 'too_long', limit: excess.limit };
    }
    if (event.type === 'finish') return { type: 'finished', finish: checked(context, event) };
    if (event.type === 'error')
      return { type: 'failed', error: event.error, usage: checkUsage(event.usage ?? UNKNOWN_USAGE).usage };
    if (event.type !== 'start') show(event);
    else {
      facts.model = event.model ?? null;
      facts.responseId = event.responseId ?? null;
      facts.containerId = event.containerId ?? null;
      // Watchers are told to begin again too.
      if (open.restart() && observed()) emit(open.started());
    }
    return null;
  };
}

/** A model may be anybody's: what it counts is checked once more. */
function checked({ state }: PerformContext, finish: Finish): Finish {
  const { usage, warning } = checkUsage(finish.usage);
  const truncated = promptWarning(state.view, usage);
  if (!warning && !truncated) return finish;
  const found = [warning, truncated].filter((one) => one !== null);
  return { ...finish, usage, warnings: [...(finish.warnings ?? []), ...found] };
}
