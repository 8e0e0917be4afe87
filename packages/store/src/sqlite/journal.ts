import { systemClock, type Journal } from '@treadle/core';
import { eventText } from '@treadle/core/journal';
import { dueSessions, releaseLease, renewLeases, takeLease, type Taken } from './claims.ts';
import { createHolding } from '../holding.ts';
import { systemProcesses, type ProcessTable } from '../processes.ts';
import { createWatchers } from '../watchers.ts';
import { sqliteFile, type SqliteFileOptions } from './open-file.ts';
import { listSessions, readEvents } from './read.ts';
import { newestSnapshot, saveSnapshot } from './snapshots.ts';
import { findSession, prepareStore } from './statements.ts';
import { appendEvents, createSession, postInput, removeSession } from './write.ts';

/** Options of {@link sqliteJournal}. */
export interface SqliteJournalOptions extends SqliteFileOptions {
  /** Who lives on this machine: a claim of a dead process is taken over at once. Default: the operating system's. */
  readonly processes?: ProcessTable;
  /** Milliseconds after which the claims of a process that hangs can be taken over. Default 10,000. */
  readonly leaseMs?: number;
  /** Milliseconds between looks for other processes' writes, while anyone watches. Default 250. */
  readonly pollMs?: number;
}

/**
 * A journal in one SQLite file, for any number of sessions and of processes on this machine. What is acknowledged
 * survives the process and a power failure: every append is one transaction, synced to the disk (write-ahead log,
 * `synchronous=FULL`). Waiting for another process's lock never stops this one.
 *
 * A claim carries the process's id and start: when that process is dead, the next one gets the session at once; when it
 * lives elsewhere or can't be seen, after the lease has lapsed. `close` releases the claims that are still held. The file
 * must lie on a local disk: SQLite's write-ahead log doesn't work across machines.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { sqliteJournal } from '@treadle/store';
 *
 * const journal = sqliteJournal({ path: join(mkdtempSync(join(tmpdir(), 'treadle-')), 'journal.db') });
 * await journal.create('s1', { type: 'session_created', at: Date.now(), eventVersion: 1, sessionId: 's1' });
 * console.log((await journal.list()).sessions.length); // 1
 * await journal.close();
 * ```
 */
export function sqliteJournal(options: SqliteJournalOptions): Journal {
  const { path, clock = systemClock, processes = systemProcesses, pollMs = 250 } = options;
  const needs = 'sqliteJournal needs the path of a file. In memory: memoryJournal().';
  const file = sqliteFile(options, needs, prepareStore);
  const { run } = file;
  const leasing = { clock, processes, leaseMs: options.leaseMs ?? 10_000 };
  const watchers = createWatchers({
    clock,
    everyMs: pollMs,
    hasNews,
    look: (name) => file.opened && (findSession(file.opened, name) ?? null),
  });
  const holding = createHolding<Taken>({
    clock,
    leaseMs: leasing.leaseMs,
    renew: (held, until) => run((ready) => renewLeases(ready, held, until)),
    release: (taken, rest) => run((ready) => releaseLease(ready, clock.now(), taken, rest)),
  });
  /** Changes with every commit of another connection. */
  let version: unknown;
  let closed = false;
  let closing: Promise<void> | undefined;

  function hasNews(): boolean {
    try {
      const before = version;
      version = file.opened?.dataVersion.get()?.['data_version'];
      return version !== before;
    } catch {
      // Locked or failing just now: whoever next reads or writes gets the error.
      return true;
    }
  }

  async function shut(): Promise<void> {
    await holding.close();
    closed = true;
    watchers.close();
    file.close();
  }

  return {
    create: (sessionId, first, fork) => run((ready) => createSession(ready, sessionId, first, fork)),
    claim(sessionId, owner) {
      return holding.claim(sessionId, () => run((ready) => takeLease(ready, leasing, sessionId, owner)));
    },
    async append(sessionId, epoch, expectedSeq, events) {
      holding.check(sessionId, epoch);
      const texts = events.map(eventText);
      const append = { name: sessionId, session: holding.held.get(sessionId)?.session, epoch, expected: expectedSeq };
      const outcome = await run((ready) => appendEvents(ready, append, events, texts));
      // The process may have been stopped meanwhile: nobody acts on what it wrote then.
      holding.check(sessionId, epoch);
      if (outcome.ok && events.length > 0) watchers.wrote(sessionId, expectedSeq + events.length);
      return outcome;
    },
    async post(sessionId, input, key, at) {
      const outcome = await run((ready) => postInput(ready, sessionId, input, key, at));
      if (!outcome.duplicate) watchers.wrote(sessionId, outcome.seq);
      return outcome;
    },
    read: (sessionId, from) => readEvents(path, sessionId, from, run),
    watch(sessionId, changed) {
      const stop = watchers.add(sessionId, changed);
      // Others' writes are heard of only with the file open. A file that can't be opened is reported to the next caller.
      if (!file.opened && !closed) run(() => watchers.lookAtAll()).catch(() => {});
      return stop;
    },
    list: (listOptions = {}) => run((ready) => listSessions(ready, listOptions)),
    due: (dueOptions) => run((ready) => dueSessions(ready, leasing, dueOptions)),
    async remove(sessionId) {
      await run((ready) => removeSession(ready, leasing, sessionId));
      watchers.removed(sessionId);
    },
    snapshots: {
      save: (sessionId, snapshot) => run((ready) => saveSnapshot(ready, sessionId, snapshot)),
      load: (sessionId, upTo) => run((ready) => newestSnapshot(ready, sessionId, upTo)),
    },
    close: () => (closing ??= shut()),
  };
}
