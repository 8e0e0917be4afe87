import type { Dispatcher, Ids, LiveFeed } from '@treadle/core/ports';
import type { SessionSummary } from '@treadle/core/journal';
import { hasEnded } from '@treadle/core/tools';
import { once } from 'node:events';
import {
  openSession,
  systemClock,
  TreadleError,
  type Agent,
  type Blobs,
  type Clock,
  type DurableEvent,
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
  /** Has every session driven that was left unfinished. Resolves, with their ids, once all logs have been looked at. */
  recover(): Promise<readonly string[]>;
  /** Sessions that are being driven now. */
  readonly active: number;
  /** Takes no more wishes, and waits for what is driven until `signal` fires. False when something was left unfinished. */
  drain(signal: AbortSignal): Promise<boolean>;
}

interface Worker {
  readonly sessionId: string;
  session: Session | null;
  /** Ends what `onSession` has begun. */
  stopWatching: () => void;
  wanted: boolean;
  working: Promise<void> | null;
  /** Stops the timer of what it waits for and nobody may answer in time. */
  stopTimer: () => void;
  /** Each in a list of its own: the same function may be told twice. */
  readonly listeners: Set<readonly [tell: (event: TreadleEvent) => void]>;
}

/** How long another process that holds a session is left alone before it is asked for again, in milliseconds. */
const BUSY_MS = 500;

/** The dispatcher of one process: a session is driven at most once at a time in it, and again for each wish that comes in between. */
export function inProcess(options: InProcessOptions): InProcess {
  const { agentOf, onSession, keepOpen = 64, onError = () => {}, clock = systemClock, ...sessionParts } = options;
  const { journal } = sessionParts;
  const workers = new Map<string, Worker>();
  /** Open sessions that nobody drives, the longest idle first. */
  const resting = new Set<Worker>();
  let draining = false;

  function workerOf(sessionId: string): Worker {
    let worker = workers.get(sessionId);
    if (!worker) {
      const stops = { stopWatching: () => {}, stopTimer: () => {} };
      worker = { sessionId, session: null, wanted: false, working: null, listeners: new Set(), ...stops };
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
        if (session.status !== 'idle' && session.canResume) {
          await session.resume().outcome;
          await session.idle();
        } else await session.tidyUp();
        wakeInTime(worker, session);
      } catch (error) {
        if (error instanceof TreadleError && error.code === 'session_busy') again(worker);
        else if (!isHarmless(error)) onError(error, worker.sessionId);
        await worker.session?.idle();
      }
    }
  }

  /** A question that nobody answers ends at its time, and its run goes on. */
  function wakeInTime(worker: Worker, session: Session): void {
    worker.stopTimer();
    worker.stopTimer = () => {};
    const next = Math.min(...session.pending.map(({ expiresAt = Infinity }) => expiresAt));
    const waitMs = next - clock.now();
    if (waitMs <= 0) worker.wanted ||= session.canResume;
    else if (next < Infinity) {
      const wake = (): void => start(workerOf(worker.sessionId));
      worker.stopTimer = clock.after(waitMs, wake, { background: true });
    }
  }

  /** Who holds the session may be about to let go, and not see what was posted last. */
  function again(worker: Worker): void {
    clock.after(BUSY_MS, () => start(workerOf(worker.sessionId)), { background: true });
  }

  function start(worker: Worker): void {
    if (draining) return;
    worker.wanted = true;
    worker.working ??= work(worker).finally(() => {
      worker.working = null;
      rest(worker);
    });
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
    if (!worker.session && !worker.working && worker.listeners.size === 0) workers.delete(worker.sessionId);
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
      const unfinished: string[] = [];
      for await (const { sessionId, agentId } of leftUnfinished(journal)) {
        // Others' sessions may lie in the same journal: whoever has their agents goes on with them.
        if (!agentOf(agentId)) continue;
        if (draining) break;
        unfinished.push(sessionId);
        start(workerOf(sessionId));
      }
      return unfinished;
    },
    async drain(signal) {
      draining = true;
      for (const worker of workers.values()) worker.stopTimer();
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

/** Nothing to do any more, or a process that took the session over: then the log is in good hands. */
const isHarmless = (error: unknown): boolean =>
  error instanceof TreadleError && (error.code === 'nothing_to_continue' || error.code === 'fenced');

/** A drive that ended in peace, or never was, leaves one of these behind. Anything else is worth a look. */
const AT_REST: ReadonlySet<string> = new Set(['session_created', 'run_ended', 'run_paused']);

/** A pause that is to end at its time is looked at too. */
const hasTime = (event: DurableEvent): boolean =>
  event.type === 'run_paused' && event.pending.some(({ expiresAt }) => expiresAt !== undefined);

async function* leftUnfinished(journal: Journal): AsyncGenerator<SessionSummary> {
  let cursor: string | undefined;
  do {
    const page = await journal.list({ limit: 200, ...(cursor === undefined ? {} : { cursor }) });
    for (const session of page.sessions) if (await isUnfinished(journal, session)) yield session;
    ({ cursor } = page);
  } while (cursor !== undefined);
}

/** One that is damaged can't be gone on with, and must not keep the others from it. */
async function isUnfinished(journal: Journal, session: SessionSummary): Promise<boolean> {
  if (session.damage !== undefined) return false;
  try {
    return !(await isAtRest(journal, session.sessionId, session.seq)) && !(await isReplay(journal, session));
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'journal_corrupt') return false;
    throw error;
  }
}

/**
 * Whether a session is a replay that was cut off with its process: nobody waits for it any more, and to go on with it would run
 * for real the tools that it had recorded results of.
 */
async function isReplay(journal: Journal, { sessionId, tags, parent }: SessionSummary): Promise<boolean> {
  if (!parent || tags?.includes('replay') !== true) return false;
  for await (const event of journal.read(sessionId, parent.seq + 1)) {
    if (event.type !== 'input_received' || !('continuation' in event.input)) continue;
    const { continuation } = event.input;
    if (continuation?.kind === 'rerun' && continuation.tag.startsWith('replay of ')) return true;
  }
  return false;
}

async function isAtRest(journal: Journal, sessionId: string, seq: number): Promise<boolean> {
  for await (const event of journal.read(sessionId, seq)) {
    if (!AT_REST.has(event.type) || hasTime(event)) return false;
  }
  return true;
}
