import { errorText } from '../errors.ts';
import type { Model, ModelError, ModelEvent, ModelEventIterator, ModelRequest } from '../model/model.ts';
import { UNKNOWN_USAGE, type Usage } from '../model/usage.ts';
import type { PerformContext } from './context.ts';
import type { OpenMessage } from './open-message.ts';
import { modelRequest } from './request.ts';
import { requestWithBlobs } from './request-blobs.ts';
import { meterFor } from './settle-call.ts';
import type { Step } from './step.ts';

export type Finish = Extract<ModelEvent, { type: 'finish' }>;

/** How a stream ended. */
export type Ending =
  | { readonly type: 'finished'; readonly finish: Finish }
  | { readonly type: 'failed'; readonly error: ModelError; readonly usage: Usage }
  | { readonly type: 'interrupted' }
  /** Stopped after so many tokens, for there was no money for more. */
  | { readonly type: 'overspent'; readonly outputTokens: number };

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

/**
 * Sends the request and reads the reply into the open message; `done` is told how it ended, once. Written as steps:
 * every async function that waits for a model keeps a frame, two functions and a promise, and a thousand runs may wait.
 */
export function readReply(
  context: PerformContext,
  { step: { money }, model, open, facts }: Call,
  signal: AbortSignal,
  done: (ending: Ending) => void,
): void {
  const { agent, state, observed, emit } = context;
  const meter = meterFor(money?.stopAfter);
  let iterator: ModelEventIterator | null = null;

  const failed = (thrown: unknown): void => done(threw(thrown));

  /** How this event ends the reply; null when it goes on. */
  function take(event: ModelEvent): Ending | null {
    if (signal.aborted) return INTERRUPTED;
    if (meter?.take(event) === true) return { type: 'overspent', outputTokens: meter.outputTokens() };
    if (event.type === 'finish') return { type: 'finished', finish: event };
    if (event.type === 'error') return { type: 'failed', error: event.error, usage: event.usage ?? UNKNOWN_USAGE };
    if (event.type === 'start') {
      facts.model = event.model ?? null;
      facts.responseId = event.responseId ?? null;
      facts.containerId = event.containerId ?? null;
      // Watchers are told to begin again too.
      if (open.restart() && observed()) emit(open.started());
      return null;
    }
    const live = open.take(event, observed());
    if (live) emit(live);
    return null;
  }

  /** Lets go of the stream first: its model may have something to close. */
  function leave(ending: Ending): void {
    const left = iterator?.return?.();
    if (left === undefined) done(ending);
    else Promise.resolve(left).then(() => done(ending), failed);
  }

  function read(first: ModelEvent | null): void {
    try {
      for (let event = first ?? iterator?.ready?.(); event !== undefined; event = iterator?.ready?.()) {
        const ending = take(event);
        if (ending) return leave(ending);
      }
      if (iterator) Promise.resolve(iterator.next()).then(received, failed);
    } catch (thrown) {
      failed(thrown);
    }
  }

  function received(next: IteratorResult<ModelEvent>): void {
    if (next.done !== true) read(next.value);
    else done(signal.aborted ? INTERRUPTED : unfinished());
  }

  function begin(request: ModelRequest): void {
    if (signal.aborted) return done(INTERRUPTED);
    iterator = model.stream(request, signal)[Symbol.asyncIterator]();
    read(null);
  }

  try {
    const written = modelRequest(state, agent, model, money?.maxTokens);
    if (state.needsBlobs) requestWithBlobs(context, written).then(begin).catch(failed);
    else begin(written);
  } catch (thrown) {
    failed(thrown);
  }
}
