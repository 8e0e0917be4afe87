import type { Owner } from '@treadle/core';
import { journalErrors } from '@treadle/core';
import type { Query } from './connect.ts';

/** A session's row. Postgres's client gives big integers as text, so numbers are read with `Number`. */
export interface SessionRow {
  readonly id: string;
  readonly parent: string | null;
  readonly base: string;
  readonly seq: string;
  readonly lastAppended: string;
  readonly epoch: string;
  /** Whether the holder of that epoch hasn't let it go. */
  readonly held: boolean;
  readonly firstPrompt: string | null;
  readonly firstPromptSeq: string | null;
}

/**
 * `share` keeps a session from being removed. `update` keeps everybody from writing to it, too: whoever locks both its head
 * and its row locks the head first.
 */
export type Lock = 'none' | 'share' | 'update';

/**
 * The row of a session, and where its log ends.
 *
 * @throws TreadleError `session_not_found`.
 */
export async function sessionOf(sql: Query, schema: string, name: string, lock: Lock = 'none'): Promise<SessionRow> {
  const locking = { none: sql``, share: sql`for share of session`, update: sql`for update of head` }[lock];
  const [row] = await sql<SessionRow[]>`
    select session.id, session.parent, session.base, head.seq, head.last_appended as "lastAppended", head.epoch,
      head.held, session.first_prompt as "firstPrompt", session.first_prompt_seq as "firstPromptSeq"
    from ${sql(schema)}.sessions as session join ${sql(schema)}.heads as head on head.session = session.id
    where session.name = ${name} and not session.removed ${locking}`;
  if (!row) throw journalErrors.notFound(name);
  return row;
}

export interface LeaseRow {
  readonly epoch: string;
  readonly ownerId: string;
  readonly ownerLabel: string;
  readonly pid: number;
  readonly start: string | null;
  readonly host: string;
  readonly expiresAt: string;
}

export async function leaseOf(sql: Query, schema: string, session: string): Promise<LeaseRow | undefined> {
  const [row] = await sql<LeaseRow[]>`
    select epoch, owner_id as "ownerId", owner_label as "ownerLabel", pid, process_start as "start", host,
      expires_at as "expiresAt"
    from ${sql(schema)}.leases where session = ${session}`;
  return row;
}

export const ownerOf = ({ ownerId, ownerLabel }: LeaseRow): Owner => ({ id: ownerId, label: ownerLabel });
