import { dueAfter, type DueOptions, type DueSession, type Owner, type Rest } from '@treadle/core/journal';
import { holderCheck, refuseHeld, type Holder, type Leasing } from '../checks.ts';
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
    // Whoever dies with it leaves it due.
    store.setDue.run({ session, at: leasing.clock.now(), status: 'running' });
    return { session, epoch, seq };
  });
}

/** Renews all that this process holds; returns those that somebody else has taken. */
export const renewLeases = (store: Store, held: readonly Taken[], expiresAt: number): readonly Taken[] =>
  transaction(store.db, () =>
    held.filter(({ session, epoch }) => store.renew.run({ session, epoch, expiresAt }).changes !== 1),
  );

export function releaseLease(store: Store, now: number, { session, epoch }: Taken, rest: Rest | undefined): void {
  transaction(store.db, () => {
    if (store.release.run({ session, epoch }).changes !== 1 || !rest) return;
    const { seq } = store.lastSeq.get({ session }) as { seq: number };
    const { status, waitsFor } = rest;
    store.setWake.run({ session, dueAt: dueAfter(rest, seq, now), status, waitsFor: JSON.stringify(waitsFor) });
  });
}

interface DueRow extends Omit<Holder, 'id' | 'label'> {
  /** Of the owner; null where nobody holds it. */
  readonly id: string | null;
  readonly sessionId: string;
  readonly dueAt: number;
  readonly agentId: string | null;
}

/** The sessions that are due and that nobody alive holds: those that are held are few, and passed over. */
export function dueSessions(store: Store, leasing: Leasing, { before, limit = 50, agents }: DueOptions): DueSession[] {
  const due: DueSession[] = [];
  const isAlive = holderCheck(leasing);
  const query = { before, agents: agents ? JSON.stringify(agents) : null };
  for (const row of store.due.iterate(query) as Iterable<unknown> as Iterable<DueRow>) {
    if (due.length >= limit) break;
    const { sessionId, dueAt, agentId } = row;
    if (row.id === null || !isAlive(row)) due.push({ sessionId, dueAt, ...(agentId !== null && { agentId }) });
  }
  return due;
}
