import { asError } from '../as-error.ts';
import type { TreadleEvent } from '../events/events.ts';

type Next = IteratorResult<TreadleEvent>;

const END: Next = { done: true, value: undefined };

/** Live deltas a slow reader may be behind before neighbouring ones are joined. */
const MOST_QUEUED = 1024;

/** A run's events for one reader: those it missed, read from `missed`, then what `push` adds. */
export class RunReader implements AsyncIterator<TreadleEvent> {
  #missed: AsyncIterator<TreadleEvent> | null;
  #events: TreadleEvent[] = [];
  /** Events at the start of `#events` that were read. */
  #read = 0;
  /** Calls of `next` that wait for an event. */
  #waiting: PromiseWithResolvers<Next>[] = [];
  #ended: { readonly error: unknown } | null = null;
  readonly #onLeave: (reader: RunReader) => void;

  constructor(missed: AsyncIterator<TreadleEvent> | null, onLeave: (reader: RunReader) => void) {
    this.#missed = missed;
    this.#onLeave = onLeave;
  }

  push(event: TreadleEvent): void {
    const waiter = this.#waiting.shift();
    if (waiter) return waiter.resolve({ done: false, value: event });
    const last = this.#events.length - 1;
    const joined = last - this.#read >= MOST_QUEUED ? joinDeltas(this.#events[last], event) : null;
    if (joined) this.#events[last] = joined;
    else this.#events.push(event);
  }

  end(error?: unknown): void {
    this.#ended = { error };
    for (const waiter of this.#waiting.splice(0)) this.#end().then(waiter.resolve, waiter.reject);
  }

  // Functions of their own, because callers take them off the iterator.
  readonly next = (): Promise<Next> => (this.#missed ? this.#nextMissed(this.#missed) : this.#nextLive());

  readonly return = async (): Promise<Next> => {
    const missed = this.#missed;
    this.#missed = null;
    this.#events = [];
    this.#read = 0;
    this.#onLeave(this);
    this.end();
    await missed?.return?.();
    return END;
  };

  async #nextMissed(missed: AsyncIterator<TreadleEvent>): Promise<Next> {
    const next = await missed.next();
    if (next.done !== true) return next;
    this.#missed = null;
    return this.#nextLive();
  }

  #nextLive(): Promise<Next> {
    const event = this.#events[this.#read];
    if (event === undefined) return this.#ended ? this.#end() : this.#wait();
    this.#read += 1;
    // When most of them were read, so that the work per event stays constant.
    if (this.#read * 2 > this.#events.length) {
      this.#events.splice(0, this.#read);
      this.#read = 0;
    }
    return Promise.resolve({ done: false, value: event });
  }

  #wait(): Promise<Next> {
    const waiter = Promise.withResolvers<Next>();
    this.#waiting.push(waiter);
    return waiter.promise;
  }

  async #end(): Promise<Next> {
    if (this.#ended?.error === undefined) return END;
    throw asError(this.#ended.error);
  }
}

/** Two neighbouring deltas of one block as one; null for other events. */
function joinDeltas(first: TreadleEvent | undefined, second: TreadleEvent): TreadleEvent | null {
  if (first?.type !== 'message_delta' || second.type !== 'message_delta') return null;
  const isSameBlock =
    first.messageId === second.messageId && first.index === second.index && first.kind === second.kind;
  return isSameBlock ? { ...second, offset: first.offset, text: first.text + second.text } : null;
}
