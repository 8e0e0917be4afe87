import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { journalErrors } from '@treadle/core/journal';
import type { AncestorRow } from '../rows.ts';

/** Numbers arrive in SQLite as floating point, which must not get into the arithmetic of event ids. */
const whole = (parameter: string): string => `CAST(${parameter} AS INTEGER)`;

/** The last number of the log of the session whose row id is `id`. */
const lastSeq = (id: string): string =>
  `(SELECT max(events.id) & 0xffffffff FROM events WHERE events.id < ((${id} + 1) << 32))`;

const SOURCES = {
  session: `
    SELECT id, epoch, first_prompt AS firstPrompt, first_prompt_seq AS firstPromptSeq,
      ${lastSeq('sessions.id')} AS seq
    FROM sessions WHERE session_id = :name AND removed = 0`,
  ancestor: 'SELECT parent, removed FROM sessions WHERE id = :id',
  // A session and those it was forked from, with the last number that is read of each.
  line: `
    WITH RECURSIVE line (id, base, parent, last) AS (
      SELECT id, base, parent, ${whole(':last')} FROM sessions WHERE id = :id
      UNION ALL SELECT s.id, s.base, s.parent, min(line.last, line.base) FROM sessions s JOIN line ON s.id = line.parent
    ) SELECT id, base, last FROM line`,
  createSession: `
    INSERT INTO sessions (session_id, parent, base, created_at, agent_id, first_prompt, first_prompt_seq, facts)
    VALUES (:name, :parent, :base, :at, :agentId, :firstPrompt, :firstPromptSeq, :facts) RETURNING id`,
  addEvent: `
    INSERT INTO events (id, at, posted, body, sum)
    VALUES ((${whole(':session')} << 32) + ${whole(':seq')}, :at, :posted, :body, :sum)`,
  // The fence and the write are one statement: whoever holds the lease of this epoch, at this end of the log. Its
  // parameters: expected number, time, body, sum, session, epoch.
  append: `
    INSERT INTO events (id, at, posted, body, sum)
    SELECT (leases.session << 32) + ?1 + 1, ?2, 0, ?3, ?4 FROM leases
    WHERE leases.session = ?5 AND leases.epoch = ?6
      AND (SELECT max(id) FROM events WHERE id < ((leases.session + 1) << 32)) = (leases.session << 32) + ?1`,
  appendedAfter: `
    SELECT 1 FROM events
    WHERE id > (${whole(':session')} << 32) + ${whole(':seq')} AND id < ((${whole(':session')} + 1) << 32) AND posted = 0
    LIMIT 1`,
  input: 'SELECT seq FROM inputs WHERE session = :session AND key = :key',
  addInput: 'INSERT OR IGNORE INTO inputs (session, key, seq) VALUES (:session, :key, :seq)',
  facts: 'SELECT facts FROM sessions WHERE id = :session',
  setFacts: 'UPDATE sessions SET facts = :facts WHERE id = :session',
  setFirstPrompt: `
    UPDATE sessions SET first_prompt = :text, first_prompt_seq = :seq WHERE id = :session AND first_prompt IS NULL`,
  lease: `
    SELECT epoch, owner_id AS id, owner_label AS label, pid, process_start AS start, host,
      expires_at AS expiresAt
    FROM leases WHERE session = :session`,
  raiseEpoch: 'UPDATE sessions SET epoch = epoch + 1 WHERE id = :session RETURNING epoch',
  setLease: `
    INSERT OR REPLACE INTO leases (session, epoch, owner_id, owner_label, pid, process_start, host, expires_at)
    VALUES (:session, :epoch, :ownerId, :ownerLabel, :pid, :start, :host, :expiresAt)`,
  renew: 'UPDATE leases SET expires_at = :expiresAt WHERE session = :session AND epoch = :epoch',
  release: 'DELETE FROM leases WHERE session = :session AND epoch = :epoch',
  dropLease: 'DELETE FROM leases WHERE session = :session',
  addWake: 'INSERT INTO wakes (session) VALUES (:session)',
  // A session that is due stays due since then.
  setDue: `
    UPDATE wakes SET due_at = :at, status = coalesce(:status, status)
    WHERE session = :session AND (due_at IS NULL OR due_at > :at OR :status IS NOT NULL)`,
  setWake: 'UPDATE wakes SET due_at = :dueAt, status = :status, waits_for = :waitsFor WHERE session = :session',
  dropWake: 'DELETE FROM wakes WHERE session = :session',
  due: `
    SELECT s.session_id AS sessionId, w.due_at AS dueAt, s.agent_id AS agentId, l.owner_id AS id, l.pid,
      l.process_start AS start, l.host, l.expires_at AS expiresAt
    FROM wakes w JOIN sessions s ON s.id = w.session LEFT JOIN leases l ON l.session = w.session
    WHERE w.due_at <= :before AND (:agents IS NULL OR s.agent_id IS NULL
      OR s.agent_id IN (SELECT value FROM json_each(:agents)))
    ORDER BY w.due_at`,
  lastSeq: `SELECT ${lastSeq(whole(':session'))} AS seq`,
  events: `
    SELECT id & 0xffffffff AS seq, at, posted, body, sum FROM events
    WHERE id BETWEEN (${whole(':session')} << 32) + ${whole(':from')} AND (${whole(':session')} << 32) + ${whole(':to')}
    ORDER BY id`,
  list: `
    SELECT s.id, s.session_id AS sessionId, s.created_at AS createdAt, s.agent_id AS agentId,
      s.first_prompt AS firstPrompt, s.base, s.facts, p.session_id AS parentId, e.id & 0xffffffff AS seq, e.at AS updatedAt,
      w.status, w.waits_for AS waitsFor
    FROM sessions s
    JOIN events e ON e.id = (SELECT max(id) FROM events WHERE id < ((s.id + 1) << 32))
    LEFT JOIN sessions p ON p.id = s.parent
    LEFT JOIN wakes w ON w.session = s.id
    WHERE s.removed = 0 AND (:agentId IS NULL OR s.agent_id = :agentId)
      AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(s.facts, '$.tags') WHERE json_each.value = :tag))
      AND (:updatedAt IS NULL OR e.at < :updatedAt OR (e.at = :updatedAt AND s.id < :id))
    ORDER BY e.at DESC, s.id DESC LIMIT :limit`,
  saveSnapshot: 'INSERT OR REPLACE INTO snapshots (session, seq, body) VALUES (:session, :seq, :body)',
  snapshot: `
    SELECT seq, body AS text FROM snapshots WHERE session = :session AND seq <= :upTo ORDER BY seq DESC LIMIT 1`,
  snapshotSeqs: 'SELECT seq FROM snapshots WHERE session = :session',
  dropSnapshot: 'DELETE FROM snapshots WHERE session = :session AND seq = :seq',
  dropSnapshotsAfter: 'DELETE FROM snapshots WHERE session = :id AND seq > :seq',
  markRemoved: 'UPDATE sessions SET removed = 1 WHERE id = :id',
  dropInputs: 'DELETE FROM inputs WHERE session = :id',
  lastForked: 'SELECT max(base) AS seq FROM sessions WHERE parent = :id',
  dropEventsAfter: `
    DELETE FROM events WHERE id > (${whole(':id')} << 32) + ${whole(':seq')} AND id < ((${whole(':id')} + 1) << 32)`,
  dropSession: 'DELETE FROM sessions WHERE id = :id',
  dataVersion: 'PRAGMA data_version',
} as const;

/** An open file with its statements, each prepared when it is first used. */
export type Store = {
  readonly db: DatabaseSync;
} & Readonly<Record<keyof typeof SOURCES, StatementSync>>;

export function prepareStore(db: DatabaseSync): Store {
  const store = { db };
  for (const [name, source] of Object.entries(SOURCES)) {
    let statement: StatementSync | undefined;
    Object.defineProperty(store, name, { get: () => (statement ??= db.prepare(source)) });
  }
  return store as Store;
}

/** A session's row, as far as the journal needs it. */
export interface SessionRow {
  readonly id: number;
  readonly epoch: number;
  readonly firstPrompt: string | null;
  readonly firstPromptSeq: number | null;
  /** The last number of its log. */
  readonly seq: number;
}

export const findSession = (store: Store, name: string): SessionRow | undefined =>
  store.session.get({ name }) as SessionRow | undefined;

/** @throws TreadleError `session_not_found`. */
export function sessionOf(store: Store, name: string): SessionRow {
  const row = findSession(store, name);
  if (!row) throw journalErrors.notFound(name);
  return row;
}

/** A session and those it was forked from, the nearest first, up to event `last`. */
export const lineOf = (store: Store, id: number, last: number): readonly AncestorRow<number>[] =>
  store.line.all({ id, last }) as unknown as readonly AncestorRow<number>[];
