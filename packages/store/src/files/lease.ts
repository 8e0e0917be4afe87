import type { Owner } from '@treadle/core/journal';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Holder } from '../checks.ts';
import type { ProcessIdentity } from '../processes.ts';
import type { JournalFileSystem } from './file-system.ts';
import { parsedFile, readText, replaceFile, type Layout } from './folder.ts';
import type { Wake } from './markers.ts';

/** Who holds a session, as its file says. The epoch stays when nobody does. */
export interface Lease {
  readonly epoch: number;
  /** The log couldn't be synced: what of it is on the disk is unknown until it is written anew. */
  readonly isUntrusted?: boolean;
  readonly holder:
    | (Owner & {
        readonly process: ProcessIdentity;
        /** Absent in what an earlier version has written. */ readonly member?: string;
      })
    | null;
  /** When the session wants to be driven; null for one that another session drives. */
  readonly wake?: Wake | null;
}

const NOBODY: Lease = { epoch: 0, holder: null };

export async function readLease(fs: JournalFileSystem, folder: string): Promise<Lease> {
  const path = join(folder, 'lease.json');
  const text = await readText(fs, path);
  return text === null ? NOBODY : (parsedFile(path, text) as unknown as Lease);
}

export const writeLease = (fs: JournalFileSystem, folder: string, lease: Lease): Promise<void> =>
  replaceFile(fs, join(folder, 'lease.json'), JSON.stringify(lease));

/** The file that says until when a member is heard of. */
export const memberAt = ({ folder }: Layout, member: string): string => join(folder, 'members', member);

/** Says until when nobody may take what a member holds. Not synced: no process outlives its machine. */
export async function renewMember(layout: Layout, member: string, until: number): Promise<void> {
  const path = memberAt(layout, member);
  const fresh = `${path}.${randomUUID()}`;
  // Whoever reads it meanwhile finds the time before, and never an empty file.
  await layout.fs.writeFile(fresh, String(until), { mode: 0o600 });
  await layout.fs.rename(fresh, path);
}

/** Who holds a session, and until when, as the check of it takes that. */
export async function holderOf(layout: Layout, { holder }: Lease): Promise<Holder | null> {
  if (!holder) return null;
  const until = holder.member === undefined ? null : await readText(layout.fs, memberAt(layout, holder.member));
  // Of an earlier version: until its process is gone.
  const expiresAt = holder.member === undefined ? Number.POSITIVE_INFINITY : Number(until ?? 0);
  return { id: holder.id, label: holder.label, ...holder.process, expiresAt };
}
