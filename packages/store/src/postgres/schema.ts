import { TreadleError } from '@treadle/core';
import type { Sql } from './connection/connect.ts';

/** One step of the schema each; a database that has the first N gets those after them. Never changed, only added to. */
const migrationsOf = (at: string): readonly string[] => [
  `create table ${at}.sessions (
      id bigint generated always as identity primary key,
      name text not null,
      parent bigint references ${at}.sessions,
      base bigint not null,
      seq bigint not null,
      last_appended bigint not null,
      epoch bigint not null default 0,
      created_at bigint not null,
      updated_at bigint not null,
      agent_id text,
      first_prompt text,
      first_prompt_seq bigint,
      removed boolean not null default false
    )`,
  `create unique index sessions_name on ${at}.sessions (name) where not removed`,
  `create index sessions_listed on ${at}.sessions (updated_at desc, id desc) where not removed`,
  `create index sessions_parent on ${at}.sessions (parent) where parent is not null`,
  // The body is the text that was written, byte for byte, which jsonb would not keep.
  `create table ${at}.events (
      session bigint not null references ${at}.sessions on delete cascade,
      seq bigint not null,
      body text not null,
      primary key (session, seq)
    )`,
  `create table ${at}.inputs (
      session bigint not null references ${at}.sessions on delete cascade,
      key text not null,
      seq bigint not null,
      primary key (session, key)
    )`,
  `create table ${at}.leases (
      session bigint primary key references ${at}.sessions on delete cascade,
      epoch bigint not null,
      owner_id text not null,
      owner_label text not null,
      pid integer not null,
      process_start text,
      host text not null,
      expires_at bigint not null
    )`,
  // A cache: any of it may be deleted.
  `create table ${at}.snapshots (
      session bigint not null references ${at}.sessions on delete cascade,
      seq bigint not null,
      body text not null,
      primary key (session, seq)
    )`,
  // The session's title, tags and the like.
  `alter table ${at}.sessions add column facts jsonb not null default '{}'`,
  // An append changes the row of its session in place as long as no indexed column of it changes: so the list is indexed
  // by minutes, and there is room for the next versions of the row.
  `drop index ${at}.sessions_listed`,
  `alter table ${at}.sessions add column updated_minute bigint generated always as (updated_at / 60000) stored`,
  `create index sessions_listed on ${at}.sessions (updated_minute desc) where not removed`,
  `alter table ${at}.sessions set (fillfactor = 50)`,
  // An event is written by the statement that has its session's row, and deleted before it: a check of each costs as much
  // as writing it.
  `alter table ${at}.events drop constraint events_session_fkey`,
  // What each append changes has a narrow table of its own: where a log ends, and who may write to it. Its rows are changed
  // in place, and an append opens no index of the sessions. A removed session has none.
  `create table ${at}.heads (
      session bigint primary key,
      seq bigint not null,
      last_appended bigint not null,
      epoch bigint not null default 0,
      held boolean not null default false,
      updated_at bigint not null,
      updated_minute bigint generated always as (updated_at / 60000) stored
    ) with (fillfactor = 50)`,
  `insert into ${at}.heads (session, seq, last_appended, epoch, held, updated_at)
    select session.id, session.seq, session.last_appended, session.epoch, lease.session is not null, session.updated_at
    from ${at}.sessions as session
    left join ${at}.leases as lease on lease.session = session.id and lease.epoch = session.epoch
    where not session.removed`,
  `create index heads_listed on ${at}.heads (updated_minute desc)`,
  // Whoever still runs an earlier version fails from here on, instead of writing what nobody sees.
  `alter table ${at}.sessions drop column updated_minute, drop column updated_at, drop column seq,
      drop column last_appended, drop column epoch`,
  // An append writes its events and nothing else: where a log ends is its last event. What keeps an older drive out is a
  // fence, a row in the place of the next event, which only the drive that put it there may turn into one.
  `alter table ${at}.events add column at bigint, add column claimed bigint, add column posted boolean,
      alter column body drop not null`,
  `update ${at}.events as event set posted = true from ${at}.heads as head
    where event.session = head.session and event.seq > head.last_appended`,
  // Where the log stood when somebody but its drive last wrote: it may be longer, and is damaged when it is shorter. Whoever
  // still runs an earlier version fails from here on.
  `alter table ${at}.heads drop column updated_minute, drop column last_appended`,
  `alter table ${at}.heads rename column seq to settled`,
  // While a session is held, its time is that of its last event.
  `create index heads_listed on ${at}.heads (updated_at desc, session desc) where not held`,
  `create index heads_held on ${at}.heads (session) where held`,
  // Fences that outlive their session for a while.
  `create table ${at}.fences (session bigint primary key, removed_at timestamptz not null default now())`,
  // The processes that hold sessions: until when, and by which connection they live.
  `create table ${at}.members (
      id text primary key,
      pid integer not null,
      process_start text,
      host text not null,
      expires_at timestamptz not null,
      pooled boolean not null,
      backend integer not null,
      backend_start timestamptz,
      gone_at timestamptz,
      lost boolean not null default false
    )`,
  `alter table ${at}.leases add column member text`,
  // When each session wants to be driven, what it is at and what it waits for; no row for one that another session drives.
  // Those of an earlier version are due once where nothing says that they are at rest.
  `create table ${at}.wakes (
      session bigint primary key,
      due_at bigint,
      status text not null default 'idle',
      waits_for text not null default '[]'
    ) with (fillfactor = 50)`,
  `create index wakes_due on ${at}.wakes (due_at) where due_at is not null`,
  `insert into ${at}.wakes (session, due_at)
    select session.id, case when left(last.body, 64) like '%"session_created"%' or left(last.body, 64) like '%"run_ended"%'
      then null else coalesce(last.at, session.created_at) end
    from ${at}.sessions as session
    left join lateral (select event.body, event.at from ${at}.events as event
      where event.session = session.id and event.claimed is null order by event.seq desc limit 1) as last on true
    where not session.removed and not exists (select from ${at}.events as first
      where first.session = session.id and first.seq = session.base + 1 and first.body like '%"spawnedBy":{%')`,
];

const NEWEST = migrationsOf('').length;

/**
 * Brings the schema up to date, one process at a time.
 *
 * @throws TreadleError `journal_too_new` when a newer Treadle has been here; nothing is changed then.
 */
export async function migrate(sql: Sql, schema: string): Promise<void> {
  if (await isCurrent(sql, schema)) return;
  await sql.begin(async (transaction) => {
    // Two processes that start together: the second waits, and finds everything done.
    await transaction`select pg_advisory_xact_lock(hashtext(${`treadle ${schema}`}))`;
    await transaction`create schema if not exists ${transaction(schema)}`;
    await transaction`create table if not exists ${transaction(schema)}.schema_version (version integer not null)`;
    const [row] = await transaction<{ version: number }[]>`select version from ${transaction(schema)}.schema_version`;
    const version = row?.version ?? 0;
    if (version > NEWEST) {
      throw new TreadleError(
        'journal_too_new',
        `The schema "${schema}" was written by a newer Treadle (version ${version}, known ${NEWEST}).`,
      );
    }
    for (const step of migrationsOf(`"${schema}"`).slice(version)) await transaction.unsafe(step);
    if (version === NEWEST) return;
    await transaction`delete from ${transaction(schema)}.schema_version`;
    await transaction`insert into ${transaction(schema)}.schema_version values (${NEWEST})`;
  });
}

/** One that is up to date is left alone: it can be read where nothing can be written. */
async function isCurrent(sql: Sql, schema: string): Promise<boolean> {
  const tables = await sql`
    select from pg_catalog.pg_tables where schemaname = ${schema} and tablename = 'schema_version'`;
  if (tables.length === 0) return false;
  const [row] = await sql<{ version: number }[]>`select version from ${sql(schema)}.schema_version`;
  return row?.version === NEWEST;
}
