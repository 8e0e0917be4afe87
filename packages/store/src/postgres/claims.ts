import type { Clock, Owner } from '@treadle/core';
import { journalErrors } from '@treadle/core';
import type { ProcessTable } from '../processes.ts';
import type { Query, Sql } from './connect.ts';
import { leaseOf, ownerOf, sessionOf } from './tables.ts';

export interface Leasing {
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly processes: ProcessTable;
}

/** A lease as the journal that took it remembers it. */
export interface Taken {
  readonly session: string;
  readonly epoch: number;
  /** The last number of the log. */
  readonly seq: number;
}

/** Throws `session_busy` while someone else's lease on the session is alive. */
export async function refuseHeld(
  sql: Query,
  schema: string,
  leasing: Leasing,
  name: string,
  session: string,
  except?: string,
): Promise<void> {
  const lease = await leaseOf(sql, schema, session);
  if (!lease || lease.ownerId === except) return;
  if (Number(lease.expiresAt) <= leasing.clock.now() || leasing.processes.isGone(lease)) return;
  throw journalErrors.busy(name, ownerOf(lease));
}

export function takeLease(sql: Sql, schema: string, leasing: Leasing, name: string, owner: Owner): Promise<Taken> {
  return sql.begin(async (transaction) => {
    const { id: session, seq } = await sessionOf(transaction, schema, name, 'update');
    await refuseHeld(transaction, schema, leasing, name, session, owner.id);
    const [raised] = await transaction<{ epoch: string }[]>`
      update ${transaction(schema)}.heads set epoch = epoch + 1, held = true where session = ${session} returning epoch`;
    const epoch = Number(raised?.epoch);
    const { pid, start, host } = leasing.processes.self();
    const expiresAt = leasing.clock.now() + leasing.leaseMs;
    await transaction`
      insert into ${transaction(schema)}.leases (session, epoch, owner_id, owner_label, pid, process_start, host, expires_at)
      values (${session}, ${epoch}, ${owner.id}, ${owner.label}, ${pid}, ${start}, ${host}, ${expiresAt})
      on conflict (session) do update set epoch = excluded.epoch, owner_id = excluded.owner_id,
        owner_label = excluded.owner_label, pid = excluded.pid, process_start = excluded.process_start,
        host = excluded.host, expires_at = excluded.expires_at`;
    return { session, epoch, seq: Number(seq) };
  });
}

export async function renewLease(sql: Sql, schema: string, leasing: Leasing, taken: Taken): Promise<boolean> {
  const expiresAt = leasing.clock.now() + leasing.leaseMs;
  const { count } = await sql`
    update ${sql(schema)}.leases set expires_at = ${expiresAt}
    where session = ${taken.session} and epoch = ${taken.epoch}`;
  return count === 1;
}

export async function releaseLease(sql: Sql, schema: string, { session, epoch }: Taken): Promise<void> {
  // Its head first, as whoever takes it does.
  await sql`
    with released as (
      update ${sql(schema)}.heads set held = false where session = ${session} and epoch = ${epoch} returning session, epoch
    )
    delete from ${sql(schema)}.leases as lease using released
    where lease.session = released.session and lease.epoch = released.epoch`;
}
