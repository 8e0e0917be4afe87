-- A schema of version 18, as it was written then. Never changed.
create schema treadle;
create table treadle.schema_version (version integer not null);
insert into treadle.schema_version values (18);
create table treadle.sessions (
  id bigint generated always as identity primary key,
  name text not null,
  parent bigint references treadle.sessions,
  base bigint not null,
  created_at bigint not null,
  agent_id text,
  first_prompt text,
  first_prompt_seq bigint,
  removed boolean not null default false,
  facts jsonb not null default '{}'
) with (fillfactor = 50);
create unique index sessions_name on treadle.sessions (name) where not removed;
create index sessions_parent on treadle.sessions (parent) where parent is not null;
create table treadle.heads (
  session bigint primary key,
  seq bigint not null,
  last_appended bigint not null,
  epoch bigint not null default 0,
  held boolean not null default false,
  updated_at bigint not null,
  updated_minute bigint generated always as (updated_at / 60000) stored
) with (fillfactor = 50);
create index heads_listed on treadle.heads (updated_minute desc);
create table treadle.events (
  session bigint not null,
  seq bigint not null,
  body text not null,
  primary key (session, seq)
);
create table treadle.inputs (
  session bigint not null references treadle.sessions on delete cascade,
  key text not null,
  seq bigint not null,
  primary key (session, key)
);
create table treadle.leases (
  session bigint primary key references treadle.sessions on delete cascade,
  epoch bigint not null,
  owner_id text not null,
  owner_label text not null,
  pid integer not null,
  process_start text,
  host text not null,
  expires_at bigint not null
);
create table treadle.snapshots (
  session bigint not null references treadle.sessions on delete cascade,
  seq bigint not null,
  body text not null,
  primary key (session, seq)
);
insert into treadle.sessions (id, name, parent, base, created_at, agent_id, first_prompt, first_prompt_seq, removed, facts) overriding system value values (1, 's', null, 0, 1000, null, 'Hello', 2, false, '{}');
insert into treadle.heads (session, seq, last_appended, epoch, held, updated_at) values (1, 4, 4, 1, false, 3500);
insert into treadle.sessions (id, name, parent, base, created_at, agent_id, first_prompt, first_prompt_seq, removed, facts) overriding system value values (2, 'f', 1, 3, 120000, null, 'Hello', 2, false, '{}');
insert into treadle.heads (session, seq, last_appended, epoch, held, updated_at) values (2, 4, 4, 0, false, 120000);
insert into treadle.sessions (id, name, parent, base, created_at, agent_id, first_prompt, first_prompt_seq, removed, facts) overriding system value values (3, 'r', null, 0, 4000, null, 'Gone', 2, true, '{}');
insert into treadle.sessions (id, name, parent, base, created_at, agent_id, first_prompt, first_prompt_seq, removed, facts) overriding system value values (4, 'rf', 3, 2, 6000, null, 'Gone', 2, false, '{}');
insert into treadle.heads (session, seq, last_appended, epoch, held, updated_at) values (4, 3, 3, 0, false, 6000);
insert into treadle.sessions (id, name, parent, base, created_at, agent_id, first_prompt, first_prompt_seq, removed, facts) overriding system value values (5, 'h', null, 0, 7000, null, null, null, false, '{"title":"A title"}');
insert into treadle.heads (session, seq, last_appended, epoch, held, updated_at) values (5, 3, 2, 1, true, 9000);
insert into treadle.events (session, seq, body) values (1, 1, '{"type":"session_created","at":1000,"eventVersion":1,"sessionId":"s"}');
insert into treadle.events (session, seq, body) values (1, 2, '{"type":"input_received","at":2000,"key":"k","input":{"type":"prompt","messages":[{"content":[{"type":"text","text":"Hello"}]}]}}');
insert into treadle.events (session, seq, body) values (1, 3, '{"type":"task_updated","at":3000,"taskId":"t","status":"running"}');
insert into treadle.events (session, seq, body) values (1, 4, '{"type":"task_updated","at":3500,"taskId":"u","status":"running"}');
insert into treadle.events (session, seq, body) values (2, 4, '{"type":"session_created","at":120000,"eventVersion":1,"sessionId":"f"}');
insert into treadle.events (session, seq, body) values (3, 1, '{"type":"session_created","at":4000,"eventVersion":1,"sessionId":"r"}');
insert into treadle.events (session, seq, body) values (3, 2, '{"type":"input_received","at":5000,"key":"k","input":{"type":"prompt","messages":[{"content":[{"type":"text","text":"Gone"}]}]}}');
insert into treadle.events (session, seq, body) values (4, 3, '{"type":"session_created","at":6000,"eventVersion":1,"sessionId":"rf"}');
insert into treadle.events (session, seq, body) values (5, 1, '{"type":"session_created","at":7000,"eventVersion":1,"sessionId":"h"}');
insert into treadle.events (session, seq, body) values (5, 2, '{"type":"task_updated","at":8000,"taskId":"t","status":"running"}');
insert into treadle.events (session, seq, body) values (5, 3, '{"type":"input_received","at":9000,"key":"n","input":{"type":"rename","title":"A title"}}');
insert into treadle.inputs (session, key, seq) values (1, 'k', 2);
insert into treadle.inputs (session, key, seq) values (5, 'n', 3);
insert into treadle.leases (session, epoch, owner_id, owner_label, pid, process_start, host, expires_at) values (5, 1, 'b', 'the holder', 7, '1', 'elsewhere', 9999999999999);
insert into treadle.snapshots (session, seq, body) values (1, 3, 'three');
select setval(pg_get_serial_sequence('treadle.sessions', 'id'), 5);
