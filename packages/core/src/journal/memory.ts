import type { DurableEventBody, SessionInput } from '../events/events.ts';
import type {
  AppendOutcome,
  Claim,
  DueOptions,
  DueSession,
  Journal,
  ListOptions,
  Owner,
  PostOutcome,
  SessionPage,
  SessionSummary,
  Snapshot,
} from './journal.ts';
import { addEvent, reading, seqOf, type Log } from './memory-log.ts';
import { factsAfter } from './session-facts.ts';
import { agentIdOf, dueAfter, journalErrors, standingOf, thinSnapshots } from './support.ts';

function summaryOf(log: Log): SessionSummary {
  return {
    sessionId: log.sessionId,
    seq: seqOf(log),
    createdAt: log.createdAt,
    updatedAt: log.updatedAt,
    ...(log.agentId !== undefined && { agentId: log.agentId }),
    ...(log.firstPrompt && { firstPrompt: log.firstPrompt.text }),
    ...(log.parent && { parent: { sessionId: log.parent.log.sessionId, seq: log.parent.seq } }),
    ...log.facts,
    ...(log.wake && standingOf(log.wake)),
  };
}

function keepSnapshot(log: Log, { seq, text }: Snapshot): void {
  if (!(Number.isInteger(seq) && seq >= 1 && seq <= seqOf(log))) {
    throw journalErrors.noSuchEvent(log.sessionId, seq, seqOf(log));
  }
  const { snapshots } = log;
  snapshots.set(seq, text);
  for (const dropped of thinSnapshots([...snapshots.keys()])) snapshots.delete(dropped);
}

function newestSnapshot(log: Log, upTo: number): Snapshot | null {
  let last = upTo;
  for (let current: Log | undefined = log; current; current = current.parent?.log) {
    const { snapshots } = current;
    const seq = Math.max(0, ...[...snapshots.keys()].filter((each) => each <= last));
    const text = snapshots.get(seq);
    if (text !== undefined) return { seq, text };
    last = Math.min(last, current.base);
  }
  return null;
}

/** The last event of `log` that any of `live` reads through its ancestry; 0 for none. */
function lastUsedByForks(log: Log, live: Iterable<Log>): number {
  let last = 0;
  for (const other of live) {
    let seq = Number.POSITIVE_INFINITY;
    for (let fork = other.parent; fork; fork = fork.log.parent) {
      seq = Math.min(seq, fork.seq);
      if (fork.log === log) last = Math.max(last, seq);
    }
  }
  return last;
}

/** Most recently written first; the later created first among equals. */
const newestFirst = (a: Log, b: Log): number => b.updatedAt - a.updatedAt || b.ordinal - a.ordinal;

/** A cursor names the last row shown; the next page holds what sorts after it. */
function afterCursor(cursor: string): (log: Log) => boolean {
  const [updatedAt = Number.NaN, ordinal = Number.NaN] = cursor.split('.').map(Number);
  return (log) => log.updatedAt < updatedAt || (log.updatedAt === updatedAt && log.ordinal < ordinal);
}

/** What a journal has. */
interface Store {
  readonly logs: Map<string, Log>;
  readonly watchers: Map<string, Set<Listener>>;
  /** Sessions created so far. */
  created: number;
  closed: boolean;
}

type Listener = (seq: number) => void;

function find({ logs, closed }: Store, sessionId: string): Log {
  if (closed) throw journalErrors.closed();
  const log = logs.get(sessionId);
  if (!log) throw journalErrors.notFound(sessionId);
  return log;
}

function tell({ watchers }: Store, sessionId: string, seq: number): void {
  for (const changed of watchers.get(sessionId) ?? []) {
    try {
      changed(seq);
    } catch {
      // A watcher only observes: the write is done, and its failure is its own.
    }
  }
}

function addLog(
  store: Store,
  sessionId: string,
  first: DurableEventBody,
  fork: { readonly sessionId: string; readonly seq: number } | undefined,
): void {
  const { logs } = store;
  if (store.closed) throw journalErrors.closed();
  if (logs.has(sessionId)) throw journalErrors.exists(sessionId);
  const agentId = agentIdOf(first);
  const parent = fork && { log: find(store, fork.sessionId), seq: fork.seq };
  if (parent && !(Number.isInteger(parent.seq) && parent.seq >= 1 && parent.seq <= seqOf(parent.log))) {
    throw journalErrors.noSuchEvent(parent.log.sessionId, parent.seq, seqOf(parent.log));
  }
  const inherited = parent?.log.firstPrompt;
  const log: Log = {
    sessionId,
    ordinal: ++store.created,
    parent,
    own: [],
    base: parent?.seq ?? 0,
    createdAt: first.at,
    agentId,
    facts: factsAfter({}, first),
    updatedAt: first.at,
    firstPrompt: parent && inherited && inherited.seq <= parent.seq ? inherited : undefined,
    lastAppended: 0,
    epoch: 0,
    holder: undefined,
    keys: new Map(),
    snapshots: new Map(),
    wake: { dueAt: null, status: 'idle', waitsFor: [] },
  };
  log.lastAppended = addEvent(log, first).seq;
  logs.set(sessionId, log);
}

function take(log: Log, owner: Owner): Claim {
  if (log.holder && log.holder.id !== owner.id) throw journalErrors.busy(log.sessionId, log.holder);
  const epoch = ++log.epoch;
  log.holder = owner;
  if (log.wake) log.wake = { dueAt: 0, status: 'running', waitsFor: [] };
  return {
    sessionId: log.sessionId,
    epoch,
    seq: seqOf(log),
    leaseMs: Number.POSITIVE_INFINITY,
    renew: async () => log.epoch === epoch && log.holder !== undefined,
    release: async (rest) => {
      if (log.epoch !== epoch || !log.holder) return;
      log.holder = undefined;
      if (!rest || !log.wake) return;
      const { status, waitsFor } = rest;
      log.wake = { dueAt: dueAfter(rest, seqOf(log), 0), status, waitsFor };
    },
  };
}

/** A session that is due stays due since then. */
function becomesDue(log: Log, at: number): void {
  if (log.wake) log.wake = { ...log.wake, dueAt: Math.min(log.wake.dueAt ?? at, at) };
}

function dueIn({ logs, closed }: Store, { before, limit = 50, agents }: DueOptions): readonly DueSession[] {
  if (closed) throw journalErrors.closed();
  return [...logs.values()]
    .flatMap(({ sessionId, agentId, holder, wake }): readonly DueSession[] => {
      if (holder || wake?.dueAt == null || wake.dueAt > before) return [];
      if (agentId === undefined) return [{ sessionId, dueAt: wake.dueAt }];
      return agents?.includes(agentId) === false ? [] : [{ sessionId, dueAt: wake.dueAt, agentId }];
    })
    .toSorted((a, b) => a.dueAt - b.dueAt)
    .slice(0, limit);
}

function write(log: Log, epoch: number, expectedSeq: number, bodies: readonly DurableEventBody[]): AppendOutcome {
  if (epoch !== log.epoch) throw journalErrors.fenced(log.sessionId, epoch, `epoch ${log.epoch} took it over`);
  if (!log.holder) throw journalErrors.fenced(log.sessionId, epoch, 'its claim was released');
  const seq = seqOf(log);
  if (expectedSeq !== seq) {
    if (expectedSeq >= log.lastAppended && expectedSeq < seq) return { ok: false, seq };
    throw journalErrors.fenced(log.sessionId, epoch, `it expects event ${expectedSeq + 1}, the log ends at ${seq}`);
  }
  const events = bodies.map((body) => addEvent(log, body));
  log.lastAppended = seqOf(log);
  return { ok: true, events };
}

function drop({ logs }: Store, log: Log): void {
  if (log.holder) throw journalErrors.busy(log.sessionId, log.holder);
  logs.delete(log.sessionId);
  const lastUsed = lastUsedByForks(log, logs.values());
  log.own = log.own.slice(0, Math.max(0, lastUsed - log.base));
  for (const seq of log.snapshots.keys()) if (seq > lastUsed) log.snapshots.delete(seq);
}

function page({ logs, closed }: Store, { limit = 50, cursor, agentId, tag }: ListOptions): SessionPage {
  if (closed) throw journalErrors.closed();
  let rows = [...logs.values()];
  if (agentId !== undefined) rows = rows.filter((log) => log.agentId === agentId);
  if (tag !== undefined) rows = rows.filter(({ facts }) => facts.tags?.includes(tag) === true);
  if (cursor !== undefined) rows = rows.filter(afterCursor(cursor));
  rows.sort(newestFirst);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = last !== undefined && rows.length > shown.length;
  return { sessions: shown.map(summaryOf), ...(more && { cursor: `${last.updatedAt}.${last.ordinal}` }) };
}

/**
 * A journal in this process's memory: for tests, for agents whose sessions needn't outlive them, and as the reference
 * of the port. A claim is exclusive and never lapses, for it dies with the process.
 *
 * Events are kept as the objects they are: an event handed to `append`, returned by it or yielded by `read` is shared by
 * everyone who reads the session. Treat it as frozen.
 *
 * @example
 * ```ts
 * import { memoryJournal } from '@treadle/core';
 *
 * const journal = memoryJournal();
 * await journal.create('s1', { type: 'session_created', at: Date.now(), eventVersion: 1, sessionId: 's1' });
 * const prompt = { type: 'prompt', messages: [{ content: [{ type: 'text', text: 'Hello' }] }] } as const;
 * const { seq } = await journal.post('s1', prompt, 'key-1', Date.now());
 * console.log(seq); // 2
 * ```
 */
export function memoryJournal(): Journal {
  const store: Store = { logs: new Map(), watchers: new Map(), created: 0, closed: false };
  return {
    create: async (sessionId, first, fork) => addLog(store, sessionId, first, fork),
    claim: async (sessionId, owner) => take(find(store, sessionId), owner),
    async append(sessionId, epoch, expectedSeq, events) {
      const outcome = write(find(store, sessionId), epoch, expectedSeq, events);
      if (outcome.ok && events.length > 0) tell(store, sessionId, expectedSeq + events.length);
      return outcome;
    },
    async post(sessionId: string, input: SessionInput, key: string, at: number): Promise<PostOutcome> {
      const log = find(store, sessionId);
      const before = log.keys.get(key);
      if (before !== undefined) return { seq: before, duplicate: true };
      const { seq } = addEvent(log, { type: 'input_received', at, key, input });
      becomesDue(log, at);
      tell(store, sessionId, seq);
      return { seq, duplicate: false };
    },
    read: (sessionId, from) => reading(() => find(store, sessionId), from),
    watch(sessionId, changed) {
      // One of its own: the same function may watch twice.
      const listener: Listener = (seq) => changed(seq);
      const { watchers } = store;
      const listeners = watchers.get(sessionId) ?? new Set();
      watchers.set(sessionId, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && watchers.get(sessionId) === listeners) watchers.delete(sessionId);
      };
    },
    list: async (options = {}) => page(store, options),
    due: async (options) => dueIn(store, options),
    async remove(sessionId) {
      const log = find(store, sessionId);
      const seq = seqOf(log);
      drop(store, log);
      tell(store, sessionId, seq);
    },
    snapshots: {
      save: async (sessionId, snapshot) => keepSnapshot(find(store, sessionId), snapshot),
      load: async (sessionId, upTo) => newestSnapshot(find(store, sessionId), upTo),
    },
    async close() {
      store.closed = true;
      store.logs.clear();
      store.watchers.clear();
    },
  };
}
