-- A journal of the first format, as it was written then. Never changed.
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  removed INTEGER NOT NULL DEFAULT 0,
  parent INTEGER,
  base INTEGER NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  agent_id TEXT,
  first_prompt TEXT,
  first_prompt_seq INTEGER
  );
CREATE UNIQUE INDEX sessions_by_name ON sessions (session_id) WHERE removed = 0;
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  posted INTEGER NOT NULL,
  body TEXT NOT NULL
  );
CREATE TABLE inputs (
  session INTEGER NOT NULL,
  key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (session, key)
  ) WITHOUT ROWID;
CREATE TABLE leases (
  session INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  owner_id TEXT NOT NULL,
  owner_label TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process_start TEXT,
  host TEXT NOT NULL,
  expires_at INTEGER NOT NULL
  );
INSERT INTO sessions (id, session_id, removed, parent, base, epoch, created_at, agent_id, first_prompt, first_prompt_seq) VALUES (1, 's', 0, NULL, 0, 1, 1000, NULL, 'Hello', 2);
INSERT INTO events (id, at, posted, body) VALUES (4294967297, 1000, 0, '{"type":"session_created","at":1000,"eventVersion":1,"sessionId":"s"}');
INSERT INTO events (id, at, posted, body) VALUES (4294967298, 2000, 1, '{"type":"input_received","at":2000,"key":"k","input":{"type":"prompt","messages":[{"content":[{"type":"text","text":"Hello"}]}]}}');
INSERT INTO events (id, at, posted, body) VALUES (4294967299, 3000, 0, '{"type":"task_updated","at":3000,"taskId":"t","status":"running"}');
INSERT INTO inputs (session, key, seq) VALUES (1, 'k', 2);
PRAGMA user_version = 1;
