import type { Owner } from '@treadle/core/journal';
import { refuseHeld, type Holder, type Leasing } from '../checks.ts';
import type { Query, Sql } from './connection/connect.ts';
import { lastEvent, sessionOf } from './tables.ts';

/** A lease as the journal that took it remembers it. */
export interface Taken {
  readonly session: string;
  readonly epoch: number;
  /** The last number of the log when it was taken. */
  readonly seq: number;
  /** The number of the event it appended last, unless something was in its way since. */
  end?: number;
}

/** Throws `session_busy` while someone else's lease on the session is alive. */
export async function refuseOthers(
  sql: Query,
  schema: string,
  leasing: Leasing,
  name: string,
  session: string,
  except?: string,
): Promise<void> {
  const [holder] = await sql<Holder[]>`
    select owner_id as id, owner_label as label, pid, process_start as start, host, expires_at as "expiresAt"
    from ${sql(schema)}.leases where session = ${session}`;
  refuseHeld(name, holder, leasing, except);
}

export function takeLease(sql: Sql, schema: string, leasing: Leasing, name: string, owner: Owner): Promise<Taken> {
  return sql.begin(async (transaction) => {
    const { id: session } = await sessionOf(transaction, schema, name, 'update');
    await refuseOthers(transaction, schema, leasing, name, session, owner.id);
    const [raised] = await transaction<{ epoch: string }[]>`
      update ${transaction(schema)}.heads set epoch = epoch + 1, held = true where session = ${session} returning epoch`;
    const epoch = Number(raised?.epoch);
    const seq = await putFence(transaction, schema, session, epoch);
    const { pid, start, host } = leasing.processes.self();
    const expiresAt = leasing.clock.now() + leasing.leaseMs;
    await transaction`
      insert into ${transaction(schema)}.leases (session, epoch, owner_id, owner_label, pid, process_start, host, expires_at)
      values (${session}, ${epoch}, ${owner.id}, ${owner.label}, ${pid}, ${start}, ${host}, ${expiresAt})
      on conflict (session) do update set epoch = excluded.epoch, owner_id = excluded.owner_id,
        owner_label = excluded.owner_label, pid = excluded.pid, process_start = excluded.process_start,
        host = excluded.host, expires_at = excluded.expires_at`;
    return { session, epoch, seq };
  });
}

/**
 * Takes the place of the next event, so that no drive before can: an append that is under way is waited for, and one that
 * comes after finds its place taken, whatever it has read before. The session's head must be locked. Returns the number of
 * the last event.
 */
export async function putFence(sql: Query, schema: string, session: string, epoch: number): Promise<number> {
  for (;;) {
    // Each statement sees what was appended before it. When the place was just taken, nothing is written.
    const [fence] = await sql<{ seq: string }[]>`
      insert into ${sql(schema)}.events as event (session, seq, claimed)
      select head.session, greatest(head.settled, last.seq) + 1, ${epoch}
      from ${sql(schema)}.heads as head left join lateral ${lastEvent(sql, schema, sql`head.session`)} as last on true
      where head.session = ${session}
      on conflict (session, seq) do update set claimed = excluded.claimed where event.claimed is not null
      returning event.seq`;
    if (fence) return Number(fence.seq) - 1;
  }
}

export async function renewLease(sql: Sql, schema: string, leasing: Leasing, taken: Taken): Promise<boolean> {
  const expiresAt = leasing.clock.now() + leasing.leaseMs;
  const { count } = await sql`
    update ${sql(schema)}.leases set expires_at = ${expiresAt}
    where session = ${taken.session} and epoch = ${taken.epoch}`;
  return count === 1;
}

export async function releaseLease(sql: Sql, schema: string, { session, epoch }: Taken): Promise<void> {
  // Its head first, as whoever takes it does. Somebody may have posted while that was waited for, and noted it there.
  await sql`
    with last as ${lastEvent(sql, schema, sql`${session}::bigint`)}, released as (
      update ${sql(schema)}.heads as head set held = false, settled = greatest(head.settled, (select seq from last)),
        updated_at = coalesce((select at from last where last.seq >= head.settled), head.updated_at)
      where head.session = ${session} and head.epoch = ${epoch} returning head.session, head.epoch
    )
    delete from ${sql(schema)}.leases as lease using released
    where lease.session = released.session and lease.epoch = released.epoch`;
}
