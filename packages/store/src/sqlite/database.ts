import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DatabaseSync } from 'node:sqlite';
import { TreadleError } from '@treadle/core';
import { corrupt, failed } from './errors.ts';
import { loadSqlite } from './load.ts';

/**
 * An event's `id` is its session's row id in the upper bits and its number in the lower 32: so a session's events lie side
 * by side in the one tree of the table, and an append needs no second index. (Measured beside a table without rowids and a
 * primary key of two columns: 1.1 times a bare insert instead of 1.8.) An event's time stands beside its body for `list`.
 *
 * A session's row outlives its removal for as long as a fork reads its events. Its lease is there while it is held.
 */
const FIRST_FORMAT = `
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
`;

/** What a session's log was folded into, for whoever opens it next: see `Snapshots`. Any of it may be deleted. */
const SNAPSHOTS = `
  CREATE TABLE snapshots (
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    body TEXT NOT NULL
  );
  CREATE UNIQUE INDEX snapshots_by_session ON snapshots (session, seq);
`;

/** What `list` shows of a session besides its first prompt, as JSON; null for those of an earlier format. */
const FACTS = 'ALTER TABLE sessions ADD COLUMN facts TEXT';

/** The checksum of an event: see `sumOf`. Null for those of an earlier format. */
const SUMS = 'ALTER TABLE events ADD COLUMN sum INTEGER';

/**
 * When each session wants to be driven, what it is at and what it waits for; no row for one that another session drives.
 * Those of an earlier format are due once where nothing says that they are at rest.
 */
const WAKES = `
  CREATE TABLE wakes (
    session INTEGER PRIMARY KEY,
    due_at INTEGER,
    status TEXT NOT NULL DEFAULT 'idle',
    waits_for TEXT NOT NULL DEFAULT '[]'
  );
  CREATE INDEX wakes_due ON wakes (due_at) WHERE due_at IS NOT NULL;
  INSERT INTO wakes (session, due_at)
    SELECT s.id, CASE WHEN instr(substr(e.body, 1, 64), '"session_created"') OR instr(substr(e.body, 1, 64), '"run_ended"')
      THEN NULL ELSE e.at END
    FROM sessions s JOIN events e ON e.id = (SELECT max(id) FROM events WHERE id < ((s.id + 1) << 32))
    WHERE s.removed = 0 AND NOT EXISTS (
      SELECT 1 FROM events f WHERE f.id = (s.id << 32) + s.base + 1 AND instr(f.body, '"spawnedBy":{'));
`;

/** The steps from each format to the next. Never changed, only added to. */
const STEPS: readonly string[] = [FIRST_FORMAT, SNAPSHOTS, FACTS, SUMS, WAKES];

/** The format this version writes, kept in `PRAGMA user_version`. */
const FORMAT = STEPS.length;

/** Runs all of `work` or nothing of it. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk ends the transaction by itself; otherwise it is ours to end.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

const HEADER = 'SQLite format 3\u0000';
// Where the file's header has them: https://www.sqlite.org/fileformat2.html#the_database_header
const PAGE_SIZE_OFFSET = 16;
const CHANGES_OFFSET = 24;
const PAGES_OFFSET = 28;
const VERSION_OFFSET = 60;
const PAGES_VALID_FOR_OFFSET = 92;
const HEADER_LENGTH = 100;

const tooNew = (path: string, version: number): TreadleError =>
  new TreadleError(
    'journal_too_new',
    `The journal ${path} was written by a newer Treadle (format ${version}; this one knows ${FORMAT}). ` +
      'It was left untouched. Update Treadle, or use another file.',
    { details: { path, version, known: FORMAT } },
  );

/** What opening for writing fails with where reading may be allowed. */
const NO_WRITING: ReadonlySet<unknown> = new Set(['EROFS', 'EACCES', 'EPERM']);

interface OpenFile {
  readonly file: number;
  readonly isReadOnly: boolean;
}

/** The file, made where it isn't there; for reading only where it can't be written. */
function openFile(path: string): OpenFile {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return { file: openSync(path, 'a+', 0o600), isReadOnly: false };
  } catch (error) {
    if (!NO_WRITING.has((error as { readonly code?: unknown }).code) || !existsSync(path)) throw error;
    return { file: openSync(path, 'r'), isReadOnly: true };
  }
}

/** Checks the file's header, so that a foreign, newer or cut file is refused before SQLite writes anything near it. */
function checkHeader(path: string, { file }: OpenFile): void {
  try {
    const header = headerOf(file);
    if (header.length === 0) return;
    if (header.length < VERSION_OFFSET + 4 || header.toString('latin1', 0, HEADER.length) !== HEADER)
      throw corrupt(path, 'it is not an SQLite file');
    const version = header.readInt32BE(VERSION_OFFSET);
    if (version > FORMAT) throw tooNew(path, version);
    // Seen twice: another process may be writing to it and have put its log away in between.
    const lack = lackOf(path, file);
    if (lack !== null && lack === lackOf(path, file)) throw corrupt(path, `its last ${lack} bytes are missing`);
  } finally {
    closeSync(file);
  }
}

function headerOf(file: number): Buffer {
  const header = Buffer.alloc(HEADER_LENGTH);
  return header.subarray(0, readSync(file, header, 0, HEADER_LENGTH, 0));
}

/** How many bytes a file lacks of what its header says; null for none, or when a log beside it may have them. */
function lackOf(path: string, file: number): number | null {
  const isMore = (log: string): boolean => (statSync(`${path}-${log}`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (isMore('wal') || isMore('journal')) return null;
  const header = headerOf(file);
  const { size } = fstatSync(file);
  if (header.length < HEADER_LENGTH) return HEADER_LENGTH - header.length;
  if (header.readUInt32BE(PAGES_VALID_FOR_OFFSET) !== header.readUInt32BE(CHANGES_OFFSET)) return null;
  const pageSize = header.readUInt16BE(PAGE_SIZE_OFFSET);
  const lack = header.readUInt32BE(PAGES_OFFSET) * (pageSize === 1 ? 65_536 : pageSize) - size;
  return lack > 0 ? lack : null;
}

function prepareSchema(db: DatabaseSync, path: string, isReadOnly: boolean): void {
  const versionOf = (): number => Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
  const version = versionOf();
  if (version > FORMAT) throw tooNew(path, version);
  if (version === FORMAT) return;
  if (isReadOnly) {
    const what = version === 0 ? 'is empty' : `is of an older format (${version}; this version reads ${FORMAT})`;
    throw failed(path, `${what}, and can't be written here. Copy it to where it can be`);
  }
  if (version === 0) db.exec('PRAGMA journal_mode = WAL');
  transaction(db, () => {
    // Another process may have been faster.
    const found = versionOf();
    const tables = db.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.['count'];
    if (found === 0 && tables !== 0) throw failed(path, 'is an SQLite file of another program. Use another file');
    for (const step of STEPS.slice(found)) db.exec(step);
    db.exec(`PRAGMA user_version = ${FORMAT}`);
  });
}

/**
 * SQLite needs files beside the database to read it, even when nobody writes. Where they can't be made it can be told that
 * nothing changes, if all of it is in the database: nobody has it open for writing, and nobody died with it open.
 */
function openReadOnly(path: string): DatabaseSync {
  const { DatabaseSync } = loadSqlite();
  if (!existsSync(`${path}-wal`)) {
    const url = pathToFileURL(path);
    url.searchParams.set('immutable', '1');
    return new DatabaseSync(url, { readOnly: true });
  }
  return new DatabaseSync(path, { readOnly: true });
}

/** One try at opening the file, for reading only where it can't be written: throws SQLite's own errors. */
export function openDatabase(path: string): DatabaseSync {
  const { DatabaseSync } = loadSqlite();
  const opened = openFile(path);
  checkHeader(path, opened);
  const { isReadOnly } = opened;
  const db = isReadOnly ? openReadOnly(path) : new DatabaseSync(path);
  try {
    // A lock is never waited for inside SQLite, which would stop the whole process: see `sqliteFile`.
    db.exec('PRAGMA busy_timeout = 0; PRAGMA synchronous = FULL');
    prepareSchema(db, path, isReadOnly);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
