import type { SessionFacts } from '@treadle/core/journal';
import { parseJson } from '@treadle/core/json';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { JournalFileSystem } from './file-system.ts';
import { readText, replaceFile } from './folder.ts';

/** What is known of a log up to one of its records. */
export interface LogFacts {
  /** Bytes that were read and found whole. */
  size: number;
  seq: number;
  /** The event up to which all is known to be synced. */
  synced: number;
  /** The last event that a drive, and not a post, wrote. */
  lastAppended: number;
  /** Where the last record begins. */
  lastOffset: number;
  /** The events that were posted, by their keys. */
  readonly keys: Map<string, number>;
  /** Where every 256th record begins, so that a reader needn't begin at the beginning. */
  readonly places: number[];
  firstPrompt: { readonly seq: number; readonly text: string } | null;
  agentId?: string | undefined;
  facts: SessionFacts;
  createdAt: number;
  updatedAt: number;
}

/** The facts as a file has them, with the checksum of the last record: it tells whether the index is of this log. */
interface IndexFile extends Omit<LogFacts, 'keys'> {
  readonly lastSum: number;
  readonly keys: readonly (readonly [string, number])[];
}

const indexOf = (logPath: string): string => join(dirname(logPath), 'index.json');

/**
 * What the index beside a log knows. The index is a cache: without one that can be used, the log is read from its beginning,
 * and the next writer makes another.
 */
export async function readIndex(fs: JournalFileSystem, logPath: string): Promise<LogFacts | null> {
  try {
    const text = await readText(fs, indexOf(logPath));
    if (text === null) return null;
    const { sum, index } = parseJson(text) as { readonly sum: number; readonly index: IndexFile };
    const { lastSum, keys, ...facts } = index;
    const isWhole = crc32(JSON.stringify(index)) === sum && (await lastSumOf(fs, logPath, facts)) === lastSum;
    return isWhole ? { ...facts, keys: new Map(keys) } : null;
  } catch {
    // A cache that can't be read is none.
    return null;
  }
}

/** Only for whoever is alone. */
export async function writeIndex(fs: JournalFileSystem, logPath: string, facts: LogFacts): Promise<void> {
  const index: IndexFile = { ...facts, keys: [...facts.keys], lastSum: await lastSumOf(fs, logPath, facts) };
  await replaceFile(fs, indexOf(logPath), JSON.stringify({ sum: crc32(JSON.stringify(index)), index }));
}

async function lastSumOf(fs: JournalFileSystem, path: string, facts: Omit<LogFacts, 'keys'>): Promise<number> {
  const file = await fs.open(path, 'r');
  try {
    const bytes = Buffer.alloc(facts.size - facts.lastOffset);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, facts.lastOffset);
    return crc32(bytes.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}
