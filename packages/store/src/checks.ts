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
  if (!holderCheck({ clock, processes })(holder)) return;
  throw journalErrors.busy(sessionId, { id: holder.id, label: holder.label });
}

/** Says of holders whether they live; of each process once, for it may hold many sessions. */
export function holderCheck({
  clock,
  processes,
}: Pick<Leasing, 'clock' | 'processes'>): (holder: ProcessIdentity & Pick<Holder, 'expiresAt'>) => boolean {
  const gone = new Map<string, boolean>();
  const now = clock.now();
  return (holder) => {
    if (Number(holder.expiresAt) <= now) return false;
    const key = `${holder.pid} ${holder.start} ${holder.host}`;
    const isGone = gone.get(key) ?? processes.isGone(holder);
    gone.set(key, isGone);
    return !isGone;
  };
}

/** Throws when a log that ends at `last` has no event of that number. */
export function requireEvent(sessionId: string, seq: number, last: number): void {
  if (!(Number.isInteger(seq) && seq >= 1 && seq <= last)) throw journalErrors.noSuchEvent(sessionId, seq, last);
}
