import { upToDate } from '@treadle/core/journal';
import type { DurableEvent } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import type { ListOptions, SessionFacts, SessionPage, SessionSummary } from '@treadle/core/journal';
import { TreadleError } from '@treadle/core';
import { MAX_ENVELOPE_DEPTH, parseJson } from '@treadle/core/json';
import type { Part, Query } from './connection/connect.ts';
import { idOf } from './notices.ts';
import { lastEvent, sessionOf } from './tables.ts';
import type { Watchers } from '../watchers.ts';

/** A row id and the numbers to read of it. */
interface Stretch {
  readonly session: string;
  next: number;
  readonly last: number;
}

/** What a reader fetches at a time. */
const BATCH_ROWS = 500;

const corrupt = (name: string, what: string, cause?: unknown): TreadleError =>
  new TreadleError('journal_corrupt', `Session ${name}: ${what}. Restore the database from a copy.`, { cause });

async function stretches(sql: Query, schema: string, name: string, from: number): Promise<Stretch[]> {
  const parts: Stretch[] = [];
  const row = await sessionOf(sql, schema, name);
  let current: { readonly id: string; readonly base: string; readonly parent: string | null } | undefined = row;
  let last = Number(row.seq);
  while (current && last >= from) {
    const base = Number(current.base);
    if (last > base) parts.push({ session: current.id, next: Math.max(from, base + 1), last });
    last = Math.min(last, base);
    if (current.parent === null || last < from) break;
    [current] = await sql<{ id: string; base: string; parent: string | null }[]>`
      select id, base, parent from ${sql(schema)}.sessions where id = ${current.parent}`;
  }
  return parts.reverse();
}

/** Reads in batches, each a statement of its own, so that a slow reader holds nothing. */
export async function* readEvents(
  sql: Query,
  schema: string,
  name: string,
  from: number,
): AsyncGenerator<DurableEvent> {
  for (const part of await stretches(sql, schema, name, Math.max(1, from))) {
    while (part.next <= part.last) {
      const rows = await sql<{ seq: string; body: string }[]>`
        select seq, body from ${sql(schema)}.events
        where session = ${part.session} and seq between ${part.next} and ${part.last} and claimed is null
        order by seq limit ${BATCH_ROWS}`;
      if (rows.length === 0 || rows.some(({ seq }, index) => Number(seq) !== part.next + index)) {
        // Removed while it was read, or damaged.
        await sessionOf(sql, schema, name);
        throw corrupt(name, `events are missing from ${part.next} on`);
      }
      part.next += rows.length;
      for (const { seq, body } of rows) yield parsed(name, Number(seq), body);
    }
  }
}

function parsed(name: string, seq: number, body: string): DurableEvent {
  let event: unknown;
  try {
    event = parseJson(body, MAX_ENVELOPE_DEPTH);
  } catch (error) {
    throw corrupt(name, `event ${seq} is not JSON`, error);
  }
  if (typeof event !== 'object' || event === null) throw corrupt(name, `event ${seq} is not an object`);
  return upToDate(Object.assign(event as DurableEventBody, { seq }));
}

interface ListRow {
  readonly id: string;
  readonly sessionId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly agentId: string | null;
  readonly firstPrompt: string | null;
  readonly base: string;
  readonly parentId: string | null;
  readonly seq: string;
  /** JSON. */
  readonly facts: string;
}

/**
 * Sessions that nobody holds are found in the order in which they are listed. Those that are held are ordered by their last
 * events, so each costs a look at its log.
 */
export async function listSessions(
  sql: Query,
  schema: string,
  { limit = 50, cursor, agentId, tag }: ListOptions,
): Promise<SessionPage> {
  const [updatedAt = 0, id = 0] = cursor?.split('.').map(Number) ?? [];
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
      session.base, parent.name as "parentId", greatest(head.settled, last.seq) as seq, session.facts::text
    from (select * from shown order by updated_at desc, session desc limit ${limit + 1}) as head
    join ${sql(schema)}.sessions as session on session.id = head.session
    left join ${sql(schema)}.sessions as parent on parent.id = session.parent
    left join lateral ${last} as last on true
    order by head.updated_at desc, head.session desc`;
  const shown = rows.slice(0, limit);
  const lastShown = shown.at(-1);
  return {
    sessions: shown.map(summaryOf),
    ...(lastShown && rows.length > limit ? { cursor: `${lastShown.updatedAt}.${lastShown.id}` } : {}),
  };
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

const summaryOf = (row: ListRow): SessionSummary => ({
  sessionId: row.sessionId,
  seq: Number(row.seq),
  createdAt: Number(row.createdAt),
  updatedAt: Number(row.updatedAt),
  ...(row.agentId === null ? {} : { agentId: row.agentId }),
  ...(row.firstPrompt === null ? {} : { firstPrompt: row.firstPrompt }),
  ...(parseJson(row.facts) as SessionFacts),
  ...(row.parentId === null ? {} : { parent: { sessionId: row.parentId, seq: Number(row.base) } }),
});
