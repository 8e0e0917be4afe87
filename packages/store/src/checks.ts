import type { Clock } from '@treadle/core';
import { journalErrors, type Owner } from '@treadle/core/journal';
import type { ProcessIdentity, ProcessTable } from './processes.ts';

export interface Leasing {
  readonly clock: Clock;
  /** Milliseconds after which a claim nobody renewed can be taken over. */
  readonly leaseMs: number;
  readonly processes: ProcessTable;
}

/** Who holds a session, and until when. A database may give a big number as text. */
export interface Holder extends Owner, ProcessIdentity {
  readonly expiresAt: number | string;
}

/** Throws `session_busy` while someone else's lease on the session is alive. */
export function refuseHeld(
  sessionId: string,
  holder: Holder | null | undefined,
  { clock, processes }: Pick<Leasing, 'clock' | 'processes'>,
  except?: string,
): void {
  if (!holder || holder.id === except) return;
  if (Number(holder.expiresAt) <= clock.now() || processes.isGone(holder)) return;
  throw journalErrors.busy(sessionId, { id: holder.id, label: holder.label });
}

/** Throws when a log that ends at `last` has no event of that number. */
export function requireEvent(sessionId: string, seq: number, last: number): void {
  if (!(Number.isInteger(seq) && seq >= 1 && seq <= last)) throw journalErrors.noSuchEvent(sessionId, seq, last);
}
