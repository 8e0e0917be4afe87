import { thinSnapshots, type Snapshot } from '@treadle/core/journal';
import { requireEvent } from '../checks.ts';
import type { Query, Sql } from './connection/connect.ts';
import { lineOf, sessionOf } from './tables.ts';

export async function saveSnapshot(sql: Sql, schema: string, name: string, { seq, text }: Snapshot): Promise<void> {
  const { id, seq: last } = await sessionOf(sql, schema, name);
  requireEvent(name, seq, Number(last));
  await sql`
    insert into ${sql(schema)}.snapshots (session, seq, body) values (${id}, ${seq}, ${text})
    on conflict (session, seq) do update set body = excluded.body`;
  const kept = await sql<{ seq: string }[]>`select seq from ${sql(schema)}.snapshots where session = ${id}`;
  const dropped = thinSnapshots(kept.map((row) => Number(row.seq)));
  if (dropped.length === 0) return;
  await sql`delete from ${sql(schema)}.snapshots where session = ${id} and seq in ${sql(dropped)}`;
}

export async function newestSnapshot(sql: Query, schema: string, name: string, upTo: number): Promise<Snapshot | null> {
  const { id } = await sessionOf(sql, schema, name);
  for (const { id: session, last } of await lineOf(sql, schema, id, upTo)) {
    const [row] = await sql<{ seq: string; body: string }[]>`
      select seq, body from ${sql(schema)}.snapshots where session = ${session} and seq <= ${last}
      order by seq desc limit 1`;
    if (row) return { seq: Number(row.seq), text: row.body };
  }
  return null;
}
