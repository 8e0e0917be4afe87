-- A schema as the first version of the Postgres journal made it, and what it wrote there. Never changed.
create schema old;
create table old.schema_version (version integer not null);
create table old.sessions (
  id bigint generated always as identity primary key,
  name text not null,
  parent bigint references old.sessions,
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
);
create unique index sessions_name on old.sessions (name) where not removed;
create index sessions_listed on old.sessions (updated_at desc, id desc) where not removed;
create index sessions_parent on old.sessions (parent) where parent is not null;
create table old.events (
  session bigint not null references old.sessions on delete cascade,
  seq bigint not null,
  body text not null,
  primary key (session, seq)
);
create table old.inputs (
  session bigint not null references old.sessions on delete cascade,
  key text not null,
  seq bigint not null,
  primary key (session, key)
);
create table old.leases (
  session bigint primary key references old.sessions on delete cascade,
  epoch bigint not null,
  owner_id text not null,
  owner_label text not null,
  pid integer not null,
  process_start text,
  host text not null,
  expires_at bigint not null
);
insert into old.schema_version values (7);
insert into old.sessions
  (name, parent, base, seq, last_appended, epoch, created_at, updated_at, agent_id, first_prompt, first_prompt_seq)
values
  ('s', null, 0, 3, 3, 1, 1, 3, 'helper', 'Hello', 2),
  ('f', 1, 2, 3, 3, 0, 4, 4, null, 'Hello', 2);
insert into old.events (session, seq, body) values
  (1, 1, '{"type":"session_created","at":1,"eventVersion":1,"sessionId":"s","agentId":"helper"}'),
  (1, 2, '{"type":"input_received","at":2,"key":"k","input":{"type":"prompt","messages":[{"content":[{"type":"text","text":"Hello"}]}]}}'),
  (1, 3, '{"type":"task_updated","at":3,"taskId":"t","status":"running"}'),
  (2, 3, '{"type":"session_created","at":4,"eventVersion":1,"sessionId":"f","fork":{"sessionId":"s","seq":2}}');
insert into old.inputs (session, key, seq) values (1, 'k', 2);
