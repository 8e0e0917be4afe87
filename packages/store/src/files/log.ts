import { type DurableEvent, TreadleError } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { agentIdOf, factsAfter, firstPromptOf, upToDate } from '@treadle/core/journal';
import { dirname } from 'node:path';
import type { JournalFile, JournalFileSystem } from './file-system.ts';
import { syncFolder } from './folder.ts';
import { readIndex, writeIndex, type LogFacts } from './log-index.ts';
import { readRecord, wasSynced, type LogRecord } from './record.ts';

/** What a process knows of one log. */
export interface LogFile extends LogFacts {
  readonly fs: JournalFileSystem;
  readonly id: string;
  readonly path: string;
  readonly parent: { readonly log: string; readonly sessionId: string; readonly seq: number } | null;
  /** The event up to which the index on disk goes; undefined when nobody has looked for one. */
  indexed: number | undefined;
  /** What follows `size` and is no record. */
  tail: 'whole' | 'cut_off' | 'damaged';
}

/** Records between two places that are noted. */
const PLACE_EVERY = 256;
/** Records after which the next index is due. */
const INDEX_EVERY = 4096;
const CHUNK = 256 * 1024;

export function newLogFile(
  fs: JournalFileSystem,
  id: string,
  path: string,
  parent: LogFile['parent'],
  inherited: LogFile['firstPrompt'],
): LogFile {
  return {
    fs,
    id,
    path,
    size: 0,
    seq: parent?.seq ?? 0,
    synced: 0,
    lastAppended: 0,
    parent,
    keys: new Map(),
    firstPrompt: inherited,
    facts: {},
    createdAt: 0,
    updatedAt: 0,
    places: [],
    lastOffset: 0,
    indexed: undefined,
    tail: 'whole',
  };
}

/**
 * Takes in what was written since. What is cut off or damaged at the end of the file is no part of the log, and is left
 * for the next writer to mend. So is what lies behind a gap that a power failure has left in what wasn't synced yet.
 *
 * @throws TreadleError `journal_corrupt` when something is damaged that had been synced.
 */
export async function refresh(log: LogFile): Promise<void> {
  if (log.indexed === undefined) {
    const index = await readIndex(log.fs, log.path);
    // Two may have looked at the same time.
    if (log.indexed === undefined) Object.assign(log, index, { indexed: index?.seq ?? baseOf(log) });
  }
  const file = await log.fs.open(log.path, 'r');
  try {
    const { size } = await file.stat();
    if (size < log.size) throw shortened(log, size);
    for await (const { record, offset } of recordsFrom(file, log, log.size, log.seq + 1, Number.POSITIVE_INFINITY)) {
      take(log, record, offset);
    }
  } finally {
    await file.close();
  }
}

/**
 * As `refresh`, for the log of a session: its first event was on the disk before the session had its name.
 *
 * @throws TreadleError `journal_corrupt` when there is no event at all.
 */
export async function refreshNamed(log: LogFile): Promise<void> {
  await refresh(log);
  if (log.size === 0) throw beheaded(log);
}

const beheaded = ({ path }: LogFile): TreadleError =>
  new TreadleError(
    'journal_corrupt',
    `The journal ${path} doesn't begin with session_created: something has emptied it. Restore the file from a copy.`,
    { details: { path } },
  );

export const shortened = (log: LogFile, size: number): TreadleError =>
  new TreadleError(
    'journal_corrupt',
    `The journal ${log.path} ended at byte ${log.size} (event ${log.seq}), and now ends at ${size}: something has cut it. ` +
      'Restore the file from a copy.',
    { details: { path: log.path, seq: log.seq } },
  );

/** Takes a record in that begins at `offset`; one that is known, because two read at the same time, is passed over. */
export function take(log: LogFile, { seq, synced, posted, event, bytes }: LogRecord, offset: number): void {
  if (seq !== log.seq + 1) return;
  if (log.size === 0) {
    if (event.type !== 'session_created') throw beheaded(log);
    log.agentId = agentIdOf(event);
    log.createdAt = event.at;
    log.facts = factsAfter({}, event);
  }
  if ((seq - baseOf(log)) % PLACE_EVERY === 1) log.places.push(offset);
  log.lastOffset = offset;
  log.size = offset + bytes;
  log.seq = seq;
  if (synced !== undefined && synced > log.synced) log.synced = synced;
  if (!posted) log.lastAppended = seq;
  log.updatedAt = event.at;
  noteInput(log, seq, event);
}

function noteInput(log: LogFile, seq: number, event: DurableEventBody): void {
  if (event.type !== 'input_received') return;
  log.facts = factsAfter(log.facts, event);
  if (!log.keys.has(event.key)) log.keys.set(event.key, seq);
  if (log.firstPrompt !== null) return;
  const text = firstPromptOf(event.input);
  if (text !== undefined) log.firstPrompt = { seq, text };
}

const baseOf = ({ parent }: LogFile): number => parent?.seq ?? 0;

/**
 * Writes the next index when the log has grown by enough, and all of it is on the disk. Only for whoever is alone. One that
 * can't be written is written later.
 */
export async function indexIfDue(log: LogFile): Promise<void> {
  if (log.seq - (log.indexed ?? baseOf(log)) < INDEX_EVERY || log.synced < log.seq) return;
  const { fs, path, id: _id, parent: _parent, indexed: _indexed, tail: _tail, ...facts } = log;
  await writeIndex(fs, path, facts);
  log.indexed = facts.seq;
}

/** The last noted place that isn't behind `seq`. */
function placeBefore(log: LogFile, seq: number): { readonly seq: number; readonly offset: number } {
  const first = baseOf(log) + 1;
  const nth = Math.min(Math.floor((seq - first) / PLACE_EVERY), log.places.length - 1);
  return { seq: first + Math.max(0, nth) * PLACE_EVERY, offset: log.places[nth] ?? 0 };
}

/** The events with numbers from `from` to `to` that are in this file. */
export async function* readLog(log: LogFile, from: number, to: number): AsyncGenerator<DurableEvent> {
  const start = placeBefore(log, from);
  const file = await log.fs.open(log.path, 'r');
  try {
    for await (const { record } of recordsFrom(file, log, start.offset, start.seq, to)) {
      if (record.seq >= from) yield upToDate(Object.assign(record.event, { seq: record.seq }));
    }
  } finally {
    await file.close();
  }
}

/** Where the record after number `seq` begins. */
export async function offsetAfter(log: LogFile, seq: number): Promise<number> {
  const start = placeBefore(log, seq);
  const file = await log.fs.open(log.path, 'r');
  try {
    let end = start.offset;
    for await (const { record, offset } of recordsFrom(file, log, start.offset, start.seq, seq)) {
      end = offset + record.bytes;
    }
    return end;
  } finally {
    await file.close();
  }
}

/** Whole records from an offset on, in chunks, up to a number or the end of what is whole. */
async function* recordsFrom(
  file: JournalFile,
  log: LogFile,
  offset: number,
  seq: number,
  to: number,
): AsyncGenerator<{ readonly record: LogRecord; readonly offset: number }> {
  let bytes = Buffer.alloc(0);
  let base = offset;
  let at = 0;
  let expected = seq;
  while (expected <= to) {
    const record = at < bytes.length ? readRecord(bytes, at) : 'cut_off';
    if (typeof record === 'object' && record.seq === expected) {
      yield { record, offset: base + at };
      at += record.bytes;
      expected += 1;
      continue;
    }
    if (record === 'cut_off') {
      const more = await readChunk(file, base + bytes.length);
      if (more.length > 0) {
        bytes = Buffer.concat([bytes.subarray(at), more]);
        base += at;
        at = 0;
        continue;
      }
      log.tail = at < bytes.length ? 'cut_off' : 'whole';
      return;
    }
    await refuseInnerDamage(file, log, base + at, expected);
    log.tail = 'damaged';
    return;
  }
}

async function readChunk(file: JournalFile, position: number): Promise<Buffer> {
  const chunk = Buffer.alloc(CHUNK);
  const { bytesRead } = await file.read(chunk, 0, CHUNK, position);
  return chunk.subarray(0, bytesRead);
}

async function refuseInnerDamage(file: JournalFile, log: LogFile, offset: number, seq: number): Promise<void> {
  let rest = Buffer.alloc(0);
  for (let more = await readChunk(file, offset); more.length > 0; more = await readChunk(file, offset + rest.length)) {
    rest = Buffer.concat([rest, more]);
  }
  if (!wasSynced(rest, seq)) return;
  throw new TreadleError(
    'journal_corrupt',
    `The journal ${log.path} is damaged: event ${seq} at byte ${offset} isn't what was written. The events before it can ` +
      'be read. Restore the file from a copy.',
    { details: { path: log.path, seq, offset } },
  );
}

/** What was found at the end of a log, and where the file as it was is kept. */
export interface DamageReport {
  readonly path: string;
  /** The last whole event. */
  readonly seq: number;
  /** Bytes that were no record. */
  readonly bytes: number;
  /** A copy of the file as it was. */
  readonly copy: string;
}

/** A copy that a power failure doesn't take away with what was cut off. */
async function keepCopy({ fs, path }: LogFile, copy: string): Promise<void> {
  await fs.copyFile(path, copy);
  const file = await fs.open(copy, 'r+');
  try {
    await file.datasync();
  } finally {
    await file.close();
  }
  await syncFolder(fs, dirname(copy));
}

/** Cuts off what is no record at the end, after the file was copied. Only for whoever may write. Null when all is whole. */
export async function mendTail(log: LogFile, copy: string): Promise<DamageReport | null> {
  if (log.tail === 'whole') return null;
  const file = await log.fs.open(log.path, 'r+');
  try {
    const { size } = await file.stat();
    await keepCopy(log, copy);
    await file.truncate(log.size);
    await file.datasync();
    log.tail = 'whole';
    return { path: log.path, seq: log.seq, bytes: size - log.size, copy };
  } finally {
    await file.close();
  }
}

/**
 * Writes the whole log into a new file, which takes the place of the old one when it is on the disk. For a log whose sync
 * has failed: the system may have given up on some of it, and still show it.
 *
 * @throws TreadleError `journal_corrupt` when not all of it can be read any more.
 */
export async function rewrite(log: LogFile): Promise<void> {
  const { fs, path } = log;
  const anew = `${path}.anew`;
  await fs.rm(anew, { force: true });
  await keepCopy(log, anew);
  const copy = newLogFile(fs, log.id, anew, log.parent, null);
  // All of it is to be read.
  copy.indexed = 0;
  await refresh(copy);
  if (copy.seq < log.seq || copy.size < log.size) throw shortened(log, copy.size);
  await fs.rename(anew, path);
  await syncFolder(fs, dirname(path));
  log.synced = log.seq;
}
