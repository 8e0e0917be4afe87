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
  readonly firstPrompt: string | null;
  readonly firstPromptSeq: string | null;
}

export type Lock = 'none' | 'share' | 'update';

/**
 * The row of a session.
 *
 * @throws TreadleError `session_not_found`.
 */
export async function sessionOf(sql: Query, schema: string, name: string, lock: Lock = 'none'): Promise<SessionRow> {
  const locking = { none: sql``, share: sql`for share`, update: sql`for update` }[lock];
  const [row] = await sql<SessionRow[]>`
    select id, parent, base, seq, last_appended as "lastAppended", epoch, first_prompt as "firstPrompt",
      first_prompt_seq as "firstPromptSeq"
    from ${sql(schema)}.sessions where name = ${name} and not removed ${locking}`;
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
