import { type Clock, type DurableEvent, type Journal, errorText, systemClock, TreadleError } from '@treadle/core';
import { journalErrors } from '@treadle/core/journal';
import { randomUUID } from 'node:crypto';
import { createHolding, type TakenClaim } from '../holding.ts';
import { systemProcesses, type ProcessTable } from '../processes.ts';
import { createWatchers } from '../watchers.ts';
import { codeOf } from '../errors.ts';
import { systemFiles, type JournalFileSystem } from './file-system.ts';
import { findLog, layoutOf, openFolder } from './folder.ts';
import { listSessions } from './list.ts';
import { memberAt, renewMember } from './lease.ts';
import type { DamageReport } from './log.ts';
import { createLog, findSnapshot, readSession, removeLog, standingOf, writerOf, writeTo, type Logs } from './logs.ts';
import { saveSnapshot } from './snapshots.ts';
import { dueSessions, restoreMarkers } from './wakes.ts';
import type { Writer } from './writer.ts';

interface Taken extends TakenClaim {
  readonly writer: Writer;
}

/** Options of {@link fileJournal}. */
export interface FileJournalOptions {
  /** The folder. It is made when first needed, readable by its owner only. */
  readonly folder: string;
  /** Time for leases, polling and retries. Default: the machine's. */
  readonly clock?: Clock;
  /** Who lives on this machine: a claim of a dead process is taken over at once. Default: the operating system's. */
  readonly processes?: ProcessTable;
  /** Milliseconds after which the claims of a process that hangs can be taken over. Default 10,000. */
  readonly leaseMs?: number;
  /** Milliseconds between looks for other processes' writes, while anyone watches. Default 250. */
  readonly pollMs?: number;
  /** Milliseconds to keep trying while another process holds a log's lock, before `journal_failed`. Default 10,000. */
  readonly lockTimeoutMs?: number;
  /** What to read and write by, such as the `simulatedDisk` of `@treadle/testing`. Default: `node:fs/promises`. */
  readonly fileSystem?: JournalFileSystem;
  /** Told of a damaged end that was cut off, and where the file as it was is kept. Default: a warning of the process. */
  readonly onDamage?: (report: DamageReport) => void;
}

/**
 * A journal of plain files, one per session, for any number of processes on this machine: JSON Lines, each with the
 * length and the checksum of its event. What is written at the same time shares a write and a sync. Inputs, decisions,
 * starts and ends of tools, pauses and ends of runs are synced against a power failure before they are acknowledged; all
 * else survives the death of the process.
 *
 * A torn or damaged end, left by a crash, is cut off by the next writer: the file as it was is kept, and `onDamage` is
 * told. Damage with whole events behind it is refused as `journal_corrupt`; the events before it can be read.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { fileJournal } from '@treadle/store';
 *
 * const journal = fileJournal({ folder: mkdtempSync(join(tmpdir(), 'treadle-')) });
 * await journal.create('s1', { type: 'session_created', at: Date.now(), eventVersion: 1, sessionId: 's1' });
 * console.log((await journal.list()).sessions.length); // 1
 * await journal.close();
 * ```
 */
export function fileJournal(options: FileJournalOptions): Journal {
  const { clock = systemClock, processes = systemProcesses, leaseMs = 10_000, onDamage = warn, folder } = options;
  if (folder === '') throw new TreadleError('invalid_definition', 'fileJournal needs the path of a folder.');
  const { fileSystem: fs = systemFiles } = options;
  let member = randomUUID();
  const layout = layoutOf(folder, fs);
  const writing = {
    fs,
    layout,
    clock,
    processes,
    member: () => member,
    onDamage,
    timeoutMs: options.lockTimeoutMs ?? 10_000,
  };
  const logs: Logs = { layout, writing, writers: new Map(), named: new Map() };
  const holding = createHolding<Taken>({
    clock,
    leaseMs,
    renew: async (_, until) => {
      await run(() => renewMember(logs.layout, member, until));
      // Nobody takes what a member holds that was heard of.
      return [];
    },
    release: ({ writer, epoch }, rest) => run(() => writer.release(epoch, rest)),
    lapsed() {
      void fs.rm(memberAt(layout, member), { force: true }).catch(() => {});
      member = randomUUID();
    },
  });
  const watchers = createWatchers({
    clock,
    everyMs: options.pollMs ?? 250,
    look: (sessionId) => run(() => standingOf(logs, sessionId)),
  });
  let closed = false;
  let opening: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  let restoring: Promise<void> | undefined;

  async function run<Value>(work: () => Promise<Value>): Promise<Value> {
    if (closed) throw journalErrors.closed();
    opening ??= openFolder(logs.layout);
    try {
      await opening.catch((thrown: unknown) => {
        // A later call tries again: the disk may have room by then.
        opening = undefined;
        throw thrown;
      });
      return await work();
    } catch (thrown) {
      throw fileError(thrown, folder);
    }
  }

  async function* read(sessionId: string, from: number): AsyncGenerator<DurableEvent> {
    await run(async () => {});
    try {
      yield* readSession(logs, sessionId, from);
    } catch (thrown) {
      if (closed) throw journalErrors.closed();
      // Removed while it was read?
      const log = await findLog(logs.layout, sessionId).catch(() => undefined);
      if (log === null) throw journalErrors.notFound(sessionId);
      throw fileError(thrown, folder);
    }
  }

  async function shut(): Promise<void> {
    await holding.close();
    closed = true;
    if (opening) await fs.rm(memberAt(layout, member), { force: true }).catch(() => {});
    await Promise.all([...logs.writers.values()].map((writer) => writer.then(({ close }) => close()).catch(() => {})));
    watchers.close();
  }

  return {
    create: (sessionId, first, fork) => run(() => createLog(logs, sessionId, first, fork)),
    claim(sessionId, owner) {
      return holding.claim(sessionId, () =>
        run(async () => {
          const writer = await writerOf(logs, sessionId);
          // Heard of before it holds anything.
          if (holding.held.size === 0) await renewMember(logs.layout, member, clock.now() + leaseMs);
          return { ...(await writer.claim(owner)), writer };
        }),
      );
    },
    async append(sessionId, epoch, expectedSeq, events) {
      holding.check(sessionId, epoch);
      const outcome = await run(() => writeTo(logs, sessionId, (writer) => writer.append(epoch, expectedSeq, events)));
      // The process may have been stopped meanwhile: nobody acts on what it wrote then.
      holding.check(sessionId, epoch);
      if (outcome.ok && events.length > 0) watchers.wrote(sessionId, expectedSeq + events.length);
      return outcome;
    },
    async post(sessionId, input, key, at) {
      const outcome = await run(() => writeTo(logs, sessionId, (writer) => writer.post(input, key, at)));
      if (!outcome.duplicate) watchers.wrote(sessionId, outcome.seq);
      return outcome;
    },
    read,
    watch: (sessionId, changed) => watchers.add(sessionId, changed),
    list: (listOptions = {}) => run(() => listSessions(logs, listOptions)),
    due: (dueOptions) =>
      run(async () => {
        await (restoring ??= restoreMarkers(logs).catch((thrown: unknown) => {
          restoring = undefined;
          throw thrown;
        }));
        return dueSessions(logs, dueOptions);
      }),
    async remove(sessionId) {
      await run(() => removeLog(logs, sessionId));
      watchers.removed(sessionId);
    },
    snapshots: {
      save: (sessionId, snapshot) =>
        run(async () => saveSnapshot(await writerOf(logs, sessionId), sessionId, snapshot)),
      load: (sessionId, upTo) => run(() => findSnapshot(logs, sessionId, upTo)),
    },
    close: () => (closing ??= shut()),
  };
}

function warn({ path, seq, bytes, copy }: DamageReport): void {
  process.emitWarning(
    `The journal ${path} had ${bytes} damaged bytes after event ${seq}. They were cut off; the file as it was is ${copy}.`,
  );
}

/** Any error of the file system as the journal port reports it. */
function fileError(thrown: unknown, folder: string): TreadleError {
  if (thrown instanceof TreadleError) return thrown;
  const what = codeOf(thrown) === 'ENOSPC' ? 'the disk is full. Free some space and try again' : errorText(thrown);
  return new TreadleError('journal_failed', `The journal ${folder} could not be read or written: ${what}.`, {
    cause: thrown,
    details: { folder },
  });
}
