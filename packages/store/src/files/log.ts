import type { DurableEvent } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import type { SessionFacts } from '@treadle/core/journal';
import { TreadleError } from '@treadle/core';
import { agentIdOf, factsAfter, firstPromptOf, upToDate } from '@treadle/core/journal';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import type { JournalFile, JournalFileSystem } from './file-system.ts';
import { syncFolder } from './folder.ts';
import { findKey, PLACE_EVERY, placeAt, readBytes, readIndex, writeIndex, type LogIndex } from './log-index.ts';
import { readRecord, wasSynced, type LogRecord } from './record.ts';

/** What a process knows of one log, up to `size` bytes of its file. */
export interface LogFile {
  readonly fs: JournalFileSystem;
  readonly id: string;
  readonly path: string;
  /** Bytes that were read and found whole. */
  size: number;
  seq: number;
  /** The event up to which all is known to be synced. */
  synced: number;
  /** The last event that a drive, and not a post, wrote. */
  lastAppended: number;
  readonly parent: { readonly log: string; readonly sessionId: string; readonly seq: number } | null;
  /** Keys of inputs that came after what the index covers. */
  readonly keys: Map<string, number>;
  firstPrompt: { readonly seq: number; readonly text: string } | null;
  agentId: string | undefined;
  facts: SessionFacts;
  createdAt: number;
  updatedAt: number;
  /** Where every 256th record after what the index covers begins, so that a reader needn't begin at the beginning. */
  places: { readonly seq: number; readonly offset: number }[];
  /** Where the last record begins. */
  lastOffset: number;
  /** What is known of the beginning without reading it; null for nothing, undefined when nobody has looked. */
  index: LogIndex | null | undefined;
  /** What follows `size` and is no record. */
  tail: 'whole' | 'cut_off' | 'damaged';
}

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
    agentId: undefined,
    facts: {},
    createdAt: 0,
    updatedAt: 0,
    places: [],
    lastOffset: 0,
    index: undefined,
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
  if (log.index === undefined) {
    const index = await readIndex(log.fs, log.path);
    // Two may have looked at the same time.
    if (log.index === undefined && index) adopt(log, index);
    log.index ??= null;
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
  if ((seq - baseOf(log)) % PLACE_EVERY === 1) log.places.push({ seq, offset });
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

/** Takes an index over. What is known beyond it stays. */
function adopt(log: LogFile, index: LogIndex): void {
  if (index.seq >= log.seq) {
    const { seq, size, lastOffset, lastAppended, firstPrompt, facts, createdAt, updatedAt } = index;
    Object.assign(log, { seq, size, lastOffset, lastAppended, facts, createdAt, updatedAt });
    log.firstPrompt ??= firstPrompt;
    log.agentId = index.agentId ?? undefined;
  }
  log.synced = Math.max(log.synced, index.synced);
  for (const [key, seq] of log.keys) if (seq <= index.seq) log.keys.delete(key);
  log.places = log.places.filter(({ seq }) => seq > index.seq);
  log.index = index;
}

/** Forgets what is known, and reads the whole log. */
async function readAnew(log: LogFile): Promise<void> {
  Object.assign(log, { size: 0, seq: baseOf(log), lastOffset: 0, index: null, places: [] });
  log.keys.clear();
  await refresh(log);
}

/** The event that a key was posted as, if it was: for whoever is alone, and knows the log to its end. */
export async function postedAs(log: LogFile, key: string): Promise<number | undefined> {
  const known = log.keys.get(key);
  if (known !== undefined || !log.index) return known;
  let seqs: number[];
  try {
    seqs = await findKey(log.fs, log.path, log.index, key);
  } catch {
    // Another process has put its files together anew, or somebody has deleted them.
    const index = await readIndex(log.fs, log.path);
    if (!index || index.seq > log.seq) {
      await readAnew(log);
      return log.keys.get(key);
    }
    adopt(log, index);
    seqs = await findKey(log.fs, log.path, index, key);
  }
  for (const seq of seqs.toSorted((a, b) => a - b)) {
    for await (const event of readLog(log, seq, seq)) {
      if (event.type === 'input_received' && event.key === key) return seq;
    }
  }
  return undefined;
}

/**
 * Writes the next index when the log has grown by enough, and all of it is on the disk. Only for whoever is alone. One that
 * can't be written is written later.
 */
export async function indexIfDue(log: LogFile): Promise<void> {
  const isDue = (): boolean => log.seq - (log.index?.seq ?? baseOf(log)) >= INDEX_EVERY && log.synced >= log.seq;
  if (!isDue()) return;
  const { fs, path } = log;
  const found = await readIndex(fs, path);
  // Another process may have been faster, and somebody may have deleted it.
  if (found && found.seq > (log.index?.seq ?? 0) && found.seq <= log.seq) adopt(log, found);
  else if (!found && log.index) await readAnew(log);
  if (!isDue()) return;
  const { seq, size, lastOffset, synced, lastAppended, firstPrompt, facts, createdAt, updatedAt } = log;
  const lastSum = crc32(await readBytes(fs, path, lastOffset, size - lastOffset));
  const agentId = log.agentId ?? null;
  const next = await writeIndex(fs, path, log.index ?? null, {
    index: { seq, size, lastOffset, lastSum, synced, lastAppended, firstPrompt, agentId, facts, createdAt, updatedAt },
    keys: log.keys,
    places: log.places.map(({ offset }) => offset),
    placesBefore: log.index ? Math.ceil((log.index.seq - baseOf(log)) / PLACE_EVERY) : 0,
  });
  adopt(log, next);
}

/** A place at `seq` or before it, at most 256 records before where the index has it. */
async function placeBefore(log: LogFile, seq: number): Promise<{ readonly seq: number; readonly offset: number }> {
  const { index } = log;
  const known = log.places.findLast((place) => place.seq <= seq);
  if (known) return known;
  const start = { seq: baseOf(log) + 1, offset: 0 };
  if (!index || seq <= start.seq) return start;
  if (seq > index.seq) return { seq: index.seq + 1, offset: index.size };
  const nth = Math.floor((seq - start.seq) / PLACE_EVERY);
  const offset = await placeAt(log.fs, log.path, nth).catch(() => 0);
  // A place is a hint too: what stands there says whether it is one.
  const place = { seq: start.seq + nth * PLACE_EVERY, offset: offset < index.size ? offset : 0 };
  const mark = `{"seq":${place.seq},`;
  const found = await readBytes(log.fs, log.path, place.offset, mark.length);
  return found.toString('latin1') === mark ? place : start;
}

/** The events with numbers from `from` to `to` that are in this file. */
export async function* readLog(log: LogFile, from: number, to: number): AsyncGenerator<DurableEvent> {
  const start = await placeBefore(log, from);
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
  const start = await placeBefore(log, seq);
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
  copy.index = null;
  await refresh(copy);
  if (copy.seq < log.seq || copy.size < log.size) throw shortened(log, copy.size);
  await fs.rename(anew, path);
  await syncFolder(fs, dirname(path));
  log.synced = log.seq;
}
