import type { Dispatcher, Ids, LiveFeed } from '@treadle/core/ports';
import { hasEnded } from '@treadle/core/tools';
import type { BranchPerformer } from '@treadle/core/branches';
import { once } from 'node:events';
import {
  openSession,
  systemClock,
  TreadleError,
  type Agent,
  type Blobs,
  type Clock,
  type Journal,
  type Session,
  type TreadleEvent,
} from '@treadle/core';
import { creationOf } from '../creation.ts';

/** Options of {@link inProcess}. */
export interface InProcessOptions {
  readonly journal: Journal;
  /** The agent of a session, by the name its log has; undefined when there is none any more. */
  readonly agentOf: (agentId: string | undefined) => Agent | undefined;
  /** The agents that sessions may be handed over to. */
  readonly agents?: readonly Agent[];
  /** Runs branches that requests ask for, such as `serverBranches(…)`. Default: nobody. */
  readonly branches?: BranchPerformer;
  /** Where what is too big for a log is kept. Default: nowhere. */
  readonly blobs?: Blobs;
  readonly clock?: Clock;
  readonly ids?: Ids;
  /** Who drives, shown to the next process that wants a session. */
  readonly owner?: string;
  /** Sessions that stay open after their drive, so that the next one needn't read their logs again. Default 64. */
  readonly keepOpen?: number;
  /**
   * Called with each session that is opened to be driven here, before anything happens in it. What it returns is called when the
   * session is closed.
   */
  readonly onSession?: (session: Session) => () => void;
  /** Told of sessions that can't be driven, and of failures of `onSession`. */
  readonly onError?: (error: unknown, sessionId: string) => void;
}

/** Drives sessions in this process, and tells what happens in them. */
export interface InProcess extends Dispatcher, LiveFeed {
  /**
   * From now on has every session driven that is due: those that a dead process held, those that got an input which nobody has
   * seen to, and those whose time has come. Resolves, with the ids of the first, after the first look. None is opened to find
   * them.
   */
  recover(): Promise<readonly string[]>;
  /** Sessions that are being driven now. */
  readonly active: number;
  /**
   * Takes no more wishes, has each drive stop at its next step, and waits for that until `signal` fires. Then what is left goes
   * on elsewhere. False when something was cut off amid a step.
   */
  drain(signal: AbortSignal): Promise<boolean>;
}

interface Worker {
  readonly sessionId: string;
  session: Session | null;
  /** Ends what `onSession` has begun. */
  stopWatching: () => void;
  wanted: boolean;
  working: Promise<void> | null;
  /** Drives that failed one after the other, and when the next is tried. */
  failures: number;
  notBefore: number;
  /** Each in a list of its own: the same function may be told twice. */
  readonly listeners: Set<readonly [tell: (event: TreadleEvent) => void]>;
}

/** Milliseconds between looks for sessions that are due. */
const SWEEP_MS = 200;
/** Sessions that looks may add to those driven here: others have room, too. */
const SLOTS = 200;
const SHORTEST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 300_000;

/** The dispatcher of one process: a session is driven at most once at a time in it, and again for each wish that comes in between. */
export function inProcess(options: InProcessOptions): InProcess {
  const { agentOf, onSession, keepOpen = 64, onError = () => {}, clock = systemClock, ...sessionParts } = options;
  const { journal } = sessionParts;
  const served = sessionParts.agents?.map(({ id }) => id);
  const workers = new Map<string, Worker>();
  /** Open sessions that nobody drives, the longest idle first. */
  const resting = new Set<Worker>();
  let draining = false;

  function workerOf(sessionId: string): Worker {
    let worker = workers.get(sessionId);
    if (!worker) {
      const never = { failures: 0, notBefore: 0, stopWatching: () => {} };
      worker = { sessionId, session: null, wanted: false, working: null, listeners: new Set(), ...never };
      workers.set(sessionId, worker);
    }
    return worker;
  }

  async function opened(worker: Worker): Promise<Session> {
    if (worker.session) {
      await worker.session.refresh();
      return worker.session;
    }
    const agentId = (await creationOf(journal, worker.sessionId))?.agentId;
    const agent = agentOf(agentId);
    if (!agent) throw new TreadleError('agent_not_found', `There is no agent ${agentId ?? 'of this session'} here.`);
    const session = await openSession(agent, worker.sessionId, { ...sessionParts, clock, resumeOnExpiry: false });
    worker.session = session;
    const stopWatching = attempted(worker.sessionId, () => onSession?.(session));
    const stopTelling = session.subscribe((event) => {
      for (const [tell] of worker.listeners) attempted(worker.sessionId, () => tell(event));
    });
    worker.stopWatching = () => {
      stopTelling();
      stopWatching?.();
    };
    return session;
  }

  /** What others do beside a session changes nothing in it. */
  function attempted<Value>(sessionId: string, act: () => Value): Value | undefined {
    try {
      return act();
    } catch (error) {
      onError(error, sessionId);
      return undefined;
    }
  }

  /** What ends the watch of a session, once. */
  function watchOf(worker: Worker): () => void {
    const { stopWatching } = worker;
    worker.stopWatching = () => {};
    return stopWatching;
  }

  async function work(worker: Worker): Promise<void> {
    resting.delete(worker);
    while (worker.wanted && !draining) {
      worker.wanted = false;
      try {
        const session = await opened(worker);
        if (draining) return;
        // What was posted may have started a run by itself.
        if (session.activeRun) await session.activeRun.outcome;
        else if (session.status !== 'idle' && session.canResume) await session.resume().outcome;
        else await session.tidyUp();
        await session.idle();
        Object.assign(worker, { failures: 0, notBefore: 0 });
      } catch (error) {
        if (!isHarmless(error)) failed(worker, error);
        await worker.session?.idle();
      }
    }
  }

  /** The session stays due: it is tried again, ever more rarely. */
  function failed(worker: Worker, error: unknown): void {
    const waitMs = Math.min(LONGEST_WAIT_MS, SHORTEST_WAIT_MS * 2 ** worker.failures);
    worker.failures += 1;
    worker.notBefore = clock.now() + waitMs;
    onError(error, worker.sessionId);
  }

  /** Starts what is due, as far as there is room. Returns which. */
  async function sweep(): Promise<readonly string[]> {
    const before = clock.now();
    const isBusy = ({ working, notBefore }: Worker): boolean => working !== null || notBefore > before;
    const busy = [...workers.values()].filter(isBusy).length;
    // Those that are tried later are due, too.
    const limit = SLOTS + busy;
    const working = [...workers.values()].filter((worker) => worker.working !== null).length;
    const due = await journal.due({ before, limit, ...(served && { agents: served }) });
    const started: string[] = [];
    for (const { sessionId, agentId } of due) {
      if (draining || started.length + working >= SLOTS) break;
      // Others' sessions may lie in the same journal: whoever has their agents goes on with them.
      if (!agentOf(agentId)) continue;
      const worker = workerOf(sessionId);
      if (isBusy(worker)) continue;
      started.push(sessionId);
      start(worker);
    }
    return started;
  }

  let stopSweeping = (): void => {};
  let sweepFailed = false;

  async function sweepOn(): Promise<void> {
    try {
      await sweep();
      sweepFailed = false;
    } catch (error) {
      // An outage is told once.
      if (!sweepFailed && !draining) onError(error, '');
      sweepFailed = true;
    }
    sweepLater();
  }

  function sweepLater(): void {
    if (!draining) stopSweeping = clock.after(SWEEP_MS, () => void sweepOn(), { background: true });
  }

  function start(worker: Worker): void {
    if (draining) return;
    worker.wanted = true;
    worker.working ??= work(worker)
      .finally(() => {
        worker.working = null;
        rest(worker);
      })
      // An `onError` that throws ends nothing here.
      .catch(() => {});
  }

  function rest(worker: Worker): void {
    if (worker.session) resting.add(worker);
    else forget(worker);
    for (const oldest of resting) {
      if (resting.size <= keepOpen) break;
      // What runs in its background would end with it.
      if (!hasTasks(oldest)) void close(oldest);
    }
  }

  async function close(worker: Worker): Promise<void> {
    resting.delete(worker);
    const { sessionId, session } = worker;
    const stop = watchOf(worker);
    const closed = session
      ?.close()
      .catch((error: unknown) => onError(error, sessionId))
      .then(() => attempted(sessionId, stop));
    worker.session = null;
    forget(worker);
    await closed;
  }

  function forget(worker: Worker): void {
    const isEmpty = !worker.session && !worker.working && worker.listeners.size === 0;
    if (isEmpty && worker.notBefore <= clock.now()) workers.delete(worker.sessionId);
  }

  return {
    async dispatch(sessionId) {
      // What was posted stays in the log: whoever starts next finds it.
      if (!draining) start(workerOf(sessionId));
    },
    subscribe(sessionId, tell) {
      const worker = workerOf(sessionId);
      const listener = [tell] as const;
      worker.listeners.add(listener);
      return () => {
        worker.listeners.delete(listener);
        forget(worker);
      };
    },
    openMessage: (sessionId) => workers.get(sessionId)?.session?.openMessage() ?? [],
    get active() {
      return [...workers.values()].filter(({ working }) => working !== null).length;
    },
    async recover() {
      try {
        return await sweep();
      } finally {
        stopSweeping();
        sweepLater();
      }
    },
    async drain(signal) {
      draining = true;
      stopSweeping();
      for (const { session } of workers.values()) void session?.yield();
      const working = [...workers.values()].flatMap(({ working }) => (working ? [working] : []));
      const late = signal.aborted ? Promise.resolve(false) : once(signal, 'abort').then(() => false);
      const finished = await Promise.race([Promise.allSettled(working).then(() => true), late]);
      // What closing writes down, such as a title, must be in the journal before that is closed.
      await Promise.race([Promise.all([...resting].map(close)), late]);
      // What is left goes on elsewhere, and is not watched from here.
      for (const worker of workers.values()) attempted(worker.sessionId, watchOf(worker));
      return finished;
    },
  };
}

const hasTasks = ({ session }: Worker): boolean =>
  session?.agent.background != null && session.tasks.list().some(({ status }) => !hasEnded(status));

/** Nothing to do any more, or another process that has the session, and leaves it due where it doesn't see everything. */
const HARMLESS: ReadonlySet<string> = new Set(['nothing_to_continue', 'fenced', 'session_busy', 'session_yielded']);

const isHarmless = (error: unknown): boolean => error instanceof TreadleError && HARMLESS.has(error.code);
