import type { Owner } from '@treadle/core/journal';
import { join } from 'node:path';
import type { Holder } from '../checks.ts';
import type { ProcessIdentity } from '../processes.ts';
import type { JournalFileSystem } from './file-system.ts';
import { parsedFile, readText, replaceFile } from './folder.ts';

/** Who holds a session, as its file says. The epoch stays when nobody does. */
export interface Lease {
  readonly epoch: number;
  /** The log couldn't be synced: what of it is on the disk is unknown until it is written anew. */
  readonly isUntrusted?: boolean;
  readonly holder: (Owner & { readonly process: ProcessIdentity; readonly expiresAt: number }) | null;
}

const NOBODY: Lease = { epoch: 0, holder: null };

export async function readLease(fs: JournalFileSystem, folder: string): Promise<Lease> {
  const path = join(folder, 'lease.json');
  const text = await readText(fs, path);
  return text === null ? NOBODY : (parsedFile(path, text) as unknown as Lease);
}

export const writeLease = (fs: JournalFileSystem, folder: string, lease: Lease): Promise<void> =>
  replaceFile(fs, join(folder, 'lease.json'), JSON.stringify(lease));

/** Who holds a session, as the check of it takes that. */
export const holderOf = ({ holder }: Lease): Holder | null => holder && { ...holder, ...holder.process };
