import { parseJson } from '@treadle/core/json';
import type { SessionFacts } from '@treadle/core/journal';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { JournalFileSystem } from './file-system.ts';
import { readText, replaceFile, syncFolder, writeDurably } from './folder.ts';
import { bytesOf, encodeRun, entriesIn, findInRun, hashOfKey, mergeRuns } from './key-runs.ts';

/**
 * What is known of a log up to one of its records, kept beside it so that opening the log reads what was written since
 * and nothing else. It can be deleted: whoever finds none, or one that doesn't fit the log, reads the log from its
 * beginning, and the next writer makes another.
 */
export interface LogIndex {
  readonly seq: number;
  /** Bytes up to the end of that record. */
  readonly size: number;
  /** Where that record begins, and the checksum of its bytes: what tells whether the index is of this log. */
  readonly lastOffset: number;
  readonly lastSum: number;
  readonly synced: number;
  readonly lastAppended: number;
  readonly firstPrompt: { readonly seq: number; readonly text: string } | null;
  readonly agentId: string | null;
  readonly facts: SessionFacts;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The files of keys, and how many each has. */
  readonly runs: readonly KeyRun[];
}

interface KeyRun {
  readonly name: string;
  readonly count: number;
}

/** Records between two places that are noted. */
export const PLACE_EVERY = 256;
const PLACE_BYTES = 8;

const folderOf = (logPath: string): string => join(dirname(logPath), 'index');

/** The index beside a log; null when there is none that can be used. */
export async function readIndex(fs: JournalFileSystem, logPath: string): Promise<LogIndex | null> {
  const folder = folderOf(logPath);
  try {
    const text = await readText(fs, join(folder, 'index.json'));
    if (text === null) return null;
    const { sum, index } = parseJson(text) as { readonly sum: number; readonly index: LogIndex };
    if (crc32(JSON.stringify(index)) !== sum || !(await isOfLog(fs, logPath, index))) return null;
    const sizes = await Promise.all(index.runs.map(({ name }) => fs.stat(join(folder, name))));
    return sizes.every(({ size }, at) => size === bytesOf(index.runs[at]?.count ?? 0)) ? index : null;
  } catch {
    // A cache that can't be read is none.
    return null;
  }
}

async function isOfLog(fs: JournalFileSystem, logPath: string, index: LogIndex): Promise<boolean> {
  const bytes = await readBytes(fs, logPath, index.lastOffset, index.size - index.lastOffset);
  return bytes.length === index.size - index.lastOffset && crc32(bytes) === index.lastSum;
}

export async function readBytes(fs: JournalFileSystem, path: string, offset: number, length: number): Promise<Buffer> {
  const file = await fs.open(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    const { bytesRead } = await file.read(bytes, 0, length, offset);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Where the `nth` noted place of a log is, counted from 0. */
export async function placeAt(fs: JournalFileSystem, logPath: string, nth: number): Promise<number> {
  const bytes = await readBytes(fs, join(folderOf(logPath), 'places'), nth * PLACE_BYTES, PLACE_BYTES);
  return bytes.length === PLACE_BYTES ? Number(bytes.readBigUInt64BE()) : 0;
}

/** The events that may have this key, among those the index covers. */
export async function findKey(
  fs: JournalFileSystem,
  logPath: string,
  { runs }: LogIndex,
  key: string,
): Promise<number[]> {
  const hash = hashOfKey(key);
  const found = await Promise.all(
    runs.map(({ name, count }) => findInRun(fs, join(folderOf(logPath), name), count, hash)),
  );
  return found.flat();
}

/** What has come to a log since its index was written. */
export interface Growth {
  readonly index: Omit<LogIndex, 'runs'>;
  readonly keys: ReadonlyMap<string, number>;
  /** The noted places since, and how many there were before. */
  readonly places: readonly number[];
  readonly placesBefore: number;
}

/** Writes the next index, on the disk before anything of the old one is given up. Only for whoever is alone. */
export async function writeIndex(
  fs: JournalFileSystem,
  logPath: string,
  before: LogIndex | null,
  growth: Growth,
): Promise<LogIndex> {
  const folder = folderOf(logPath);
  await fs.mkdir(folder, { recursive: true, mode: 0o700 });
  await writePlaces(fs, join(folder, 'places'), growth);
  const runs = await addRun(fs, folder, before?.runs ?? [], growth.keys);
  await syncFolder(fs, folder);
  const index: LogIndex = { ...growth.index, runs };
  await replaceFile(fs, join(folder, 'index.json'), JSON.stringify({ sum: crc32(JSON.stringify(index)), index }));
  await syncFolder(fs, folder);
  const kept = new Set(runs.map(({ name }) => name));
  for (const name of await fs.readdir(folder)) {
    if (name.startsWith('keys.') && !kept.has(name)) await fs.rm(join(folder, name), { force: true });
  }
  return index;
}

async function writePlaces(fs: JournalFileSystem, path: string, { places, placesBefore }: Growth): Promise<void> {
  const bytes = Buffer.alloc(places.length * PLACE_BYTES);
  for (const [at, place] of places.entries()) bytes.writeBigUInt64BE(BigInt(place), at * PLACE_BYTES);
  if (placesBefore === 0) {
    await fs.rm(path, { force: true });
    return writeDurably(fs, path, bytes);
  }
  const file = await fs.open(path, 'r+');
  try {
    await file.write(bytes, 0, bytes.length, placesBefore * PLACE_BYTES);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** The new keys as a run, with those before it that are no more than twice as big: so there are only ever a few. */
async function addRun(
  fs: JournalFileSystem,
  folder: string,
  before: readonly KeyRun[],
  keys: ReadonlyMap<string, number>,
): Promise<KeyRun[]> {
  if (keys.size === 0) return [...before];
  const runs = [...before];
  let bytes = encodeRun([...keys].map(([key, seq]) => ({ hash: hashOfKey(key), seq })));
  for (let last = runs.at(-1); last && last.count <= 2 * entriesIn(bytes); last = runs.at(-1)) {
    bytes = mergeRuns(await readBytes(fs, join(folder, last.name), 0, bytesOf(last.count)), bytes);
    runs.pop();
  }
  const name = `keys.${randomUUID()}`;
  await writeDurably(fs, join(folder, name), bytes);
  return [...runs, { name, count: entriesIn(bytes) }];
}
