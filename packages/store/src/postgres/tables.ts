import { journalErrors } from '@treadle/core/journal';
import type { AncestorRow } from '../rows.ts';
import type { Part, Query } from './connection/connect.ts';

/** A session's row. Postgres's client gives big integers as text, so numbers are read with `Number`. */
export interface SessionRow {
  readonly id: string;
  /** The last number of its log. */
  readonly seq: string;
  readonly epoch: string;
  /** Whether the holder of that epoch hasn't let it go. */
  readonly held: boolean;
  readonly firstPrompt: string | null;
  readonly firstPromptSeq: string | null;
}

/**
 * `share` keeps a session from being removed. `update` keeps everybody but its drive from writing to it, too: whoever locks
 * both its head and its row locks the head first.
 */
export type Lock = 'none' | 'share' | 'update';

/** The last event of a session's own, with its number and time: what a log's end is read from. */
export const lastEvent = (sql: Query, schema: string, session: Part): Part => sql`(
  select event.seq, event.at from ${sql(schema)}.events as event
  where event.session = ${session} and event.claimed is null order by event.seq desc limit 1)`;

/**
 * The row of a session, and where its log ends.
 *
 * @throws TreadleError `session_not_found`.
 */
export async function sessionOf(sql: Query, schema: string, name: string, lock: Lock = 'none'): Promise<SessionRow> {
  const locking = { none: sql``, share: sql`for share of session`, update: sql`for update of head` }[lock];
  const [row] = await sql<SessionRow[]>`
    select session.id, greatest(head.settled, last.seq) as seq, head.epoch,
      head.held, session.first_prompt as "firstPrompt", session.first_prompt_seq as "firstPromptSeq"
    from ${sql(schema)}.sessions as session join ${sql(schema)}.heads as head on head.session = session.id
    left join lateral ${lastEvent(sql, schema, sql`session.id`)} as last on true
    where session.name = ${name} and not session.removed ${locking}`;
  if (!row) throw journalErrors.notFound(name);
  return row;
}

/** A session and those it was forked from, the nearest first, up to event `last`. */
export const lineOf = (sql: Query, schema: string, id: string, last: number): Promise<AncestorRow<string>[]> => sql`
  with recursive line (id, base, parent, last, depth) as (
    select id, base, parent, ${last}::bigint, 0 from ${sql(schema)}.sessions where id = ${id}
    union all select parent.id, parent.base, parent.parent, least(line.last, line.base), line.depth + 1
    from ${sql(schema)}.sessions as parent join line on parent.id = line.parent
  ) select id, base, last from line order by depth`;
