import type { AgentTypes, EventOf } from '../agent/types.ts';
import { asError } from '../as-error.ts';
import { type DurableEvent, type RunStatus, type TreadleEvent, isDurable } from '../events/events.ts';
import { runIdOf } from '../events/run-of.ts';
import { TreadleError } from '../errors.ts';
import type { Follower } from '../kernel/watching/hub.ts';
import { runResultFold, type RunResult, type RunResultFold } from '../projections/run-result.ts';
import { RunReader } from './run-reader.ts';

/**
 * One course of the loop. Iterate it for its events (durable ones, and the live ones from when you begin; a late reader
 * first gets what it missed), or just await `result`. Reading slowly or not at all never slows the run.
 */
export interface Run<Types extends AgentTypes = AgentTypes> extends AsyncIterable<EventOf<Types>> {
  /** The run's id, once its start is in the log. */
  readonly id: Promise<string>;
  /**
   * What it came to. A model that fails or a limit that is reached is a result; it rejects with a `TreadleError` only
   * when the run could not be driven: the session is busy, the journal failed. Of a run that an earlier drive began it has
   * what was before too, which is read from the log when somebody asks for it.
   */
  readonly result: Promise<RunResult<Types['output']>>;
  /** How it ended, or that it paused. It rejects as `result` does, and nothing is read for it. */
  readonly outcome: Promise<RunStatus | 'paused'>;
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
  endedAs(): RunStatus | null;
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

/** A run before anything is known of it. It passes over what belongs to other runs of its session. */
export function createRun(sources: RunSources): RunControl {
  const readers = new Set<RunReader>();
  const id = deferred<string>();
  const bound = deferred<number>();
  const end = deferred<RunStatus | 'paused'>();
  let result: Promise<RunResult> | null = null;
  let boundTo: number | null = null;
  let runId: string | null = null;
  let fold: RunResultFold | null = null;
  /** Where a run began that an earlier drive has worked on. */
  let startedSeq: number | null = null;
  let firstSeq: number | null = null;
  let lastSeq = 0;
  let isPaused = false;
  let ended: RunStatus | null = null;
  let rejected: TreadleError | null = null;
  let done: { readonly error: unknown } | null = null;

  const isOurs = (event: TreadleEvent): boolean => {
    if (ended !== null) return false;
    if (event.type === 'input_rejected' && event.inputSeq === boundTo) {
      rejected = new TreadleError('run_active', event.reason);
    }
    if ((event.type === 'run_started' || event.type === 'run_ended') && event.inputSeq === boundTo) {
      runId = event.runId;
      fold = runResultFold(event.runId);
      id.resolve(event.runId);
    }
    const of = runIdOf(event);
    return of === undefined || of === runId;
  };

  const note = (event: DurableEvent): void => {
    firstSeq ??= event.seq;
    lastSeq = event.seq;
    fold?.take(event);
    if (runIdOf(event) === runId) isPaused = event.type === 'run_paused';
    if (event.type === 'run_ended') ended = event.status;
  };

  const resultAtEnd = async (): Promise<RunResult> => {
    await end.promise;
    if (fold) return fold.result();
    const whole = runResultFold(runId ?? '');
    for await (const event of sources.read(startedSeq ?? 1)) {
      if (event.seq > lastSeq) break;
      whole.take(event);
    }
    return whole.result();
  };

  const open = (): AsyncIterator<TreadleEvent> => {
    const missed =
      firstSeq === null
        ? null
        : missedEvents(sources, { runId, from: firstSeq, to: lastSeq, open: done ? [] : sources.openMessage() });
    const reader = new RunReader(missed, () => readers.delete(reader));
    if (done) reader.end(done.error);
    else readers.add(reader);
    return reader;
  };

  const run: Run = {
    id: id.promise,
    outcome: end.promise,
    get result() {
      return (result ??= quiet(resultAtEnd()));
    },
    abort: (reason) => sources.abort(reason),
    [Symbol.asyncIterator]: open,
  };
  return {
    run: Object.defineProperties(run, OF_THE_RESULT),
    take(event) {
      if (!isOurs(event)) return;
      if (isDurable(event)) note(event);
      for (const reader of readers) reader.push(event);
    },
    finish(error) {
      // A run that has its end in the log is not undone by what failed after it.
      const isSettled = ended !== null || isPaused;
      const failure = isSettled ? undefined : asError(error ?? rejected ?? unfinished());
      done = { error: failure };
      if (failure === undefined) end.resolve(ended ?? 'paused');
      else for (const { reject } of [end, id, bound]) reject(failure);
      for (const reader of readers) reader.end(failure);
      readers.clear();
    },
    bound: () => bound.promise,
    bind(inputSeq, known) {
      boundTo = inputSeq;
      if (known) {
        ({ runId, startedSeq } = known);
        id.resolve(known.runId);
      }
      bound.resolve(inputSeq);
    },
    isWatched: () => readers.size > 0,
    isOver: () => done !== null || ended !== null || isPaused,
    endedAs: () => ended,
  };
}

/** What people look for on a run, and its result has. */
const OF_THE_RESULT: PropertyDescriptorMap = Object.fromEntries(
  ['text', 'output', 'status', 'messages', 'pending', 'usage', 'cost', 'finalOutput', 'finalAnswer'].map((name) => [
    name,
    {
      get(): never {
        const field = name === 'finalOutput' || name === 'finalAnswer' ? 'text' : name;
        throw new TreadleError(
          'result_not_awaited',
          `A run has no ${name}: it may still be under way. Write: const { ${field} } = await session.prompt('…').result`,
        );
      },
    },
  ]),
);

const unfinished = (): TreadleError =>
  new TreadleError('session_yielded', 'The session was given up by yield(). Its run goes on where it is driven next.');

/** The events that a late reader missed: from the log, then the message that is being streamed. */
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

/** A rejection that nobody waits for must not end the process: iterating the run reports the failure too. */
function quiet<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}

function deferred<Value>(): PromiseWithResolvers<Value> {
  const made = Promise.withResolvers<Value>();
  void quiet(made.promise);
  return made;
}
