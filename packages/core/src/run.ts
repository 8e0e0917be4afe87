import type { DurableEvent, TreadleEvent } from './events/events.ts';
import { isDurable } from './events/events.ts';
import { TreadleError } from './errors.ts';
import { runResultFold, type RunResult, type RunResultFold } from './projections/run-result.ts';

/**
 * One course of the loop. Iterate it for its events (durable ones, and the live ones from when you begin; a late reader
 * first gets what it missed), or just await `result`. Reading slowly or not at all never slows the run.
 */
export interface Run extends AsyncIterable<TreadleEvent> {
  /** The run's id, once its start is in the log. */
  readonly id: Promise<string>;
  /**
   * What it came to. A model that fails or a limit that is reached is a result; it rejects with a `TreadleError` only
   * when the run could not be driven: the session is busy, the journal failed.
   */
  readonly result: Promise<RunResult>;
  /** Cancels the run: acknowledged once it is in the log. The run then ends as `aborted`. */
  abort(reason?: string): Promise<void>;
}

/** What a session does with the run it has handed out. */
export interface RunControl {
  readonly run: Run;
  take(event: TreadleEvent): void;
  /** The drive has let go: whatever came of the run is final. */
  finish(error?: unknown): void;
}

/** How a run reads what it no longer holds. */
export interface RunSources {
  /** The durable events from `from` on. */
  read(from: number): AsyncIterable<DurableEvent>;
  /** The message being streamed, from its beginning. */
  openMessage(): readonly TreadleEvent[];
  abort(reason: string | undefined): Promise<void>;
}

/** Live deltas a slow reader may be behind before neighbouring ones are joined. */
const MOST_QUEUED = 1024;

/**
 * @param known The id and first event of a run that is being resumed; absent when its start is still to come.
 */
export function createRun(
  sources: RunSources,
  known?: { readonly runId: string; readonly fold: RunResultFold },
): RunControl {
  const readers = new Set<Reader>();
  const id = deferred<string>();
  const result = deferred<RunResult>();
  let fold = known?.fold ?? null;
  let firstSeq: number | null = null;
  let lastSeq = 0;
  let done: { readonly error: unknown } | null = null;
  if (known) id.resolve(known.runId);
  // Whoever doesn't ask for these must not be hit by an unhandled rejection; iterating tells of the failure too.
  id.promise.catch(() => {});
  result.promise.catch(() => {});

  function take(event: TreadleEvent): void {
    if (isDurable(event)) {
      firstSeq ??= event.seq;
      lastSeq = event.seq;
      if (event.type === 'run_started' && fold?.isSettled !== false) {
        fold = runResultFold(event.runId);
        id.resolve(event.runId);
      }
      fold?.take(event);
    }
    for (const reader of readers) reader.push(event);
  }

  function finish(error?: unknown): void {
    const failure = error ?? (fold?.isSettled ? undefined : unfinished());
    done = { error: failure };
    if (failure === undefined && fold) result.resolve(fold.result());
    else {
      id.reject(failure);
      result.reject(failure);
    }
    for (const reader of readers) reader.end(failure);
    readers.clear();
  }

  function open(): AsyncIterator<TreadleEvent> {
    const missed = firstSeq === null ? null : { from: firstSeq, to: lastSeq, open: sources.openMessage() };
    const reader = createReader(missed ? missedEvents(sources, missed) : null, () => readers.delete(reader));
    if (done) reader.end(done.error);
    else readers.add(reader);
    return reader;
  }

  const run: Run = {
    id: id.promise,
    result: result.promise,
    abort: (reason) => sources.abort(reason),
    [Symbol.asyncIterator]: open,
  };
  return { run, take, finish };
}

const unfinished = (): TreadleError =>
  new TreadleError('internal', 'The drive let go of the session before the run had ended or paused.');

/** What a reader who comes late has missed: from the log, then the message that is open. */
async function* missedEvents(
  sources: RunSources,
  { from, to, open }: { readonly from: number; readonly to: number; readonly open: readonly TreadleEvent[] },
): AsyncGenerator<TreadleEvent> {
  for await (const event of sources.read(from)) {
    if (event.seq > to) break;
    yield event;
  }
  yield* open;
}

interface Reader extends AsyncIterator<TreadleEvent> {
  push(event: TreadleEvent): void;
  end(error: unknown): void;
}

/** A queue with one reader. Written by hand: an async generator here would cost several times as much per delta. */
function createReader(missed: AsyncIterator<TreadleEvent> | null, left: () => void): Reader {
  const END: IteratorResult<TreadleEvent> = { done: true, value: undefined };
  let queue: TreadleEvent[] = [];
  let head = 0;
  let waiting: { resolve: (next: IteratorResult<TreadleEvent>) => void; reject: (error: unknown) => void } | null =
    null;
  let ended: { readonly error: unknown } | null = null;
  let catchingUp = missed;

  function push(event: TreadleEvent): void {
    if (waiting) {
      const { resolve } = waiting;
      waiting = null;
      resolve({ done: false, value: event });
      return;
    }
    const last = queue.length - head > MOST_QUEUED ? queue.at(-1) : undefined;
    const joined = last && joinDeltas(last, event);
    if (joined) queue[queue.length - 1] = joined;
    else queue.push(event);
  }

  function fromQueue(): Promise<IteratorResult<TreadleEvent>> {
    const value = queue[head];
    if (value !== undefined) {
      head += 1;
      if (head === queue.length) {
        queue = [];
        head = 0;
      }
      return Promise.resolve({ done: false, value });
    }
    if (ended) return ended.error === undefined ? Promise.resolve(END) : Promise.reject(asError(ended.error));
    return new Promise((resolve, reject) => {
      waiting = { resolve, reject };
    });
  }

  async function fromMissed(source: AsyncIterator<TreadleEvent>): Promise<IteratorResult<TreadleEvent>> {
    const next = await source.next();
    if (next.done !== true) return next;
    catchingUp = null;
    return fromQueue();
  }

  return {
    push,
    end(error) {
      ended = { error };
      if (!waiting) return;
      if (error === undefined) waiting.resolve(END);
      else waiting.reject(asError(error));
      waiting = null;
    },
    next: () => (catchingUp ? fromMissed(catchingUp) : fromQueue()),
    return() {
      left();
      ended = { error: undefined };
      queue = [];
      head = 0;
      catchingUp = null;
      waiting?.resolve(END);
      waiting = null;
      return Promise.resolve(END);
    },
  };
}

/** Two neighbouring deltas of one block as one; null when they aren't. */
function joinDeltas(first: TreadleEvent, second: TreadleEvent): TreadleEvent | null {
  if (first.type !== 'message_delta' || second.type !== 'message_delta') return null;
  const same = first.messageId === second.messageId && first.index === second.index && first.kind === second.kind;
  return same ? { ...second, offset: first.offset, text: first.text + second.text } : null;
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

function deferred<Value>(): {
  readonly promise: Promise<Value>;
  resolve(value: Value): void;
  reject(error: unknown): void;
} {
  let settle: { resolve: (value: Value) => void; reject: (error: unknown) => void } | null = null;
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return {
    promise,
    resolve: (value) => settle?.resolve(value),
    reject: (error) => settle?.reject(asError(error)),
  };
}
