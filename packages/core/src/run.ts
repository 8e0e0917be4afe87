import { asError } from './as-error.ts';
import type { DurableEvent, RunEnd, TreadleEvent } from './events/events.ts';
import { isDurable } from './events/events.ts';
import { runIdOf } from './events/run-of.ts';
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
  bound(): Promise<number>;
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

/** What is known of a run, and what was asked of it. */
interface RunFacts {
  readonly sources: RunSources;
  /** Replaced, never changed: a reader that leaves while it is told changes nothing for the others. */
  readers: readonly Reader[];
  boundTo: number | null;
  runId: string | null;
  fold: RunResultFold | null;
  /** Where a run began that an earlier drive has worked on. */
  startedSeq: number | null;
  isPaused: boolean;
  rejected: TreadleError | null;
  firstSeq: number | null;
  lastSeq: number;
  ended: RunEnd | null;
  done: { readonly error: unknown } | null;
  // Promises are made for who asks: few do for more than one, and of a thousand runs that wait each weighs.
  id: Deferred<string> | null;
  result: Deferred<RunResult> | null;
  end: Deferred<RunEnd | 'paused'> | null;
  bound: Deferred<number> | null;
}

/** A run before anything is known of it. It passes over what belongs to other runs of its session. */
export function createRun(sources: RunSources): RunControl {
  const facts: RunFacts = {
    sources,
    readers: NOBODY,
    boundTo: null,
    runId: null,
    fold: null,
    startedSeq: null,
    isPaused: false,
    rejected: null,
    firstSeq: null,
    lastSeq: 0,
    ended: null,
    done: null,
    id: null,
    result: null,
    end: null,
    bound: null,
  };
  return new Control(facts);
}

const NOBODY: readonly Reader[] = [];

/** A class, so that a run is made without a function for each of these. */
class Control implements RunControl {
  readonly run: Run;
  readonly #facts: RunFacts;

  constructor(facts: RunFacts) {
    this.#facts = facts;
    this.run = runOf(facts);
  }

  take(event: TreadleEvent): void {
    take(this.#facts, event);
  }
  finish(error?: unknown): void {
    finish(this.#facts, error);
  }
  bound(): Promise<number> {
    return boundOf(this.#facts);
  }
  isWatched(): boolean {
    return this.#facts.readers.length > 0;
  }
  endedAs(): RunEnd | null {
    return this.#facts.ended;
  }
  isOver(): boolean {
    const { done, ended, isPaused } = this.#facts;
    return done !== null || ended !== null || isPaused;
  }
  bind(inputSeq: number, known?: { readonly runId: string; readonly startedSeq: number }): void {
    const facts = this.#facts;
    facts.boundTo = inputSeq;
    if (known) {
      facts.runId = known.runId;
      facts.startedSeq = known.startedSeq;
      facts.id?.resolve(known.runId);
    }
    facts.bound?.resolve(inputSeq);
  }
}

const FACTS = Symbol('facts');

/** What runs have in common: a getter in every run's own object would make each of them a dictionary. */
const ASKED = {
  get id(): Promise<string> {
    return idOf(factsOf(this));
  },
  get result(): Promise<RunResult> {
    return resultOf(factsOf(this));
  },
  get end(): Promise<RunEnd | 'paused'> {
    return endOf(factsOf(this));
  },
};

// A property like any other, so that what is put around a run finds it.
const factsOf = (run: object): RunFacts => (run as { readonly [FACTS]: RunFacts })[FACTS];

function runOf(facts: RunFacts): Run {
  const own = Object.create(ASKED) as Record<symbol | 'abort', unknown>;
  own[FACTS] = facts;
  own.abort = (reason?: string) => facts.sources.abort(reason);
  own[Symbol.asyncIterator] = () => open(facts);
  return own as object as Run;
}

function idOf(facts: RunFacts): Promise<string> {
  if (!facts.id) {
    facts.id = quiet();
    if (facts.runId !== null) facts.id.resolve(facts.runId);
    else if (facts.done?.error !== undefined) facts.id.reject(facts.done.error);
  }
  return facts.id.promise;
}

function boundOf(facts: RunFacts): Promise<number> {
  if (!facts.bound) {
    facts.bound = quiet();
    if (facts.boundTo !== null) facts.bound.resolve(facts.boundTo);
    else if (facts.done?.error !== undefined) facts.bound.reject(facts.done.error);
  }
  return facts.bound.promise;
}

function endOf(facts: RunFacts): Promise<RunEnd | 'paused'> {
  if (!facts.end) {
    facts.end = quiet();
    if (facts.done) settleEnd(facts, facts.end, facts.done.error);
  }
  return facts.end.promise;
}

function resultOf(facts: RunFacts): Promise<RunResult> {
  if (!facts.result) {
    facts.result = quiet();
    if (facts.done) settleResult(facts, facts.result, facts.done.error);
  }
  return facts.result.promise;
}

function settleEnd({ ended }: RunFacts, end: Deferred<RunEnd | 'paused'>, failure: unknown): void {
  if (failure === undefined) end.resolve(ended ?? 'paused');
  else end.reject(failure);
}

function settleResult(facts: RunFacts, result: Deferred<RunResult>, failure: unknown): void {
  if (failure !== undefined) result.reject(failure);
  else if (facts.fold) result.resolve(facts.fold.result());
  else void wholeResult(facts).then(result.resolve, result.reject);
}

/** What this drive has seen is the end of it. */
async function wholeResult({ sources, runId, startedSeq, lastSeq }: RunFacts): Promise<RunResult> {
  const whole = runResultFold(runId ?? '');
  for await (const event of sources.read(startedSeq ?? 1)) {
    if (event.seq > lastSeq) break;
    whole.take(event);
  }
  return whole.result();
}

function isOurs(facts: RunFacts, event: TreadleEvent): boolean {
  if (facts.ended !== null) return false;
  if (event.type === 'input_rejected' && event.inputSeq === facts.boundTo) {
    facts.rejected = new TreadleError('run_active', event.reason);
  }
  if ((event.type === 'run_started' || event.type === 'run_ended') && event.inputSeq === facts.boundTo) {
    facts.runId = event.runId;
    facts.fold = runResultFold(event.runId);
    facts.id?.resolve(event.runId);
  }
  const of = runIdOf(event);
  return of === undefined || of === facts.runId;
}

function take(facts: RunFacts, event: TreadleEvent): void {
  if (!isOurs(facts, event)) return;
  if (isDurable(event)) {
    facts.firstSeq ??= event.seq;
    facts.lastSeq = event.seq;
    facts.fold?.take(event);
    if (runIdOf(event) === facts.runId) facts.isPaused = event.type === 'run_paused';
    if (event.type === 'run_ended') facts.ended = event.end;
  }
  for (const reader of facts.readers) reader.push(event);
}

function finish(facts: RunFacts, error: unknown): void {
  // A run that has its end in the log is not undone by what failed after it.
  const isSettled = facts.ended !== null || facts.isPaused;
  const failure = isSettled ? undefined : (error ?? facts.rejected ?? unfinished());
  facts.done = { error: failure };
  if (facts.end) settleEnd(facts, facts.end, failure);
  if (facts.result) settleResult(facts, facts.result, failure);
  if (failure !== undefined) {
    facts.id?.reject(failure);
    facts.bound?.reject(failure);
  }
  const { readers } = facts;
  facts.readers = NOBODY;
  for (const reader of readers) reader.end(failure);
}

function open(facts: RunFacts): AsyncIterator<TreadleEvent> {
  const { sources, firstSeq, runId, lastSeq, done } = facts;
  const missed =
    firstSeq === null ? null : { runId, from: firstSeq, to: lastSeq, open: done ? [] : sources.openMessage() };
  const reader = new Reader(facts, missed ? missedEvents(sources, missed) : null);
  if (done) reader.end(done.error);
  else facts.readers = facts.readers.length === 0 ? [reader] : [...facts.readers, reader];
  return reader;
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
    const of = runIdOf(event);
    if (of === undefined || of === missed.runId) yield event;
  }
  yield* missed.open;
}

interface Waiter {
  readonly resolve: (next: IteratorResult<TreadleEvent>) => void;
  readonly reject: (error: unknown) => void;
}

/** An event that nobody has asked for yet. */
interface Queued {
  event: TreadleEvent;
  next: Queued | null;
}

const END: IteratorResult<TreadleEvent> = { done: true, value: undefined };

/**
 * A queue with one reader. Written by hand: an async generator here would cost several times as much per delta. It is a
 * chain, for it is empty nearly always, and to fill a list anew each time costs more.
 */
class Reader implements AsyncIterator<TreadleEvent> {
  readonly #facts: RunFacts;
  /** What came before it, while it reads that. */
  #missed: AsyncIterator<TreadleEvent> | null;
  #first: Queued | null = null;
  #last: Queued | null = null;
  #length = 0;
  // Almost always one waits at most: whoever reads with `for await` asks for the next when it has the last.
  #resolve: Waiter['resolve'] | null = null;
  #reject: Waiter['reject'] | null = null;
  #others: Waiter[] | null = null;
  #ended: { readonly error: unknown } | null = null;
  /** Made once, for there is a promise for nearly every event. */
  readonly #wait = (resolve: Waiter['resolve'], reject: Waiter['reject']): void => {
    if (this.#resolve) (this.#others ??= []).push({ resolve, reject });
    else {
      this.#resolve = resolve;
      this.#reject = reject;
    }
  };

  constructor(facts: RunFacts, missed: AsyncIterator<TreadleEvent> | null) {
    this.#facts = facts;
    this.#missed = missed;
  }

  push(event: TreadleEvent): void {
    const resolve = this.#resolve;
    if (resolve) {
      this.#nextWaiter();
      resolve({ done: false, value: event });
      return;
    }
    const last = this.#last;
    const joined = last && this.#length > MOST_QUEUED ? joinDeltas(last.event, event) : null;
    if (last && joined) last.event = joined;
    else this.#queue({ event, next: null });
  }

  end(error: unknown): void {
    this.#ended = { error };
    for (;;) {
      const resolve = this.#resolve;
      const reject = this.#reject;
      if (!resolve || !reject) return;
      this.#nextWaiter();
      if (error === undefined) resolve(END);
      else reject(asError(error));
    }
  }

  // These may be taken off it and handed on.
  readonly next = (): Promise<IteratorResult<TreadleEvent>> =>
    this.#missed ? this.#fromMissed(this.#missed) : this.#fromQueue();
  readonly return = (): Promise<IteratorResult<TreadleEvent>> => this.#leave();

  #leave(): Promise<IteratorResult<TreadleEvent>> {
    const facts = this.#facts;
    facts.readers = facts.readers.filter((other) => other !== this);
    this.#missed = null;
    this.#first = this.#last = null;
    this.#length = 0;
    this.end(undefined);
    return Promise.resolve(END);
  }

  #nextWaiter(): void {
    const next = this.#others?.shift();
    this.#resolve = next?.resolve ?? null;
    this.#reject = next?.reject ?? null;
  }

  #queue(queued: Queued): void {
    if (this.#last) this.#last.next = queued;
    else this.#first = queued;
    this.#last = queued;
    this.#length += 1;
  }

  #fromQueue(): Promise<IteratorResult<TreadleEvent>> {
    const first = this.#first;
    if (first) {
      this.#first = first.next;
      if (first.next === null) this.#last = null;
      this.#length -= 1;
      return Promise.resolve({ done: false, value: first.event });
    }
    if (!this.#ended) return new Promise(this.#wait);
    const { error } = this.#ended;
    return error === undefined ? Promise.resolve(END) : Promise.reject(asError(error));
  }

  async #fromMissed(source: AsyncIterator<TreadleEvent>): Promise<IteratorResult<TreadleEvent>> {
    const next = await source.next();
    if (next.done !== true) return next;
    this.#missed = null;
    return this.#fromQueue();
  }
}

/** Two neighbouring deltas of one block as one; null when they aren't. */
function joinDeltas(first: TreadleEvent, second: TreadleEvent): TreadleEvent | null {
  if (first.type !== 'message_delta' || second.type !== 'message_delta') return null;
  const same = first.messageId === second.messageId && first.index === second.index && first.kind === second.kind;
  return same ? { ...second, offset: first.offset, text: first.text + second.text } : null;
}

interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

/** Whoever asks and doesn't wait must not be hit by an unhandled rejection; iterating tells of the failure too. */
function quiet<Value>(): Deferred<Value> {
  let settle: { resolve: (value: Value) => void; reject: (error: unknown) => void } | null = null;
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject };
  });
  promise.catch(() => {});
  return {
    promise,
    resolve: (value) => settle?.resolve(value),
    reject: (error) => settle?.reject(asError(error)),
  };
}
