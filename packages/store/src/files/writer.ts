import type { DurableEventBody, SessionInput } from '@treadle/core/events';
import {
  type AppendOutcome,
  dueAfter,
  isDrivenElsewhere,
  journalErrors,
  type Owner,
  type PostOutcome,
  type Rest,
} from '@treadle/core/journal';
import { TreadleError } from '@treadle/core';
import { refuseHeld, type Holder } from '../checks.ts';
import { fstatSync } from 'node:fs';
import type { ProcessTable } from '../processes.ts';
import type { JournalFile } from './file-system.ts';
import { syncFolder, type Layout } from './folder.ts';
import { comesEarlier, putMarker, takeMarker, type Wake } from './markers.ts';
import { holderOf, readLease, writeLease, type Lease } from './lease.ts';
import { acquireLock, type Lock, type LockOptions } from './lock.ts';
import {
  indexIfDue,
  mendTail,
  refreshNamed,
  rewrite,
  shortened,
  take,
  type DamageReport,
  type LogFile,
} from './log.ts';
import { draftOf, mustSync, type Draft } from './record.ts';

export interface WriterOptions extends LockOptions {
  readonly layout: Layout;
  readonly processes: ProcessTable;
  /** Under which this process holds sessions. */
  readonly member: () => string;
  readonly onDamage: (report: DamageReport) => void;
  /** Whether the log is still that of its session. */
  readonly isNamed: () => Promise<boolean>;
}

/** The one way into a log's file from this process: what is asked for at the same time shares a lock, a write and a sync. */
export interface Writer {
  readonly log: LogFile;
  append(epoch: number, expectedSeq: number, events: readonly DurableEventBody[]): Promise<AppendOutcome>;
  post(input: SessionInput, key: string, at: number): Promise<PostOutcome>;
  claim(owner: Owner): Promise<{ readonly epoch: number; readonly seq: number }>;
  release(epoch: number, rest: Rest | undefined): Promise<void>;
  /** Makes sure that all of the log is on the disk. Only for whoever is alone. */
  sync(lease: Lease): Promise<void>;
  /** Lets the log go, when what is under way is done. */
  close(): Promise<void>;
  /** Runs `work` alone, with the log and the lease as they are now. */
  alone<Value>(work: (lease: Lease) => Promise<Value>): Promise<Value>;
}

/** What one write under the lock gathers. */
interface Batch {
  lease: Lease;
  leaseChanged: boolean;
  /** An epoch was given out, which must not be given out again, not even after a power failure. */
  claimed: boolean;
  readonly drafts: Draft[];
  sync: boolean;
  /** Keys and appends that were gathered and aren't in the log yet. */
  readonly keys: Map<string, number>;
  lastAppended: number;
  /** Who holds the session, when somebody wants to claim it. */
  readonly holder: Holder | null;
}

/** The log while it is ours: what comes meanwhile needs neither lock nor look. */
interface Hold {
  readonly lock: Lock;
  lease: Lease;
  file: JournalFile | null;
  /** Writes, and the time, since we last looked whether others wait. */
  batches: number;
  looked: number;
}

/** A file of the system's own is asked without another thread: an append takes a tenth less time. */
const sizeOf = async (file: JournalFile): Promise<number> =>
  ('fd' in file && typeof file.fd === 'number' ? fstatSync(file.fd) : await file.stat()).size;

const MOST_BATCHES = 64;
const LOOK_EVERY_MS = 20;
/** A log that nobody writes to stays ours for so many rests, and others are looked for after each. */
const RESTS = 10;
const REST_MS = 5;

interface Job {
  /** Returns what is to be done once the batch is written. */
  run(batch: Batch): () => void;
  fail(error: unknown): void;
  readonly isClaim: boolean;
}

export function createWriter(sessionId: string, folder: string, log: LogFile, options: WriterOptions): Writer {
  let jobs: Job[] = [];
  const alone: (() => Promise<void>)[] = [];
  let pumping = false;
  let broken: unknown = null;
  let hold: Hold | null = null;
  let timer: NodeJS.Timeout | undefined;
  /** We have let the log go for another process. */
  let yielded = false;

  /** The log as it stands, its torn end mended. */
  async function current(): Promise<Lease> {
    await refreshNamed(log);
    const report = await mendTail(log, `${log.path}.damaged-${options.clock.now()}`);
    if (report) options.onDamage(report);
    const { isUntrusted = false, ...lease } = await readLease(options.fs, folder);
    if (!isUntrusted) return lease;
    await rewrite(log);
    await writeLease(options.fs, folder, lease);
    return lease;
  }

  /** Makes the log ours, and looks at it as it is now: while we have it, nobody else writes. */
  async function begin(): Promise<Hold> {
    const lock = await acquireLock(folder, options, yielded);
    yielded = false;
    try {
      if (!(await options.isNamed())) throw journalErrors.notFound(sessionId);
      return { lock, lease: await current(), file: null, batches: 0, looked: options.clock.now() };
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  async function letGo(): Promise<void> {
    const ended = hold;
    hold = null;
    await ended?.file?.close().catch(() => {});
    await ended?.lock.release();
  }

  /** Others wait no longer than some writes, or some milliseconds. */
  async function isWanted(held: Hold): Promise<boolean> {
    held.batches += 1;
    const now = options.clock.now();
    if (held.batches < MOST_BATCHES && now - held.looked < LOOK_EVERY_MS) return false;
    Object.assign(held, { batches: 0, looked: now });
    return (yielded = await held.lock.isWanted().catch(() => true));
  }

  async function work(batch: readonly Job[]): Promise<void> {
    const held = (hold ??= await begin());
    const gathered: Batch = {
      lease: held.lease,
      leaseChanged: false,
      claimed: false,
      drafts: [],
      sync: false,
      keys: new Map(),
      lastAppended: log.lastAppended,
      holder: batch.some(({ isClaim }) => isClaim) ? await holderOf(options.layout, held.lease) : null,
    };
    const ready: { readonly done: () => void; readonly job: Job }[] = [];
    for (const job of batch) {
      try {
        ready.push({ done: job.run(gathered), job });
      } catch (error) {
        job.fail(error);
      }
    }
    try {
      // The lease first: an epoch that was given out is never given out again.
      if (gathered.leaseChanged) await changeLease(held, gathered);
      if (gathered.drafts.length > 0) await write(gathered, held);
      for (const { done } of ready) done();
    } catch (error) {
      await letGo();
      for (const { job } of ready) job.fail(error);
    }
    // A cache: without it the log is read from its beginning.
    if (hold !== null) await indexIfDue(log).catch(() => {});
  }

  /** A marker before the wake that it stands for: one too many is passed over. */
  async function changeLease(held: Hold, { lease, claimed }: Batch): Promise<void> {
    const { layout, fs } = options;
    const { wake: before } = held.lease;
    if (lease.wake?.dueAt !== before?.dueAt) await putMarker(layout, log.id, lease.wake);
    await writeLease(fs, folder, lease);
    // An input that is kept must find a session that is due.
    if (claimed || comesEarlier(before, lease.wake)) await syncFolder(fs, folder);
    held.lease = lease;
    await takeMarker(layout, log.id, before, lease.wake);
  }

  /**
   * What a failed sync has left on the disk nobody knows, and the next one may say that all is well. So the next writer,
   * whatever its process, writes the log anew.
   */
  async function synced(file: JournalFile, lease: Lease): Promise<void> {
    try {
      await file.datasync();
    } catch (error) {
      broken = error;
      await writeLease(options.fs, folder, { ...lease, isUntrusted: true }).catch(() => {});
      throw error;
    }
  }

  async function sync(lease: Lease): Promise<void> {
    const file = await options.fs.open(log.path, 'r+');
    try {
      await synced(file, lease);
    } finally {
      await file.close();
    }
    log.synced = log.seq;
  }

  async function write({ drafts, sync, lease }: Batch, held: Hold): Promise<void> {
    const bytes = Buffer.from(drafts.map(({ line }) => line).join(''));
    const before = log.size;
    const file = (held.file ??= await options.fs.open(log.path, 'r+'));
    const size = await sizeOf(file);
    if (size < before) throw shortened(log, size);
    try {
      // A disk that is almost full takes a part, and fails at the next.
      for (let done = 0; done < bytes.length;) {
        done += (await file.write(bytes, done, bytes.length - done, before + done)).bytesWritten;
      }
      if (sync) await synced(file, lease);
    } catch (error) {
      // Nothing was acknowledged, so nothing of it may stay.
      broken = error;
      await file.truncate(before).catch(() => {});
      throw error;
    }
    for (const draft of drafts) take(log, draft, log.size);
    if (sync) log.synced = log.seq;
  }

  async function pump(): Promise<void> {
    pumping = true;
    clearTimeout(timer);
    // Everything asked for in this tick shares the first write.
    await Promise.resolve();
    while (jobs.length > 0 || alone.length > 0) {
      for (let next = alone.shift(); next; next = alone.shift()) await next();
      const batch = jobs;
      jobs = [];
      if (batch.length === 0) continue;
      await work(batch).catch((error: unknown) => {
        for (const job of batch) job.fail(error);
      });
      if (hold !== null && (await isWanted(hold))) await letGo();
    }
    pumping = false;
    if (hold !== null) rest(hold, RESTS);
  }

  /** Whoever writes one after the other comes again soon: the log stays ours for a while, unless somebody waits for it. */
  function rest(held: Hold, rests: number): void {
    // Time as it passes for other processes, whatever clock this one is told.
    const look = async (): Promise<void> => {
      if (pumping || hold !== held) return;
      pumping = true;
      if (rests === 0 || (yielded = await held.lock.isWanted().catch(() => true))) await letGo();
      pumping = false;
      if (jobs.length > 0 || alone.length > 0) void pump();
      else if (hold === held) rest(held, rests - 1);
    };
    timer = setTimeout(() => void look(), REST_MS).unref();
  }

  function goOn(): void {
    if (!pumping) void pump();
  }

  /** Runs `work` when no write is under way, with the log and the lease as they are then. */
  async function runAlone<Value>(work: (lease: Lease) => Promise<Value>): Promise<Value> {
    const held = (hold ??= await begin());
    try {
      // What it does to the log's file, a file that is open wouldn't see.
      await held.file?.close();
      held.file = null;
      return await work(held.lease);
    } finally {
      await letGo();
    }
  }

  /** Runs `work` when its turn has come, and no write is under way. */
  function queued<Value>(work: () => Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      alone.push(() => work().then(resolve, reject));
      goOn();
    });
  }

  /** After a failed write nothing is written but leases. */
  function submit<Value>(run: (batch: Batch) => Value, kind?: 'claim' | 'release'): Promise<Value> {
    if (broken !== null && kind !== 'release') {
      const message = `The journal ${log.path} failed to write before. Open it again.`;
      return Promise.reject(new TreadleError('journal_failed', message, { cause: broken }));
    }
    return new Promise((resolve, reject) => {
      const prepare = (batch: Batch): (() => void) => {
        const value = run(batch);
        return () => resolve(value);
      };
      jobs.push({ run: prepare, fail: reject, isClaim: kind === 'claim' });
      goOn();
    });
  }

  /** The number of the next record, those gathered before it counted in. */
  const nextSeq = (batch: Batch): number => log.seq + batch.drafts.length + 1;

  function gather(batch: Batch, posted: boolean, event: DurableEventBody): number {
    const seq = nextSeq(batch);
    batch.drafts.push(draftOf(seq, posted, event, log.synced));
    batch.sync ||= mustSync(event);
    return seq;
  }

  function setLease(batch: Batch, change: Partial<Lease>): void {
    batch.lease = { ...batch.lease, ...change };
    batch.leaseChanged = true;
  }

  /** The wake with a change; null where another session drives this one. */
  function wakeWith({ lease: { wake } }: Batch, change: Omit<Wake, 'sessionId' | 'agentId'>): Wake | null {
    return wake === null ? null : { sessionId, agentId: log.agentId, ...change };
  }

  /** A session that is due stays due since then. */
  function becomesDue(batch: Batch, at: number): void {
    const { dueAt = null, status = 'idle', waitsFor = [] } = batch.lease.wake ?? {};
    if (dueAt === null || dueAt > at) setLease(batch, { wake: wakeWith(batch, { dueAt: at, status, waitsFor }) });
  }

  return {
    log,
    append: (epoch, expectedSeq, events) =>
      submit((batch): AppendOutcome => {
        const { lease } = batch;
        if (epoch !== lease.epoch) {
          throw journalErrors.fenced(sessionId, epoch, `epoch ${lease.epoch} took it over`);
        }
        if (lease.holder === null) throw journalErrors.fenced(sessionId, epoch, 'its claim was released');
        const seq = nextSeq(batch) - 1;
        if (expectedSeq !== seq) {
          if (expectedSeq >= batch.lastAppended && expectedSeq < seq) return { ok: false, seq };
          const why = `it expects event ${expectedSeq + 1}, the log ends at ${seq}`;
          throw journalErrors.fenced(sessionId, epoch, why);
        }
        const written = events.map((event) => ({ ...event, seq: gather(batch, false, event) }));
        if (written.length > 0) batch.lastAppended = expectedSeq + written.length;
        return { ok: true, events: written };
      }),
    post: (input, key, at) =>
      submit((batch): PostOutcome => {
        const before = batch.keys.get(key) ?? log.keys.get(key);
        if (before !== undefined) return { seq: before, duplicate: true };
        const event = { type: 'input_received', at, key, input } as const;
        const seq = gather(batch, true, event);
        batch.keys.set(key, seq);
        if (isDrivenElsewhere(event)) setLease(batch, { wake: null });
        else if (batch.lease.wake !== null) becomesDue(batch, at);
        return { seq, duplicate: false };
      }),
    claim: (owner) =>
      submit((batch) => {
        if (batch.lease.holder?.id !== owner.id) refuseHeld(sessionId, batch.lease.holder && batch.holder, options);
        const epoch = batch.lease.epoch + 1;
        setLease(batch, { epoch, holder: { ...owner, process: options.processes.self(), member: options.member() } });
        // Whoever dies with it leaves it due.
        setLease(batch, {
          wake: wakeWith(batch, { dueAt: options.clock.now(), status: 'running', waitsFor: [] }),
        });
        batch.claimed = true;
        return { epoch, seq: nextSeq(batch) - 1 };
      }, 'claim'),
    release: (epoch, rest) =>
      submit((batch) => {
        if (batch.lease.epoch !== epoch || batch.lease.holder === null) return;
        setLease(batch, { holder: null });
        if (!rest) return;
        const { status, waitsFor } = rest;
        const dueAt = dueAfter(rest, nextSeq(batch) - 1, options.clock.now());
        setLease(batch, { wake: wakeWith(batch, { dueAt, status, waitsFor }) });
      }, 'release'),
    sync,
    close: () => queued(letGo).catch(() => {}),
    alone: (job) => queued(() => runAlone(job)),
  };
}
