import type { DurableEvent, DurableEventBody } from '../events/events.ts';
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
  readonly resolve: (written: boolean) => void;
  readonly reject: (error: unknown) => void;
}

const READY = Promise.resolve();

export function openLog(options: {
  readonly journal: Journal;
  readonly state: SessionState;
  readonly epoch: number;
  /** Told of each event once it is durable and folded in. */
  readonly applied: (event: DurableEvent) => void;
  /** Told once, when the journal refuses or fails: nothing can be written any more. */
  readonly failed: (error: unknown) => void;
}): DriveLog {
  const { journal, state, epoch } = options;
  let jobs: Job[] = [];
  /** The jobs of the append that is under way. */
  let writing: readonly Job[] = [];
  let pumping = false;
  let atRest: (() => void)[] = [];
  /** The last number heard of; only ever raised by what others write, so that no news is lost while reading. */
  let heard = 0;
  let mustRead = false;
  /** How many events of others have been folded in. */
  let news = 0;
  let closed = false;
  let failure: { readonly error: unknown } | null = null;
  let waiters: (() => void)[] = [];

  const apply = (event: DurableEvent): void => {
    reduce(state, event);
    options.applied(event);
  };

  async function readNews(): Promise<void> {
    const target = heard;
    mustRead = false;
    for await (const event of journal.read(state.sessionId, state.seq + 1)) {
      if (closed) return;
      news += 1;
      apply(event);
    }
    // What was announced and isn't there never will be: the session was removed, or the announcement was wrong.
    if (state.seq < target && heard === target) heard = state.seq;
  }

  /** A plan that news has overtaken is made anew: what came in may change it. */
  function withoutStale(all: readonly Job[]): readonly Job[] {
    const isStale = (job: Job): boolean => job.isPlan && job.news !== news;
    if (!all.some(isStale)) return all;
    for (const job of all) if (isStale(job)) job.resolve(false);
    return all.filter((job) => !isStale(job));
  }

  function append(batch: readonly Job[]): Promise<AppendOutcome> {
    const [first] = batch;
    const events = batch.length === 1 && first ? first.events : batch.flatMap((job) => job.events);
    return journal.append(state.sessionId, epoch, state.seq, events);
  }

  /** Folds in what was written; what lost to inputs is written again after them, or planned again. */
  function settle(batch: readonly Job[], outcome: AppendOutcome): void {
    if (outcome.ok) {
      for (const event of outcome.events) apply(event);
      for (const job of batch) job.resolve(true);
      return;
    }
    heard = Math.max(heard, outcome.seq);
    mustRead = true;
    for (const job of batch) if (job.isPlan) job.resolve(false);
    jobs = [...batch.filter((job) => !job.isPlan), ...jobs];
  }

  const hasNews = (): boolean => !closed && (mustRead || heard > state.seq);

  /** Written as steps: an async function here costs several times as much, and every record of a drive passes through. */
  function pump(): void {
    if (hasNews()) {
      void readNews().then(pump, fail);
      return;
    }
    writing = withoutStale(jobs);
    jobs = [];
    if (writing.length === 0) return rest();
    try {
      append(writing).then(written, fail);
    } catch (error) {
      fail(error);
    }
  }

  function written(outcome: AppendOutcome): void {
    try {
      settle(writing, outcome);
    } catch (error) {
      return fail(error);
    }
    writing = [];
    pump();
  }

  function fail(error: unknown): void {
    failure = { error };
    for (const job of [...writing, ...jobs]) job.reject(error);
    writing = [];
    jobs = [];
    options.failed(error);
    rest();
  }

  function rest(): void {
    pumping = false;
    const ended = atRest;
    atRest = [];
    for (const resolve of ended) resolve();
    wake();
  }

  /** Resolves when nothing is being written or read. */
  const untilRest = (): Promise<void> => new Promise((resolve) => atRest.push(resolve));

  function start(): void {
    if (pumping || failure) return;
    pumping = true;
    // Everything recorded in this tick shares the first append.
    void READY.then(pump);
  }

  function wake(): void {
    const woken = waiters;
    waiters = [];
    for (const resolve of woken) resolve();
  }

  function submit(events: readonly DurableEventBody[], isPlan: boolean): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (failure) {
        reject(failure.error instanceof Error ? failure.error : new Error(String(failure.error)));
        return;
      }
      jobs.push({ events, isPlan, news, resolve, reject });
      start();
    });
  }

  const unwatch = journal.watch(state.sessionId, (seq) => {
    heard = Math.max(heard, seq);
    if (seq > state.seq && !closed) start();
  });

  return {
    record: (events) => submit(events, false),
    tryRecord: (events) => submit(events, true),
    read: (from) => journal.read(state.sessionId, from),
    async catchUp() {
      mustRead = true;
      start();
      while (pumping) await untilRest();
      if (failure) throw failure.error;
    },
    change: () => new Promise<void>((resolve) => waiters.push(resolve)),
    wake,
    async close() {
      closed = true;
      unwatch();
      while (pumping) await untilRest();
    },
  };
}
