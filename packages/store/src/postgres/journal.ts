import { systemClock, type Clock, type DurableEvent, type Journal } from '@treadle/core';
import { journalErrors } from '@treadle/core/journal';
import { systemProcesses, type ProcessTable } from '../processes.ts';
import { createWatchers } from '../watchers.ts';
import { createHolding } from '../holding.ts';
import { releaseLease, takeLease, type Taken } from './claims.ts';
import { connect, postgresError, type Connected, type PostgresConnection, type Sql } from './connection/connect.ts';
import { listen, type Listening } from './connection/listen.ts';
import { createTeller, endsSomething, hear, idOf } from './notices.ts';
import { throughOutages } from './connection/outage.ts';
import { createMember, dueSessions, type IsStray } from './members.ts';
import { placeOf } from './place.ts';
import { listSessions, lookAtAll, readEvents } from './read.ts';
import { removeSession } from './remove.ts';
import { migrate } from './schema.ts';
import { requireSchema } from './stores/store.ts';
import { newestSnapshot, saveSnapshot } from './snapshots.ts';
import { sessionOf } from './tables.ts';
import { appendEvents, createSession, postInput } from './write.ts';

/** Options of {@link postgresJournal}. */
export interface PostgresJournalOptions extends PostgresConnection {
  /** The schema its tables are in, made when it isn't there. Default `treadle`. */
  readonly schema?: string;
  /** Time for leases, retries and deadlines. Every machine's clock must be about right. Default: the machine's. */
  readonly clock?: Clock;
  /** Who lives on this machine: a claim of a dead process is taken over at once. Default: the operating system's. */
  readonly processes?: ProcessTable;
  /**
   * Milliseconds after which the claims of a process that hangs, or can't reach the server, can be taken over. One that died
   * is noticed by its lost connection within a second. Default 10,000.
   */
  readonly leaseMs?: number;
  /** Milliseconds for which a write is tried again when the connection breaks or the server is down. Default 10,000. */
  readonly outageMs?: number;
}

interface Opened {
  readonly connected: Connected;
  readonly listening: Listening;
}

/**
 * A journal in a Postgres database, for any number of processes on any number of machines. An append, its fence included,
 * is one statement; others hear of it by `LISTEN` and `NOTIFY`. What is acknowledged is committed, as durable as the
 * database's `synchronous_commit` makes it. When a connection breaks amid a write, whether that was carried out is read from
 * the log before it is tried again, so nothing is lost and nothing written twice. The tables are made and brought up to date when the journal is first used.
 *
 * It needs the package `postgres`. It lets go of connections it made itself in `close`, and never of yours.
 */
export function postgresJournal(options: PostgresJournalOptions): Journal {
  const { schema = 'treadle', clock = systemClock, processes = systemProcesses, leaseMs = 10_000 } = options;
  requireSchema('postgresJournal', schema);
  const leasing = { clock, processes, leaseMs };
  const outages = { clock, outageMs: options.outageMs ?? 10_000, isClosed: () => closed };
  const place = placeOf(schema);
  const watchers = createWatchers();
  const teller = createTeller(async (notices) => (await opening)?.listening.send(notices));
  const member = createMember(schema, leasing);
  const holding = createHolding<Taken>({
    clock,
    leaseMs,
    renew: async (held) => ((await beat()) ? [] : held),
    release: (taken, rest) => run((sql) => releaseLease(sql, schema, clock.now(), taken, rest)),
    lapsed: member.renounce,
  });
  /** When this process lost its connection last: the others may have lost theirs with it, and come back later. */
  let lostAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  let opening: Promise<Opened> | undefined;
  let ready: Opened | undefined;
  let closing: Promise<void> | undefined;

  async function open(): Promise<Opened> {
    const connected = await connect(options, clock);
    try {
      await migrate(connected.sql, schema);
      const listening = await listen({
        connected,
        clock,
        channel: place.channel,
        heard: (notice) => hear(watchers, notice),
        look: (sql) => lookAtAll(watchers, sql, schema),
        lost() {
          lostAt = clock.now();
        },
        returned() {
          lostAt = clock.now();
          void holding.beat();
        },
      });
      return { connected, listening };
    } catch (thrown) {
      await connected.end();
      throw thrown;
    }
  }

  function whenOpen(): Promise<Opened> {
    opening ??= open().catch((thrown: unknown) => {
      // A later call tries again: the server may be up by then.
      opening = undefined;
      throw thrown;
    });
    return opening;
  }

  async function run<T>(work: (sql: Sql, isAgain: boolean) => Promise<T>, isRepeatable = false): Promise<T> {
    if (closed) throw journalErrors.closed();
    try {
      const { connected } = (ready ??= await whenOpen());
      if (!isRepeatable) return await work(connected.sql, false);
      return await throughOutages(outages, (isAgain) => work(connected.sql, isAgain));
    } catch (thrown) {
      throw postgresError(thrown);
    }
  }

  /** Says that this process lives, on the connection by which the others see it. */
  async function beat(): Promise<boolean> {
    const { listening } = await whenOpen();
    try {
      return await member.beat(listening.sql);
    } catch (thrown) {
      throw postgresError(thrown);
    }
  }

  async function shut(): Promise<void> {
    const opened = await opening?.catch(() => undefined);
    if (opened) {
      await Promise.all([teller.flush(), holding.close()]);
      // What could not be released is free with it.
      await member.leave(opened.listening.sql).catch(() => {});
    }
    closed = true;
    watchers.close();
    opened?.listening.stop();
    await opened?.connected.end();
  }

  async function* read(sessionId: string, from: number): AsyncGenerator<DurableEvent> {
    const sql = await run(async (ready) => ready);
    try {
      yield* readEvents(sql, schema, sessionId, from);
    } catch (thrown) {
      throw closed ? journalErrors.closed() : postgresError(thrown);
    }
  }

  return {
    create: (sessionId, first, fork) => run((sql) => createSession(sql, schema, sessionId, first, fork)),
    claim(sessionId, owner) {
      return holding.claim(sessionId, async () => {
        // Heard of before it holds anything.
        if (holding.held.size === 0) await beat();
        const isOwnStray: IsStray = (by) => by === member.id() && !holding.has(sessionId, 1);
        return run((sql) => takeLease(sql, schema, leasing, sessionId, owner, member.id(), isOwnStray));
      });
    },
    async append(sessionId, epoch, expectedSeq, events) {
      holding.check(sessionId, epoch);
      const taken = holding.held.get(sessionId);
      const own = taken?.epoch === epoch ? taken : undefined;
      const isKnownEnd = own?.end === expectedSeq;
      const append = { name: sessionId, epoch, expectedSeq, session: taken?.session, isKnownEnd };
      if (own && events.length > 0) delete own.end;
      const outcome = await run((sql, isAgain) => appendEvents(sql, place, append, events, isAgain), true);
      // The process may have been stopped meanwhile: nobody acts on what it wrote then.
      holding.check(sessionId, epoch);
      if (!outcome.ok || events.length === 0) return outcome;
      const seq = expectedSeq + events.length;
      if (own) own.end = seq;
      if (endsSomething(events)) teller.forget(sessionId);
      else teller.wrote(sessionId, seq);
      watchers.wrote(idOf(sessionId), seq);
      return outcome;
    },
    async post(sessionId, input, key, at) {
      const event = { type: 'input_received' as const, at, key, input };
      const outcome = await run((sql, isAgain) => postInput(sql, place, sessionId, event, isAgain), true);
      if (!outcome.duplicate) watchers.wrote(idOf(sessionId), outcome.seq);
      return outcome;
    },
    read,
    watch(sessionId, changed) {
      const stop = watchers.add(sessionId, changed, idOf(sessionId));
      // Others' writes are heard of only while connected. A server that can't be reached is reported to the next caller.
      if (!opening && !closed) run(async () => {}).catch(() => {});
      return stop;
    },
    list: (listOptions = {}) => run((sql) => listSessions(sql, schema, listOptions)),
    due(dueOptions) {
      const mayNote = clock.now() >= lostAt + leaseMs;
      const own = { member: member.id(), has: holding.all(), now: clock.now(), mayNote };
      return run((sql) => dueSessions(sql, schema, leasing, dueOptions, own));
    },
    async remove(sessionId) {
      const { seq } = await run((sql) => sessionOf(sql, schema, sessionId));
      teller.forget(sessionId);
      await run((sql) => removeSession(sql, place, leasing, sessionId));
      watchers.removed(idOf(sessionId), Number(seq));
    },
    snapshots: {
      save: (sessionId, snapshot) => run((sql) => saveSnapshot(sql, schema, sessionId, snapshot)),
      load: (sessionId, upTo) => run((sql) => newestSnapshot(sql, schema, sessionId, upTo)),
    },
    close: () => (closing ??= shut()),
  };
}
