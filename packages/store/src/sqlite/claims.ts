import type { Clock } from '@treadle/core';
import type { Owner } from '@treadle/core/journal';
import { journalErrors } from '@treadle/core/journal';
import { transaction } from './database.ts';
import type { ProcessTable } from '../processes.ts';
import type { Store } from './statements.ts';
import { sessionOf } from './write.ts';

interface LeaseRow {
  readonly epoch: number;
  readonly ownerId: string;
  readonly ownerLabel: string;
  readonly pid: number;
  readonly start: string | null;
  readonly host: string;
  readonly expiresAt: number;
}

export interface Leasing {
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly processes: ProcessTable;
}

/** Throws `session_busy` while someone else's lease on the session is alive. */
export function refuseHeld(store: Store, leasing: Leasing, name: string, session: number, except?: string): void {
  const lease = store.lease.get({ session }) as LeaseRow | undefined;
  if (!lease || lease.ownerId === except) return;
  if (lease.expiresAt <= leasing.clock.now() || leasing.processes.isGone(lease)) return;
  throw journalErrors.busy(name, { id: lease.ownerId, label: lease.ownerLabel });
}

/** A lease as the journal that took it remembers it. */
export interface Taken {
  readonly session: number;
  readonly epoch: number;
  /** The last number of the log. */
  readonly seq: number;
}

export function takeLease(store: Store, leasing: Leasing, name: string, owner: Owner): Taken {
  return transaction(store.db, () => {
    const { id: session, seq } = sessionOf(store, name);
    refuseHeld(store, leasing, name, session, owner.id);
    const { epoch } = store.raiseEpoch.get({ session }) as { epoch: number };
    const { pid, start, host } = leasing.processes.self();
    const expiresAt = leasing.clock.now() + leasing.leaseMs;
    store.setLease.run({ session, epoch, ownerId: owner.id, ownerLabel: owner.label, pid, start, host, expiresAt });
    return { session, epoch, seq };
  });
}

export const renewLease = (store: Store, leasing: Leasing, { session, epoch }: Taken): boolean =>
  store.renew.run({ session, epoch, expiresAt: leasing.clock.now() + leasing.leaseMs }).changes === 1;

export function releaseLease(store: Store, { session, epoch }: Taken): void {
  store.release.run({ session, epoch });
}
