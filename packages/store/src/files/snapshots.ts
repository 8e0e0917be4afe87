import { thinSnapshots, type Snapshot } from '@treadle/core/journal';
import { dirname, join } from 'node:path';
import { requireEvent } from '../checks.ts';
import { readText, replaceFile } from './folder.ts';
import { refresh, type LogFile } from './log.ts';
import type { Writer } from './writer.ts';

// A file per snapshot beside the log, named by the last event folded into it. Any of them may be deleted.

const folderOf = (log: LogFile): string => join(dirname(log.path), 'snapshots');

async function seqsIn({ fs }: LogFile, folder: string): Promise<number[]> {
  const names = await fs.readdir(folder).catch(() => []);
  return names.filter((name) => /^[0-9]+$/.test(name)).map(Number);
}

export async function saveSnapshot(writer: Writer, sessionId: string, { seq, text }: Snapshot): Promise<void> {
  const { log } = writer;
  const { fs } = log;
  if (seq > log.seq) await refresh(log);
  requireEvent(sessionId, seq, log.seq);
  // What a snapshot says must not outlive, in a power failure, what it was folded from.
  if (seq > log.synced) await writer.alone((lease) => writer.sync(lease));
  const folder = folderOf(log);
  await fs.mkdir(folder, { recursive: true, mode: 0o700 });
  await replaceFile(fs, join(folder, String(seq)), text);
  for (const dropped of thinSnapshots(await seqsIn(log, folder))) {
    await fs.rm(join(folder, String(dropped)), { force: true });
  }
}

/** The newest at event `upTo` or before that is kept with this very log. */
export async function newestSnapshot(log: LogFile, upTo: number): Promise<Snapshot | null> {
  const folder = folderOf(log);
  const seqs = (await seqsIn(log, folder)).filter((each) => each <= upTo).sort((a, b) => b - a);
  for (const seq of seqs) {
    const text = await readText(log.fs, join(folder, String(seq)));
    // Null for one that was thinned out meanwhile.
    if (text !== null) return { seq, text };
  }
  return null;
}

export async function dropSnapshotsAfter(log: LogFile, seq: number): Promise<void> {
  const folder = folderOf(log);
  for (const each of await seqsIn(log, folder))
    if (each > seq) await log.fs.rm(join(folder, String(each)), { force: true });
}
