import { asError } from '../as-error.ts';
import { TreadleError } from '../errors.ts';
import type { DurableEvent, DurableEventBody } from '../events/events.ts';
import { outcomeAtOnce } from '../journal/at-once.ts';
import type { AppendOutcome, Journal } from '../journal/journal.ts';
import { reduce } from './reduce.ts';
import type { SessionState } from './state.ts';

/**
 * The one way a drive writes. It owns the expected sequence number: what tools record at the same moment shares an
 * append, and inputs posted by others are folded in between.
 */
export interface DriveLog {
  /** Records facts: something happened, and stays true whatever came in meanwhile. */
  record(events: readonly DurableEventBody[]): Promise<unknown>;
  /** Records a plan: false, with nothing written, when inputs came in since the state it was made from. */
  tryRecord(events: readonly DurableEventBody[]): Promise<boolean>;
  /** The session's events from this number on, those of others too. */
  read(from: number): AsyncIterable<DurableEvent>;
  /** Folds in what others have written. */
  catchUp(): Promise<void>;
  /** Resolves when something more was folded in, or `wake` is called. */
  change(): Promise<void>;
  wake(): void;
  /** Folds nothing more in, and resolves when what was going on has ended: then the state has one owner again. */
  close(): Promise<void>;
}

interface Job {
  readonly events: readonly DurableEventBody[];
  readonly isPlan: boolean;
  /** How much others had written when it was made. */
  readonly news: number;
  /** Whether it is in the log; null while that is open. */
  written: boolean | null;
  /** Whoever waits to hear that. */
  resolve: ((written: boolean) => void) | null;
  reject: ((error: unknown) => void) | null;
}

const READY = Promise.resolve();

export interface LogOptions {
  readonly journal: Journal;
  readonly state: SessionState;
  readonly epoch: number;
  /** Told of each event once it is durable and folded in. */
  readonly applied: (event: DurableEvent) => void;
  /** Told once, when the journal refuses or fails: nothing can be written any more. */
  readonly failed: (error: unknown) => void;
}

/** What a log is in the middle of. */
interface LogWork {
  readonly options: LogOptions;
  /** What waits for the next append; null for nothing. */
  jobs: Job[] | null;
  /** The jobs of the append that is under way. */
  writing: readonly Job[];
  pumping: boolean;
  /** The last append had nothing to wait for: nor has the next one, most likely. */
  isAtOnce: boolean;
  atRest: (() => void)[] | null;
  /** The last number heard of; only ever raised by what others write, so that no news is lost while reading. */
  heard: number;
  mustRead: boolean;
  /** How many events of others have been folded in. */
  news: number;
  closed: boolean;
  failure: { readonly error: unknown } | null;
  waiters: (() => void)[] | null;
  // Made once, for each append waits with one of them.
  readonly pump: () => void;
  readonly pumpFirst: () => boolean | Promise<boolean>;
}

/** A class, so that a drive makes no function for each of these. */
class WorkingLog implements DriveLog {
  readonly #work: LogWork;
  readonly #unwatch: () => void;

  constructor(work: LogWork) {
    const { journal, state } = work.options;
    this.#work = work;
    this.#unwatch = journal.watch(state.sessionId, (seq) => {
      work.heard = Math.max(work.heard, seq);
      if (seq > state.seq && !work.closed) start(work);
    });
  }

  record(events: readonly DurableEventBody[]): Promise<unknown> {
    return submit(this.#work, events, false);
  }
  tryRecord(events: readonly DurableEventBody[]): Promise<boolean> {
    return submit(this.#work, events, true);
  }
  read(from: number): AsyncIterable<DurableEvent> {
    const { journal, state } = this.#work.options;
    return journal.read(state.sessionId, from);
  }
  async catchUp(): Promise<void> {
    const work = this.#work;
    work.mustRead = true;
    start(work);
    while (work.pumping) await untilRest(work);
    if (work.failure) throw work.failure.error;
  }
  change(): Promise<void> {
    return new Promise<void>((resolve) => (this.#work.waiters ??= []).push(resolve));
  }
  wake(): void {
    wake(this.#work);
  }
  async close(): Promise<void> {
    const work = this.#work;
    work.closed = true;
    this.#unwatch();
    while (work.pumping) await untilRest(work);
  }
}

export function openLog(options: LogOptions): DriveLog {
  const work: LogWork = {
    options,
    jobs: null,
    writing: NO_JOBS,
    pumping: false,
    isAtOnce: false,
    atRest: null,
    heard: 0,
    mustRead: false,
    news: 0,
    closed: false,
    failure: null,
    waiters: null,
    pump: () => pump(work),
    pumpFirst: () => pumpFirst(work),
  };
  return new WorkingLog(work);
}

const NO_JOBS: readonly Job[] = [];

function apply({ options }: LogWork, event: DurableEvent): void {
  reduce(options.state, event);
  options.applied(event);
}

async function readNews(work: LogWork): Promise<void> {
  const { journal, state } = work.options;
  const target = work.heard;
  work.mustRead = false;
  for await (const event of journal.read(state.sessionId, state.seq + 1)) {
    if (work.closed) return;
    work.news += 1;
    apply(work, event);
  }
  // What was announced and isn't there never will be: the session was removed, or the announcement was wrong.
  if (state.seq < target && work.heard === target) work.heard = state.seq;
}

/** A plan that news has overtaken is made anew: what came in may change it. */
function withoutStale(all: readonly Job[], news: number): readonly Job[] {
  const isStale = (job: Job): boolean => job.isPlan && job.news !== news;
  if (!all.some(isStale)) return all;
  for (const job of all) if (isStale(job)) settleJob(job, false);
  return all.filter((job) => !isStale(job));
}

function settleJob(job: Job, isWritten: boolean): void {
  job.written = isWritten;
  const { resolve } = job;
  // One tick later, as the promise of the first of an append is kept: whoever was first to record goes on first.
  if (resolve) void READY.then(() => resolve(isWritten));
}

function append({ options: { journal, state, epoch } }: LogWork, batch: readonly Job[]): Promise<AppendOutcome> {
  const [first] = batch;
  const events = batch.length === 1 && first ? first.events : batch.flatMap((job) => job.events);
  return journal.append(state.sessionId, epoch, state.seq, events);
}

/** Folds in what was written; what lost to inputs is written again after them, or planned again. */
function settle(work: LogWork, batch: readonly Job[], outcome: AppendOutcome): void {
  if (outcome.ok) {
    for (const event of outcome.events) apply(work, event);
    for (const job of batch) settleJob(job, true);
    return;
  }
  if (work.closed) {
    const { sessionId } = work.options.state;
    throw new TreadleError('fenced', `Others have written to session ${sessionId}, and this drive of it has ended.`);
  }
  work.heard = Math.max(work.heard, outcome.seq);
  work.mustRead = true;
  for (const job of batch) if (job.isPlan) settleJob(job, false);
  work.jobs = [...batch.filter((job) => !job.isPlan), ...(work.jobs ?? NO_JOBS)];
}

const hasNews = ({ closed, mustRead, heard, options }: LogWork): boolean =>
  !closed && (mustRead || heard > options.state.seq);

/** Written as steps: an async function here costs several times as much, and every record of a drive passes through. */
function pump(work: LogWork): void {
  while (writeNext(work));
}

/** True when that is written, and what waits by now can be. */
function writeNext(work: LogWork): boolean {
  if (hasNews(work)) {
    void readNews(work).then(work.pump, (error: unknown) => fail(work, error));
    return false;
  }
  work.writing = work.jobs === null ? NO_JOBS : withoutStale(work.jobs, work.news);
  work.jobs = null;
  if (work.writing.length === 0) {
    rest(work);
    return false;
  }
  try {
    const appended = append(work, work.writing);
    const outcome = outcomeAtOnce(appended);
    work.isAtOnce = outcome !== undefined;
    if (outcome) return isSettled(work, outcome);
    appended.then(
      (later) => {
        if (isSettled(work, later)) pump(work);
      },
      (error: unknown) => fail(work, error),
    );
  } catch (error) {
    fail(work, error);
  }
  return false;
}

/** Takes in what came of the append; false when that fails. */
function isSettled(work: LogWork, outcome: AppendOutcome): boolean {
  try {
    settle(work, work.writing, outcome);
  } catch (error) {
    fail(work, error);
    return false;
  }
  work.writing = NO_JOBS;
  return true;
}

function fail(work: LogWork, error: unknown): void {
  work.failure = { error };
  for (const job of [...work.writing, ...(work.jobs ?? NO_JOBS)]) job.reject?.(error);
  work.writing = NO_JOBS;
  work.jobs = null;
  work.options.failed(error);
  rest(work);
}

function rest(work: LogWork): void {
  work.pumping = false;
  const ended = work.atRest;
  work.atRest = null;
  if (ended) for (const resolve of ended) resolve();
  wake(work);
}

/** Resolves when nothing is being written or read. */
const untilRest = (work: LogWork): Promise<void> => new Promise((resolve) => (work.atRest ??= []).push(resolve));

function start(work: LogWork): void {
  if (work.pumping || work.failure) return;
  work.pumping = true;
  // Everything recorded in this tick shares the first append.
  void READY.then(work.pump);
}

function wake(work: LogWork): void {
  const woken = work.waiters;
  work.waiters = null;
  if (woken) for (const resolve of woken) resolve();
}

function submit(work: LogWork, events: readonly DurableEventBody[], isPlan: boolean): Promise<boolean> {
  const { failure, news } = work;
  if (failure) return Promise.reject(asError(failure.error));
  const job: Job = { events, isPlan, news, written: null, resolve: null, reject: null };
  // A list of one is made with room for one.
  if (work.jobs) work.jobs.push(job);
  else work.jobs = [job];
  if (work.isAtOnce && !work.pumping) {
    // The promise of the append is the promise of what it writes.
    work.pumping = true;
    return READY.then(work.pumpFirst);
  }
  start(work);
  return outcomeOf(job);
}

const outcomeOf = (job: Job): Promise<boolean> =>
  new Promise((resolve, reject) => {
    job.resolve = resolve;
    job.reject = reject;
  });

/** Writes what waits, and says what came of the first of it. */
function pumpFirst(work: LogWork): boolean | Promise<boolean> {
  const job = work.jobs?.[0];
  pump(work);
  if (job === undefined) return true;
  if (job.written !== null) return job.written;
  if (work.failure) throw work.failure.error;
  return outcomeOf(job);
}
