import type { DurableEvent, RunEnd, TreadleEvent } from './events/events.ts';
import { isDurable } from './events/events.ts';
import { TreadleError } from './errors.ts';
import type { Follower } from './loop/hub.ts';
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
   * when the run could not be driven: the session is busy, the journal failed. Of a run that an earlier drive began it has
   * what was before too, which is read from the log when somebody asks for it.
   */
  readonly result: Promise<RunResult>;
  /** How it ended, or that it paused. It rejects as `result` does, and nothing is read for it. */
  readonly end: Promise<RunEnd | 'paused'>;
  /** Cancels the run: acknowledged once it is in the log. The run then ends as `aborted`. */
  abort(reason?: string): Promise<void>;
}

/** What a session does with the run it has handed out. */
export interface RunControl extends Follower {
  readonly run: Run;
  /** Says which input the run answers, once that is in the log; with `known`, the run began there, at event `startedSeq`. */
  bind(inputSeq: number, known?: { readonly runId: string; readonly startedSeq: number }): void;
  /** The input it answers; rejects when the run could not be started. */
  readonly bound: Promise<number>;
  /** Whether it has ended, paused or failed, for good. */
  isOver(): boolean;
  /** How it has ended; null before, and when it only paused. */
  endedAs(): RunEnd | null;
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

/** A run before anything is known of it. It passes over what belongs to other runs of its session. */
export function createRun(sources: RunSources): RunControl {
  const readers = new Set<Reader>();
  const id = deferred<string>();
  const result = deferred<RunResult>();
  const end = deferred<RunEnd | 'paused'>();
  const bound = deferred<number>();
  let boundTo: number | null = null;
  let runId: string | null = null;
  let fold: RunResultFold | null = null;
  /** Where a run began that an earlier drive has worked on. */
  let startedSeq: number | null = null;
  let isPaused = false;
  let isWanted = false;
  let rejected: TreadleError | null = null;
  let firstSeq: number | null = null;
  let lastSeq = 0;
  let ended: RunEnd | null = null;
  let done: { readonly error: unknown } | null = null;
  // Whoever doesn't ask for these must not be hit by an unhandled rejection; iterating tells of the failure too.
  for (const { promise } of [id, result, bound, end]) promise.catch(() => {});

  function isOurs(event: TreadleEvent): boolean {
    if (ended !== null) return false;
    if (event.type === 'input_rejected' && event.inputSeq === boundTo) {
      rejected = new TreadleError('run_active', event.reason);
    }
    if ((event.type === 'run_started' || event.type === 'run_ended') && event.inputSeq === boundTo) {
      ({ runId } = event);
      fold = runResultFold(runId);
      id.resolve(runId);
    }
    const of = 'runId' in event ? event.runId : undefined;
    return of === undefined || of === runId;
  }

  function take(event: TreadleEvent): void {
    if (!isOurs(event)) return;
    if (isDurable(event)) {
      firstSeq ??= event.seq;
      lastSeq = event.seq;
      fold?.take(event);
      if ('runId' in event && event.runId === runId) isPaused = event.type === 'run_paused';
      if (event.type === 'run_ended') ended = event.end;
    }
    for (const reader of readers) reader.push(event);
  }

  function finish(error?: unknown): void {
    // A run that has its end in the log is not undone by what failed after it.
    const isSettled = ended !== null || isPaused;
    const failure = isSettled ? undefined : (error ?? rejected ?? unfinished());
    done = { error: failure };
    if (failure === undefined) {
      end.resolve(ended ?? 'paused');
      if (isWanted) giveResult();
    } else for (const open of [id, result, bound, end]) open.reject(failure);
    for (const reader of readers) reader.end(failure);
    readers.clear();
  }

  function giveResult(): void {
    if (fold) result.resolve(fold.result());
    else void wholeResult().then(result.resolve, result.reject);
  }

  /** What this drive has seen is the end of it. */
  async function wholeResult(): Promise<RunResult> {
    const whole = runResultFold(runId ?? '');
    for await (const event of sources.read(startedSeq ?? 1)) {
      if (event.seq > lastSeq) break;
      whole.take(event);
    }
    return whole.result();
  }

  function open(): AsyncIterator<TreadleEvent> {
    const missed =
      firstSeq === null ? null : { runId, from: firstSeq, to: lastSeq, open: done ? [] : sources.openMessage() };
    const reader = createReader(missed ? missedEvents(sources, missed) : null, () => readers.delete(reader));
    if (done) reader.end(done.error);
    else readers.add(reader);
    return reader;
  }

  const run: Run = {
    id: id.promise,
    get result() {
      if (done && !isWanted && done.error === undefined) giveResult();
      isWanted = true;
      return result.promise;
    },
    end: end.promise,
    abort: (reason) => sources.abort(reason),
    [Symbol.asyncIterator]: open,
  };
  return {
    run,
    take,
    finish,
    bound: bound.promise,
    isWatched: () => readers.size > 0,
    endedAs: () => ended,
    isOver: () => done !== null || ended !== null || isPaused,
    bind(inputSeq, known) {
      boundTo = inputSeq;
      if (known) {
        ({ runId, startedSeq } = known);
        id.resolve(runId);
      }
      bound.resolve(inputSeq);
    },
  };
}

const unfinished = (): TreadleError =>
  new TreadleError('internal', 'The drive let go of the session before the run had ended or paused.');

/** What a reader who comes late has missed: from the log, then the message that is open. */
async function* missedEvents(
  sources: RunSources,
  missed: {
    readonly runId: string | null;
    readonly from: number;
    readonly to: number;
    readonly open: readonly TreadleEvent[];
  },
): AsyncGenerator<TreadleEvent> {
  for await (const event of sources.read(missed.from)) {
    if (event.seq > missed.to) break;
    if (!('runId' in event) || event.runId === undefined || event.runId === missed.runId) yield event;
  }
  yield* missed.open;
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
  const waiting: { resolve: (next: IteratorResult<TreadleEvent>) => void; reject: (error: unknown) => void }[] = [];
  let ended: { readonly error: unknown } | null = null;
  let catchingUp = missed;

  function push(event: TreadleEvent): void {
    const next = waiting.shift();
    if (next) {
      next.resolve({ done: false, value: event });
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
      waiting.push({ resolve, reject });
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
      for (const { resolve, reject } of waiting.splice(0)) {
        if (error === undefined) resolve(END);
        else reject(asError(error));
      }
    },
    next: () => (catchingUp ? fromMissed(catchingUp) : fromQueue()),
    return() {
      left();
      ended = { error: undefined };
      queue = [];
      head = 0;
      catchingUp = null;
      for (const { resolve } of waiting.splice(0)) resolve(END);
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
