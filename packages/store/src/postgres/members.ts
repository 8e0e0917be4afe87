import { randomUUID } from 'node:crypto';
import type { DueOptions, DueSession } from '@treadle/core/journal';
import type { Holder, Leasing } from '../checks.ts';
import type { ProcessIdentity } from '../processes.ts';
import type { Part, Query, Sql } from './connection/connect.ts';

/** This process among those that work with the database. */
export interface Member {
  /** A new one after the process was given up by the others. */
  readonly id: () => string;
  /** Whether something between it and the server shares connections: then a lost connection says nothing of a process. */
  isPooled(): boolean;
  /** Says that the process lives. False when the others have given it up: it is another one then. */
  beat(sql: Sql): Promise<boolean>;
  /** Goes on as another one: what it held is for whoever takes it. */
  renounce(): void;
  /** Says that it is gone for good. */
  leave(sql: Sql): Promise<void>;
}

/** Milliseconds for which a lost connection may be replaced before its process counts as dead. */
const RETURN_MS = 250;

/** Milliseconds for which the row of a process that says nothing any more is kept. */
const KEPT_MS = 86_400_000;

/** Whether a connection is shared: a pooler says another number at its start than the server that answers behind it. */
export async function isBehindPooler(sql: Query): Promise<boolean> {
  const seen = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return seen[0]?.pid !== seen.state.pid;
}

/**
 * A member's row says until when it may be taken for alive, by the database's clock, and which connection it lives by: when
 * that is gone, and not replaced at once, the process is dead. Where a pooler shares connections, its time alone decides.
 */
export function createMember(schema: string, { processes, leaseMs }: Leasing): Member {
  let id = randomUUID();
  let isPooled = false;
  /** Whether others may have heard of it. */
  let isKnown = false;
  /** Given up by itself, which the others don't know yet. */
  const renounced = new Set<string>();

  async function tellRenounced(sql: Sql): Promise<void> {
    for (const old of renounced) {
      await giveUp(sql, schema, old);
      renounced.delete(old);
    }
  }

  return {
    id: () => id,
    isPooled: () => isPooled,
    renounce() {
      renounced.add(id);
      id = randomUUID();
      isKnown = false;
    },
    async leave(sql) {
      await sql`delete from ${sql(schema)}.members where id = ${id}`;
    },
    async beat(sql) {
      await tellRenounced(sql);
      const own = id;
      if (!isKnown)
        // Those of processes that ended.
        await sql`delete from ${sql(schema)}.members where expires_at < clock_timestamp() - ${KEPT_MS} * interval '1 ms'`;
      isPooled = await isBehindPooler(sql);
      const { pid, start, host } = processes.self();
      const [row] = await sql<{ lost: boolean }[]>`
        insert into ${sql(schema)}.members as member
          (id, pid, process_start, host, expires_at, pooled, backend, backend_start)
        select ${own}, ${pid}, ${start}, ${host}, clock_timestamp() + ${leaseMs} * interval '1 ms', ${isPooled},
          backend.pid, backend.backend_start
        from pg_stat_activity as backend where backend.pid = pg_backend_pid()
        on conflict (id) do update set expires_at = excluded.expires_at, pooled = excluded.pooled,
          backend = excluded.backend, backend_start = excluded.backend_start, gone_at = null
        returning lost`;
      if (id !== own) return false;
      isKnown = true;
      if (row?.lost === false) return true;
      id = randomUUID();
      return false;
    },
  };
}

/** Until when nobody may take what a lease holds: for ever, or no more, where a member has it. */
const leaseEnd = (sql: Query): Part => sql`
  case when lease.member is null then lease.expires_at
    when member.expires_at > clock_timestamp() and not member.lost
      and (member.gone_at is null or member.gone_at > clock_timestamp() - ${RETURN_MS} * interval '1 ms')
    then 9000000000000000 else 0 end`;

const holder = (sql: Query, schema: string): { readonly columns: Part; readonly join: Part } => ({
  columns: sql`lease.owner_id as id, lease.owner_label as label, lease.pid, lease.process_start as start, lease.host,
    lease.member, ${leaseEnd(sql)} as "expiresAt"`,
  join: sql`left join ${sql(schema)}.members as member on member.id = lease.member`,
});

/** A lease with the process that has it. */
export interface LeaseRow extends Holder {
  readonly member: string | null;
}

export async function leaseOf(sql: Query, schema: string, session: string): Promise<LeaseRow | undefined> {
  const { columns, join } = holder(sql, schema);
  const [row] = await sql<LeaseRow[]>`
    select ${columns} from ${sql(schema)}.leases as lease ${join} where lease.session = ${session}`;
  return row;
}

/** Gives a process up whose session was taken: it is told with its next beat, should it come back. */
export async function giveUp(sql: Query, schema: string, member: string): Promise<void> {
  await sql`update ${sql(schema)}.members set lost = true where id = ${member}`;
}

/**
 * Notes which members have lost their connection, and which have a new one. Nobody is noted in the first lease after the
 * server's own start: all have lost theirs with it. After a crash it goes on, and has forgotten its statistics.
 */
async function noteConnections(sql: Query, schema: string, leaseMs: number): Promise<void> {
  await sql`
    update ${sql(schema)}.members as member
    set gone_at = case when member.gone_at is null then clock_timestamp() end
    where not member.pooled and not member.lost and member.expires_at > clock_timestamp()
      and greatest(pg_postmaster_start_time(), (select stats_reset from pg_stat_bgwriter))
        < clock_timestamp() - ${leaseMs} * interval '1 ms'
      and (member.gone_at is null) = not exists (
        select from pg_stat_activity as backend where backend.pid = member.backend
          and (backend.backend_start is null or backend.backend_start = member.backend_start))`;
}

/**
 * Says of a lease that this process is said to hold whether it knows nothing of it: the answer to the statement that took it
 * was lost, or it could not be released.
 */
export type IsStray = (member: string | null, sessionId: string) => boolean;

/** The sessions that are due and that nobody alive holds. */
export async function dueSessions(
  sql: Query,
  schema: string,
  { processes, leaseMs }: Leasing,
  { before, limit = 50, agents }: DueOptions,
  own: Own & { readonly mayNote: boolean },
): Promise<readonly DueSession[]> {
  if (own.mayNote) await noteConnections(sql, schema, leaseMs);
  // Few, whatever they hold: so the database need give no more rows than are wanted.
  const members = await sql<(ProcessIdentity & { readonly id: string })[]>`
    select id, pid, process_start as start, host from ${sql(schema)}.members where expires_at > clock_timestamp()`;
  const gone = members.filter((member) => processes.isGone(member)).map(({ id }) => id);
  const listed = (values: readonly string[]): Part =>
    sql`(select jsonb_array_elements_text(${JSON.stringify(values)}::text::jsonb))`;
  const isAsked =
    agents === undefined ? sql`true` : sql`(session.agent_id is null or session.agent_id in ${listed(agents)})`;
  const rows = await sql<{ sessionId: string; dueAt: string; agentId: string | null }[]>`
    select session.name as "sessionId", wake.due_at as "dueAt", session.agent_id as "agentId"
    from ${sql(schema)}.wakes as wake join ${sql(schema)}.sessions as session on session.id = wake.session
    left join ${sql(schema)}.leases as lease on lease.session = wake.session
    left join ${sql(schema)}.members as member on member.id = lease.member
    where wake.due_at <= ${Math.floor(before)} and ${isAsked}
      and (lease.session is null or ${leaseEnd(sql)} <= ${Math.floor(own.now)} or lease.member in ${listed(gone)}
        or (lease.member = ${own.member} and session.name not in ${listed(own.has)}))
    order by wake.due_at limit ${limit}`;
  return rows.map(({ sessionId, dueAt, agentId }) => ({
    sessionId,
    dueAt: Number(dueAt),
    ...(agentId !== null && { agentId }),
  }));
}

/** What this process knows of itself. */
interface Own {
  readonly member: string;
  /** The sessions it holds, or is about to. */
  readonly has: readonly string[];
  readonly now: number;
}
