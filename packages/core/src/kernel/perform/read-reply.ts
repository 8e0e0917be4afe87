import { meterFor } from '../features.ts';
import { errorText } from '../../errors.ts';
import type { Model, ModelError, ModelEvent, ModelEventIterator, ModelRequest } from '../../model/model.ts';
import { checkUsage } from '../../model/check-usage.ts';
import { UNKNOWN_USAGE, type Usage } from '../../model/usage.ts';
import { runOf, type PerformContext } from '../context.ts';
import type { OpenMessage } from './open-message.ts';
import { headOf } from '../../messages/cut.ts';
import { ReplySize, type SizeExcess } from '../services/reply-size.ts';
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

/**
 * Sends the request and reads the reply into the open message; `done` is told how it ended, once. Written as steps:
 * every async function that waits for a model keeps a frame, two functions and a promise, and a thousand runs may wait.
 */
export function readReply(
  context: PerformContext,
  call: Call,
  signal: AbortSignal,
  done: (ending: Ending) => void,
): void {
  new Reading(context, call, signal, done).start();
}

class Reading {
  private readonly context: PerformContext;
  private readonly call: Call;
  private readonly signal: AbortSignal;
  private readonly done: (ending: Ending) => void;
  private readonly meter: ReturnType<typeof meterFor>;
  private readonly size: ReplySize;
  private iterator: ModelEventIterator | null = null;

  constructor(context: PerformContext, call: Call, signal: AbortSignal, done: (ending: Ending) => void) {
    this.context = context;
    this.call = call;
    this.signal = signal;
    this.done = done;
    this.meter = meterFor(call.step.money?.stopAfter);
    this.size = new ReplySize(limitsOf(runOf(context.state), context.agent));
  }

  start(): void {
    const { state, agent } = this.context;
    const { model, step } = this.call;
    try {
      const written = modelRequest(state, agent, model, step.money?.maxTokens);
      if (!state.needsBlobs) return this.begin(written);
      requestWithBlobs(this.context, written)
        .then((request) => this.begin(request))
        .catch(this.failed);
    } catch (thrown) {
      this.failed(thrown);
    }
  }

  private begin(request: ModelRequest): void {
    if (this.signal.aborted) return this.done(INTERRUPTED);
    this.iterator = this.call.model.stream(request, this.signal)[Symbol.asyncIterator]();
    this.read(null);
  }

  private read(first: ModelEvent | null): void {
    const iterator = this.iterator;
    try {
      for (let event = first ?? iterator?.ready?.(); event !== undefined; event = iterator?.ready?.()) {
        const ending = this.take(event);
        if (ending) return this.leave(ending);
      }
      if (iterator) Promise.resolve(iterator.next()).then(this.received, this.failed);
    } catch (thrown) {
      this.failed(thrown);
    }
  }

  /** How this event ends the reply; null when it goes on. */
  private take(event: ModelEvent): Ending | null {
    const meter = this.meter;
    if (this.signal.aborted) return INTERRUPTED;
    if (meter?.take(event) === true) return { type: 'overspent', outputTokens: meter.outputTokens() };
    const excess = this.size.take(event);
    if (excess) return this.cutOff(event, excess);
    if (event.type === 'finish') return { type: 'finished', finish: this.checked(event) };
    if (event.type === 'error')
      return { type: 'failed', error: event.error, usage: checkUsage(event.usage ?? UNKNOWN_USAGE).usage };
    const { observed, emit } = this.context;
    const { open, facts } = this.call;
    if (event.type === 'start') {
      facts.model = event.model ?? null;
      facts.responseId = event.responseId ?? null;
      facts.containerId = event.containerId ?? null;
      // Watchers are told to begin again too.
      if (open.restart() && observed()) emit(open.started());
      return null;
    }
    this.show(event);
    return null;
  }

  /** A model may be anybody's: what it counts is checked once more. */
  private checked(finish: Finish): Finish {
    const { usage, warning } = checkUsage(finish.usage);
    const truncated = promptWarning(this.context.state.view, usage);
    if (!warning && !truncated) return finish;
    const found = [warning, truncated].filter((one) => one !== null);
    return { ...finish, usage, warnings: [...(finish.warnings ?? []), ...found] };
  }

  private show(event: ModelEvent): void {
    const { observed, emit } = this.context;
    const live = this.call.open.take(event, observed());
    if (live) emit(live);
  }

  /** What is within the limit is part of the reply. */
  private cutOff(event: ModelEvent, { limit, keep }: SizeExcess): Ending {
    if ('text' in event) this.show({ ...event, text: headOf(event.text, keep) });
    return { type: 'too_long', limit };
  }

  /** Lets go of the stream first: its model may have something to close. */
  private leave(ending: Ending): void {
    const left = this.iterator?.return?.();
    if (left === undefined) this.done(ending);
    else Promise.resolve(left).then(() => this.done(ending), this.failed);
  }

  private readonly received = (next: IteratorResult<ModelEvent>): void => {
    if (next.done !== true) this.read(next.value);
    else this.done(this.signal.aborted ? INTERRUPTED : unfinished());
  };

  private readonly failed = (thrown: unknown): void => this.done(threw(thrown));
}
