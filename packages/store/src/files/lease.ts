import type { Clock } from '@treadle/core';
import type { Owner } from '@treadle/core/journal';
import { journalErrors } from '@treadle/core/journal';
import { join } from 'node:path';
import type { ProcessIdentity, ProcessTable } from '../processes.ts';
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

/** Throws `session_busy` while someone else's lease is alive. */
export function refuseHeld(
  sessionId: string,
  { holder }: Lease,
  { clock, processes }: { readonly clock: Clock; readonly processes: ProcessTable },
  except?: string,
): void {
  if (holder === null || holder.id === except) return;
  if (holder.expiresAt <= clock.now() || processes.isGone(holder.process)) return;
  throw journalErrors.busy(sessionId, { id: holder.id, label: holder.label });
}
