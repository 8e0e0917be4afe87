import type { Owner } from '@treadle/core/journal';
import { refuseHeld, type Holder, type Leasing } from '../checks.ts';
import { transaction } from './database.ts';
import { sessionOf, type Store } from './statements.ts';

/** Throws `session_busy` while someone else's lease on the session is alive. */
export const refuseOthers = (store: Store, leasing: Leasing, name: string, session: number, except?: string): void =>
  refuseHeld(name, store.lease.get({ session }) as Holder | undefined, leasing, except);

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
    refuseOthers(store, leasing, name, session, owner.id);
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
