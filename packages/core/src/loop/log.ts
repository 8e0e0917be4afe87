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
  /** Folds in what others have written. */
  catchUp(): Promise<void>;
  /** Resolves when something more was folded in, or `wake` is called. */
  change(): Promise<void>;
  wake(): void;
  close(): void;
}

interface Job {
  readonly events: readonly DurableEventBody[];
  readonly isPlan: boolean;
  readonly resolve: (written: boolean) => void;
  readonly reject: (error: unknown) => void;
}

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
  let running = false;
  let heard = 0;
  let failure: { readonly error: unknown } | null = null;
  let waiters: (() => void)[] = [];

  const apply = (event: DurableEvent): void => {
    reduce(state, event);
    options.applied(event);
  };

  async function catchUp(): Promise<void> {
    for await (const event of journal.read(state.sessionId, state.seq + 1)) apply(event);
    heard = state.seq;
  }

  async function writeBatch(batch: readonly Job[]): Promise<void> {
    const [first] = batch;
    const events = batch.length === 1 && first ? first.events : batch.flatMap((job) => job.events);
    const outcome = await journal.append(state.sessionId, epoch, state.seq, events);
    if (outcome.ok) {
      for (const event of outcome.events) apply(event);
      for (const job of batch) job.resolve(true);
      return;
    }
    heard = outcome.seq;
    for (const job of batch) if (job.isPlan) job.resolve(false);
    jobs = [...batch.filter((job) => !job.isPlan), ...jobs];
  }

  async function pump(): Promise<void> {
    let batch: readonly Job[] = [];
    try {
      // Everything recorded in this tick shares the first append.
      await Promise.resolve();
      while (jobs.length > 0 || heard > state.seq) {
        if (heard > state.seq) await catchUp();
        batch = jobs;
        jobs = [];
        if (batch.length > 0) await writeBatch(batch);
        batch = [];
      }
    } catch (error) {
      failure = { error };
      for (const job of [...batch, ...jobs]) job.reject(error);
      jobs = [];
      options.failed(error);
    } finally {
      running = false;
      wake();
    }
  }

  function start(): void {
    if (running || failure) return;
    running = true;
    void pump();
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
      jobs.push({ events, isPlan, resolve, reject });
      start();
    });
  }

  const unwatch = journal.watch(state.sessionId, (seq) => {
    heard = Math.max(heard, seq);
    if (seq > state.seq) start();
  });

  return {
    record: (events) => submit(events, false),
    tryRecord: (events) => submit(events, true),
    async catchUp() {
      heard = Math.max(heard, state.seq + 1);
      start();
      while (running) await new Promise<void>((resolve) => waiters.push(resolve));
      if (failure) throw failure.error;
    },
    change: () => new Promise<void>((resolve) => waiters.push(resolve)),
    wake,
    close: unwatch,
  };
}
