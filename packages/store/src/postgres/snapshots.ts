import type { Snapshot } from '@treadle/core/journal';
import { journalErrors, thinSnapshots } from '@treadle/core/journal';
import type { Query, Sql } from './connection/connect.ts';
import { sessionOf } from './tables.ts';

export async function saveSnapshot(sql: Sql, schema: string, name: string, { seq, text }: Snapshot): Promise<void> {
  const { id, seq: last } = await sessionOf(sql, schema, name);
  if (!(Number.isInteger(seq) && seq >= 1 && seq <= Number(last))) {
    throw journalErrors.noSuchEvent(name, seq, Number(last));
  }
  await sql`
    insert into ${sql(schema)}.snapshots (session, seq, body) values (${id}, ${seq}, ${text})
    on conflict (session, seq) do update set body = excluded.body`;
  const kept = await sql<{ seq: string }[]>`select seq from ${sql(schema)}.snapshots where session = ${id}`;
  const dropped = thinSnapshots(kept.map((row) => Number(row.seq)));
  if (dropped.length === 0) return;
  await sql`delete from ${sql(schema)}.snapshots where session = ${id} and seq in ${sql(dropped)}`;
}

export async function newestSnapshot(sql: Query, schema: string, name: string, upTo: number): Promise<Snapshot | null> {
  let current: { readonly id: string; readonly base: string; readonly parent: string | null } | undefined =
    await sessionOf(sql, schema, name);
  let last = upTo;
  while (current) {
    const [row] = await sql<{ seq: string; body: string }[]>`
      select seq, body from ${sql(schema)}.snapshots where session = ${current.id} and seq <= ${last}
      order by seq desc limit 1`;
    if (row) return { seq: Number(row.seq), text: row.body };
    last = Math.min(last, Number(current.base));
    if (current.parent === null) break;
    [current] = await sql<{ id: string; base: string; parent: string | null }[]>`
      select id, base, parent from ${sql(schema)}.sessions where id = ${current.parent}`;
  }
  return null;
}
