import type { Query, Sql } from './connection/connect.ts';
import type { Leasing } from '../checks.ts';
import { putFence, refuseOthers } from './claims.ts';
import { removalNotice } from './notices.ts';
import type { Place } from './place.ts';
import { sessionOf } from './tables.ts';

/** Deletes a session, but for what forks still read of it. */
export async function removeSession(
  sql: Sql,
  { schema, channel }: Place,
  leasing: Leasing,
  name: string,
): Promise<void> {
  await sql.begin(async (transaction) => {
    const { id, seq, epoch } = await sessionOf(transaction, schema, name, 'update');
    await refuseOthers(transaction, schema, leasing, name, id);
    await putFence(transaction, schema, id, Number(epoch) + 1);
    // Whoever waits to write finds nothing to write to.
    await transaction`delete from ${transaction(schema)}.heads where session = ${id}`;
    await transaction`delete from ${transaction(schema)}.leases where session = ${id}`;
    await transaction`delete from ${transaction(schema)}.wakes where session = ${id}`;
    await transaction`delete from ${transaction(schema)}.inputs where session = ${id}`;
    await transaction`update ${transaction(schema)}.sessions set removed = true where id = ${id}`;
    await prune(transaction, schema, id);
    await dropOldFences(transaction, schema);
    await transaction`select pg_notify(${channel}, ${removalNotice(name, seq)})`;
  });
}

/** Deletes what no fork reads of a removed session, and its removed ancestors when it was the last to read them. */
async function prune(sql: Query, schema: string, id: string): Promise<void> {
  const [forked] = await sql<{ seq: string | null }[]>`
    select max(base) as seq from ${sql(schema)}.sessions where parent = ${id}`;
  await leaveFences(sql, schema, id, forked?.seq ?? '0');
  await sql`delete from ${sql(schema)}.snapshots where session = ${id} and seq > ${forked?.seq ?? 0}`;
  if (forked?.seq != null) return;
  const [row] = await sql<{ parent: string | null }[]>`
    delete from ${sql(schema)}.sessions where id = ${id} returning parent`;
  if (!row?.parent) return;
  const [parent] = await sql<{ removed: boolean }[]>`
    select removed from ${sql(schema)}.sessions where id = ${row.parent} for update`;
  if (parent?.removed === true) await prune(sql, schema, row.parent);
}

/**
 * Empties the events after `seq`, and leaves their places taken. A drive that was cut off may come back and append to what
 * it thinks is there: it is fenced for a day, and by then it has long tried to renew its lease.
 */
async function leaveFences(sql: Query, schema: string, id: string, seq: string): Promise<void> {
  await sql`
    update ${sql(schema)}.events set body = null, at = null, posted = null, claimed = 0
    where session = ${id} and seq > ${seq} and claimed is null`;
  await sql`
    insert into ${sql(schema)}.fences (session) values (${id})
    on conflict (session) do update set removed_at = excluded.removed_at`;
}

async function dropOldFences(sql: Query, schema: string): Promise<void> {
  await sql`
    with old as (
      delete from ${sql(schema)}.fences where removed_at < now() - interval '1 day' returning session
    )
    delete from ${sql(schema)}.events as event using old where event.session = old.session and event.claimed is not null`;
}
