import {
  errorText,
  systemClock,
  type Clock,
  type Model,
  type ModelEvent,
  type ModelMessage,
  type ModelRequest,
} from '@treadle/core';
import { decide } from './plan.ts';
import { eventsOf, replyOf, tokensOf, type Pace } from './stream.ts';

/** Settings of {@link offlineModel}. */
export interface OfflineModelOptions {
  /** Milliseconds between two streamed events, to be seen streaming. Default 0: at once. */
  readonly delayMs?: number;
  /** For `delayMs`. Default: the machine's clock. */
  readonly clock?: Clock;
}

const PROVIDER = 'offline';
const ID = 'offline-1';

/**
 * A model of rules: deterministic, without a key, a network or a language model. It understands a small set of requests in
 * English (see `docs/offline-model.md`), plans several turns, and calls the tools `list_files`, `read_file`, `search`,
 * `write_file`, `edit_file` and `bash` with arguments from the prompt and from earlier results. It keeps nothing between
 * calls: every turn is decided from the messages of the request. Its final answers say what it is.
 *
 * Usage is an estimate, four characters a token, and costs nothing. `maxTokens` and `stopSequences` are honoured; a
 * `toolChoice` that demands a call is not: it calls a tool when the job needs one.
 *
 * @example
 * ```ts
 * import { offlineModel } from '@treadle/models/offline';
 *
 * const model = offlineModel();
 * console.log(model.provider, model.id); // offline offline-1
 * ```
 */
export function offlineModel(options: OfflineModelOptions = {}): Model {
  const pace: Pace = { clock: options.clock ?? systemClock, delayMs: options.delayMs ?? 0 };
  // A message's size never changes, and messages are shared between the calls of a run.
  const sizes = new WeakMap<ModelMessage, number>();
  const sizeOf = (message: ModelMessage): number => {
    const known = sizes.get(message);
    if (known !== undefined) return known;
    const size = JSON.stringify(message.content).length;
    sizes.set(message, size);
    return size;
  };
  return {
    provider: PROVIDER,
    id: ID,
    contextWindow: 1_000_000,
    cost: () => 0,
    stream: (request, signal) => ({
      [Symbol.asyncIterator]: () => iterate(request, signal, pace, sizeOf),
    }),
  };
}

/** One stream. The plan is made when the first event is asked for. */
function iterate(
  request: ModelRequest,
  signal: AbortSignal,
  pace: Pace,
  sizeOf: (message: ModelMessage) => number,
): AsyncIterator<ModelEvent> {
  let source: { next(): ModelEvent | undefined } | undefined;
  let over = false;
  const end = (event: ModelEvent): IteratorResult<ModelEvent> => {
    over = true;
    return { done: false, value: event };
  };
  const step = (): IteratorResult<ModelEvent> => {
    if (over) return { done: true, value: undefined };
    if (signal.aborted)
      return end({ type: 'error', error: { kind: 'cancelled', message: 'The call was cancelled.', retryable: false } });
    try {
      source ??= eventsOf(replyTo(request, sizeOf), request, ID);
    } catch (thrown) {
      const message = `The offline model failed: ${errorText(thrown)}`;
      return end({ type: 'error', error: { kind: 'other', message, retryable: false } });
    }
    const event = source.next();
    if (event !== undefined) return { done: false, value: event };
    over = true;
    return { done: true, value: undefined };
  };
  return {
    next: () => (pace.delayMs > 0 && !over ? paused(pace, signal).then(step) : Promise.resolve(step())),
    return: () => {
      over = true;
      return Promise.resolve({ done: true, value: undefined });
    },
  };
}

function replyTo(request: ModelRequest, sizeOf: (message: ModelMessage) => number): ReturnType<typeof replyOf> {
  let characters = request.system.length;
  let calls = 0;
  for (const message of request.messages) {
    characters += sizeOf(message);
    if (message.role === 'assistant') calls += message.content.filter((block) => block.type === 'tool_call').length;
  }
  for (const tool of request.tools) characters += tool.name.length + tool.description.length;
  return replyOf(decide(request, PROVIDER), tokensOf(characters), calls);
}

/** Resolves after the delay, or at once when the signal aborts. */
function paused(pace: Pace, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = (): void => {
      cancel();
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const cancel = pace.clock.after(pace.delayMs, wake);
    signal.addEventListener('abort', wake);
  });
}
