import { TreadleError, type DurableEvent } from '@treadle/core';
import type { ListOptions, SessionPage } from '@treadle/core/journal';
import { BATCH_ROWS, cursorOf, eventOf, eventsIn, pageOf, stretchesOf, type ListRow } from '../rows.ts';
import type { Part, Query } from './connection/connect.ts';
import { idOf } from './notices.ts';
import { lastEvent, lineOf, sessionOf } from './tables.ts';
import type { Watchers } from '../watchers.ts';

const corrupt = (name: string, what: string, cause?: unknown): TreadleError =>
  new TreadleError('journal_corrupt', `Session ${name}: ${what}. Restore the database from a copy.`, { cause });

/** Reads in batches, each a statement of its own, so that a slow reader holds nothing. */
export async function* readEvents(
  sql: Query,
  schema: string,
  name: string,
  from: number,
): AsyncGenerator<DurableEvent> {
  const { id, seq } = await sessionOf(sql, schema, name);
  yield* eventsIn(
    stretchesOf(await lineOf(sql, schema, id, Number(seq)), from),
    ({ session, next, last }) => sql<{ seq: string; body: string }[]>`
      select seq, body from ${sql(schema)}.events
      where session = ${session} and seq between ${next} and ${last} and claimed is null
      order by seq limit ${BATCH_ROWS}`,
    async (next) => {
      // Removed while it was read, or damaged.
      await sessionOf(sql, schema, name);
      return corrupt(name, `events are missing from ${next} on`);
    },
    ({ seq, body }) => eventOf(Number(seq), body, (what, cause) => corrupt(name, `event ${seq} ${what}`, cause)),
  );
}

/**
 * Sessions that nobody holds are found in the order in which they are listed. Those that are held are ordered by their last
 * events, so each costs a look at its log.
 */
export async function listSessions(sql: Query, schema: string, options: ListOptions): Promise<SessionPage> {
  const { limit = 50, cursor, agentId, tag } = options;
  const [updatedAt = 0, id = 0] = cursorOf(options);
  const wanted = (updated: Part): Part => sql`not session.removed
    ${agentId === undefined ? sql`` : sql`and session.agent_id = ${agentId}`}
    ${tag === undefined ? sql`` : sql`and jsonb_exists(session.facts -> 'tags', ${tag})`}
    ${cursor === undefined ? sql`` : sql`and (${updated}, head.session) < (${updatedAt}, ${id})`}`;
  const last = lastEvent(sql, schema, sql`head.session`);
  const heads = sql`${sql(schema)}.heads as head join ${sql(schema)}.sessions as session on session.id = head.session`;
  const rows = await sql<ListRow[]>`
    with shown as ((
      select head.session, head.updated_at, head.settled from ${heads}
      where not head.held and ${wanted(sql`head.updated_at`)}
      order by head.updated_at desc, head.session desc limit ${limit + 1}
    ) union all (
      select head.session, coalesce(last.at, head.updated_at), head.settled
      from ${heads} left join lateral ${last} as last on true
      where head.held and ${wanted(sql`coalesce(last.at, head.updated_at)`)}
    ))
    select session.id, session.name as "sessionId", session.created_at as "createdAt",
      head.updated_at as "updatedAt", session.agent_id as "agentId", session.first_prompt as "firstPrompt",
      session.base, parent.name as "parentId", greatest(head.settled, last.seq) as seq, session.facts::text,
      wake.status, wake.waits_for as "waitsFor"
    from (select * from shown order by updated_at desc, session desc limit ${limit + 1}) as head
    join ${sql(schema)}.sessions as session on session.id = head.session
    left join ${sql(schema)}.sessions as parent on parent.id = session.parent
    left join ${sql(schema)}.wakes as wake on wake.session = session.id
    left join lateral ${last} as last on true
    order by head.updated_at desc, head.session desc`;
  return pageOf(rows, limit);
}

/** Notices may be missing: looks where everything stands that is watched. */
export async function lookAtAll(watchers: Watchers, sql: Query, schema: string): Promise<void> {
  // No session has such a name that no text of Postgres can be.
  const names = [...watchers.sessions.values()]
    .map(({ name }) => name.toWellFormed())
    .filter((name) => !name.includes('\0'));
  if (names.length === 0) return;
  const rows = await sql<{ name: string; seq: string }[]>`
    select session.name, greatest(head.settled, last.seq) as seq from ${sql(schema)}.sessions as session
    join ${sql(schema)}.heads as head on head.session = session.id
    left join lateral ${lastEvent(sql, schema, sql`session.id`)} as last on true
    where not session.removed and session.name in (select jsonb_array_elements_text(${JSON.stringify(names)}::text::jsonb))`;
  for (const { name, seq } of rows) watchers.wrote(idOf(name), Number(seq));
}
