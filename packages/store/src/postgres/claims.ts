import type { Owner, Rest } from '@treadle/core/journal';
import { refuseHeld, type Leasing } from '../checks.ts';
import type { Query, Sql } from './connection/connect.ts';
import { giveUp, leaseOf, type IsStray } from './members.ts';
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
  isStray: IsStray = () => false,
): Promise<void> {
  const lease = await leaseOf(sql, schema, session);
  if (lease && isStray(lease.member, name)) return;
  refuseHeld(name, lease, leasing, except);
  if (lease?.member != null && lease.id !== except) await giveUp(sql, schema, lease.member);
}

export function takeLease(
  sql: Sql,
  schema: string,
  leasing: Leasing,
  name: string,
  owner: Owner,
  member: string,
  isStray: IsStray,
): Promise<Taken> {
  return sql.begin(async (transaction) => {
    const { id: session } = await sessionOf(transaction, schema, name, 'update');
    await refuseOthers(transaction, schema, leasing, name, session, owner.id, isStray);
    const [raised] = await transaction<{ epoch: string }[]>`
      update ${transaction(schema)}.heads set epoch = epoch + 1, held = true where session = ${session} returning epoch`;
    const epoch = Number(raised?.epoch);
    const seq = await putFence(transaction, schema, session, epoch);
    const { pid, start, host } = leasing.processes.self();
    const now = leasing.clock.now();
    // Whoever dies with it leaves it due.
    await transaction`
      with due as (
        update ${transaction(schema)}.wakes set due_at = ${Math.floor(now)}, status = 'running' where session = ${session}
      )
      insert into ${transaction(schema)}.leases
        (session, epoch, owner_id, owner_label, pid, process_start, host, expires_at, member)
      values (${session}, ${epoch}, ${owner.id}, ${owner.label}, ${pid}, ${start}, ${host}, ${Math.floor(now + leasing.leaseMs)},
        ${member})
      on conflict (session) do update set epoch = excluded.epoch, owner_id = excluded.owner_id,
        owner_label = excluded.owner_label, pid = excluded.pid, process_start = excluded.process_start,
        host = excluded.host, expires_at = excluded.expires_at, member = excluded.member`;
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

/** Lets a session go, and says when it is due again: at once, where its log has grown since it was seen. */
export async function releaseLease(
  sql: Sql,
  schema: string,
  now: number,
  { session, epoch }: Taken,
  rest: Rest | undefined,
): Promise<void> {
  const wake = rest
    ? sql`update ${sql(schema)}.wakes as wake set status = ${rest.status}, waits_for = ${JSON.stringify(rest.waitsFor)},
        due_at = case when released.settled > ${rest.seen} then ${Math.floor(now)}::bigint
          else ${rest.wakeAt === null ? null : Math.ceil(rest.wakeAt)}::bigint end
        from released where wake.session = released.session returning wake.session`
    : sql`select session from released`;
  // Its head first, as whoever takes it does. Somebody may have posted while that was waited for, and noted it there.
  await sql`
    with last as ${lastEvent(sql, schema, sql`${session}::bigint`)}, released as (
      update ${sql(schema)}.heads as head set held = false, settled = greatest(head.settled, (select seq from last)),
        updated_at = coalesce((select at from last where last.seq >= head.settled), head.updated_at)
      where head.session = ${session} and head.epoch = ${epoch} returning head.session, head.epoch, head.settled
    ), woken as (${wake})
    delete from ${sql(schema)}.leases as lease using released
    where lease.session = released.session and lease.epoch = released.epoch`;
}
