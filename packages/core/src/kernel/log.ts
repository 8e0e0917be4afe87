import { asError } from '../as-error.ts';
import { TreadleError } from '../errors.ts';
import type { DurableEvent, DurableEventBody } from '../events/events.ts';
import type { Journal } from '../journal/journal.ts';
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
  /** How many events of others had been folded in when it was made. */
  readonly news: number;
  readonly resolve: (written: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export interface LogOptions {
  readonly journal: Journal;
  readonly state: SessionState;
  readonly epoch: number;
  /** Told of each event once it is durable and folded in. */
  readonly applied: (event: DurableEvent) => void;
  /** Told once, when the journal refuses or fails: nothing can be written any more. */
  readonly failed: (error: unknown) => void;
}

export function openLog(options: LogOptions): DriveLog {
  const { journal, state, epoch } = options;
  /** What waits for the next append. */
  let jobs: Job[] = [];
  let pumping: Promise<void> | null = null;
  /** The highest number that others announced. It only grows, so that no news is lost while reading. */
  let heard = 0;
  let mustRead = false;
  /** How many events of others have been folded in. */
  let news = 0;
  let closed = false;
  let failure: { readonly error: unknown } | null = null;
  let waiters: (() => void)[] = [];

  const wake = (): void => {
    const woken = waiters;
    waiters = [];
    for (const resolve of woken) resolve();
  };

  const apply = (event: DurableEvent): void => {
    reduce(state, event);
    options.applied(event);
  };

  const hasNews = (): boolean => !closed && (mustRead || heard > state.seq);

  const readNews = async (): Promise<void> => {
    const target = heard;
    mustRead = false;
    for await (const event of journal.read(state.sessionId, state.seq + 1)) {
      if (closed) return;
      news += 1;
      apply(event);
    }
    // What was announced and isn't there never will be: the session was removed, or the announcement was wrong.
    if (state.seq < target && heard === target) heard = state.seq;
  };

  /** What waits, without plans that news has overtaken: what came in may change them, so they are made anew. */
  const takeJobs = (): readonly Job[] => {
    const all = jobs;
    jobs = [];
    return all.filter((job) => {
      const isStale = job.isPlan && job.news !== news;
      if (isStale) job.resolve(false);
      return !isStale;
    });
  };

  /** Writes a batch and folds it in. If it lost to inputs, facts wait for the next append, and plans are made anew. */
  const write = async (batch: readonly Job[]): Promise<void> => {
    const events = batch.flatMap((job) => job.events);
    const outcome = await journal.append(state.sessionId, epoch, state.seq, events);
    if (outcome.ok) {
      for (const event of outcome.events) apply(event);
      for (const job of batch) job.resolve(true);
      return;
    }
    if (closed) {
      const { sessionId } = state;
      throw new TreadleError('fenced', `Others have written to session ${sessionId}, and this drive of it has ended.`);
    }
    heard = Math.max(heard, outcome.seq);
    mustRead = true;
    for (const job of batch) if (job.isPlan) job.resolve(false);
    jobs = [...batch.filter((job) => !job.isPlan), ...jobs];
  };

  const pump = async (): Promise<void> => {
    let batch: readonly Job[] = [];
    try {
      for (;;) {
        while (hasNews()) await readNews();
        batch = takeJobs();
        if (batch.length === 0) break;
        await write(batch);
        batch = [];
      }
    } catch (error) {
      failure = { error };
      for (const job of [...batch, ...jobs]) job.reject(error);
      jobs = [];
      options.failed(error);
    }
    pumping = null;
    wake();
  };

  const start = (): void => {
    // Everything recorded in this tick shares the first append.
    if (!pumping && !failure) pumping = Promise.resolve().then(pump);
  };

  const submit = (events: readonly DurableEventBody[], isPlan: boolean): Promise<boolean> => {
    if (failure) return Promise.reject(asError(failure.error));
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    jobs.push({ events, isPlan, news, resolve, reject });
    start();
    return promise;
  };

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
      while (pumping) await pumping;
      if (failure) throw failure.error;
    },
    change: () => new Promise<void>((resolve) => waiters.push(resolve)),
    wake,
    async close() {
      closed = true;
      unwatch();
      while (pumping) await pumping;
    },
  };
}
