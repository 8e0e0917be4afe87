import { createHash } from 'node:crypto';
import type { JournalFileSystem } from './file-system.ts';

// Which keys of inputs a log has, without keeping them: files of entries that are sorted by the hash of their key, each
// with the number of its event. An entry is a hint: whoever finds one looks at the event itself.

const HASH_BYTES = 6;
const ENTRY = 2 * HASH_BYTES;
const HASHES = 2 ** (8 * HASH_BYTES);
/** Entries that are read at a time. */
const BLOCK = 256;

export interface KeyEntry {
  readonly hash: number;
  readonly seq: number;
}

export const hashOfKey = (key: string): number => createHash('sha256').update(key).digest().readUIntBE(0, HASH_BYTES);

export function encodeRun(entries: readonly KeyEntry[]): Buffer {
  const bytes = Buffer.allocUnsafe(entries.length * ENTRY);
  const sorted = entries.toSorted((a, b) => a.hash - b.hash || a.seq - b.seq);
  for (const [index, { hash, seq }] of sorted.entries()) {
    bytes.writeUIntBE(hash, index * ENTRY, HASH_BYTES);
    bytes.writeUIntBE(seq, index * ENTRY + HASH_BYTES, HASH_BYTES);
  }
  return bytes;
}

export const entriesIn = (bytes: Buffer): number => bytes.length / ENTRY;
export const bytesOf = (count: number): number => count * ENTRY;

/** Two runs as one. */
export function mergeRuns(a: Buffer, b: Buffer): Buffer {
  const merged = Buffer.allocUnsafe(a.length + b.length);
  let [atA, atB] = [0, 0];
  for (let at = 0; at < merged.length; at += ENTRY) {
    const fromA = atB >= b.length || (atA < a.length && a.compare(b, atB, atB + ENTRY, atA, atA + ENTRY) <= 0);
    if (fromA) a.copy(merged, at, atA, (atA += ENTRY));
    else b.copy(merged, at, atB, (atB += ENTRY));
  }
  return merged;
}

/** The events that a run names for a hash. Hashes are spread evenly, so it looks where the entry must about be. */
export async function findInRun(fs: JournalFileSystem, path: string, count: number, hash: number): Promise<number[]> {
  const file = await fs.open(path, 'r');
  const blocks = new Map<number, Buffer>();
  async function entry(index: number): Promise<KeyEntry> {
    const number = Math.floor(index / BLOCK);
    let block = blocks.get(number);
    if (!block) {
      block = Buffer.alloc(BLOCK * ENTRY);
      await file.read(block, 0, block.length, number * block.length);
      blocks.set(number, block);
    }
    const at = (index % BLOCK) * ENTRY;
    return { hash: block.readUIntBE(at, HASH_BYTES), seq: block.readUIntBE(at + HASH_BYTES, HASH_BYTES) };
  }
  try {
    let [low, high] = [0, count];
    // The first entry that isn't before the hash is in low … high.
    let guess = Math.floor((hash / HASHES) * count);
    while (low < high) {
      const probe = Math.min(high - 1, Math.max(low, guess));
      const isBefore = (await entry(probe)).hash < hash;
      if (isBefore) low = probe + 1;
      else high = probe;
      const near = isBefore ? low + BLOCK : high - BLOCK;
      guess = near > low && near < high ? near : Math.floor((low + high) / 2);
    }
    const found: number[] = [];
    for (let index = low; index < count; index += 1) {
      const { hash: other, seq } = await entry(index);
      if (other !== hash) break;
      found.push(seq);
    }
    return found;
  } finally {
    await file.close();
  }
}
