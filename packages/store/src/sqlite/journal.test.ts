import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, DurableEvent, Journal } from '@treadle/core';
import { journalContract, testClock } from '@treadle/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { type ProcessIdentity, type ProcessTable, type SqliteJournalOptions, sqliteJournal } from '../index.ts';
import { loadSqlite } from './load.ts';

const { DatabaseSync } = loadSqlite();
const folders: string[] = [];
const journals: Journal[] = [];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-store-'));
  folders.push(folder);
  return folder;
}

function open(path: string, options: Partial<SqliteJournalOptions> = {}): Journal {
  const journal = sqliteJournal({ path, ...options });
  journals.push(journal);
  return journal;
}

afterEach(async () => {
  await Promise.all(journals.splice(0).map((journal) => journal.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const created = (sessionId: string) => ({ type: 'session_created', at: 1, eventVersion: 1, sessionId }) as const;
const noted = (taskId: string) => ({ type: 'task_updated', at: 2, taskId, status: 'running' }) as const;
const note = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;

async function seqs(journal: Journal, sessionId: string): Promise<number[]> {
  const all: number[] = [];
  for await (const event of journal.read(sessionId, 1)) all.push(event.seq);
  return all;
}

describe('sqliteJournal keeps the contract of journals', () => {
  const make = () => {
    const folder = mkdtempSync(join(tmpdir(), 'treadle-store-'));
    const path = join(folder, 'journal.db');
    return {
      journal: sqliteJournal({ path, pollMs: 10 }),
      open: async () => sqliteJournal({ path, pollMs: 10 }),
      dispose: async () => rmSync(folder, { recursive: true, force: true }),
    };
  };
  for (const { name, run } of journalContract(make, { shared: true, runs: 5 })) it(name, run);
});

describe('the file', () => {
  it('is made when first needed, in folders for the owner alone, and kept when opened again', async () => {
    const folder = newFolder();
    const path = join(folder, 'a', 'b', 'journal.db');
    const first = open(path);
    expect(() => statSync(join(folder, 'a'))).toThrow();
    await first.create('s', created('s'));
    await first.post('s', note('kept'), 'k', 5);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'a', 'b')).mode & 0o777).toBe(0o700);
    await first.close();
    expect(await seqs(open(path), 's')).toEqual([1, 2]);
  });

  it('is synced at every commit, never waits for a lock inside SQLite, and writes ahead', async () => {
    const path = join(newFolder(), 'journal.db');
    const journal = open(path);
    await journal.list();
    const { openDatabase } = await import('./database.ts');
    const db = openDatabase(path);
    expect(db.prepare('PRAGMA busy_timeout').get()).toEqual({ timeout: 0 });
    expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
    expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    db.close();
  });

  it('S10: of the first format is brought up to date, with all that is in it', async () => {
    const path = join(newFolder(), 'journal.db');
    const old = new DatabaseSync(path);
    old.exec(readFileSync(join(import.meta.dirname, '..', 'test-support', 'corpus', 'sqlite-format-1.sql'), 'utf8'));
    old.close();
    const journal = open(path);
    const events: DurableEvent[] = [];
    for await (const event of journal.read('s', 1)) events.push(event);
    expect(events.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'session_created'],
      [2, 'input_received'],
      [3, 'task_updated'],
    ]);
    const claim = await journal.claim('s', { id: 'a', label: 'a' });
    expect(claim.epoch).toBe(2);
    expect(await journal.post('s', note('Hello'), 'k', 9)).toEqual({ seq: 2, duplicate: true });
    await journal.snapshots?.save('s', { seq: 3, text: 'three' });
    await journal.close();
    expect(await open(path).snapshots?.load('s', 9)).toEqual({ seq: 3, text: 'three' });
  });

  it('S10: of a newer version is refused and left untouched', async () => {
    const path = join(newFolder(), 'journal.db');
    const newer = new DatabaseSync(path);
    newer.exec('CREATE TABLE future (x); PRAGMA user_version = 7');
    newer.close();
    const before = readFileSync(path);
    const journal = open(path);
    await expect(journal.list()).rejects.toMatchObject({ code: 'journal_too_new', details: { version: 7 } });
    await expect(journal.create('s', created('s'))).rejects.toMatchObject({ code: 'journal_too_new' });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('S10: of a newer version whose mark is still in the write-ahead log is refused too', async () => {
    const path = join(newFolder(), 'journal.db');
    await open(path).list();
    const newer = new DatabaseSync(path);
    newer.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 8');
    await expect(open(path).list()).rejects.toMatchObject({ code: 'journal_too_new' });
    newer.close();
  });

  it('S10: of an older version gets what it lacks, and keeps what it has', async () => {
    const path = join(newFolder(), 'journal.db');
    const before = open(path);
    await before.create('s', created('s'));
    await before.create('asked', created('asked'));
    await before.post('asked', note('p'), 'k', 3);
    await before.close();
    const older = new DatabaseSync(path);
    older.exec('ALTER TABLE sessions DROP COLUMN facts; ALTER TABLE events DROP COLUMN sum; DROP TABLE wakes');
    older.exec('PRAGMA user_version = 2');
    older.close();
    const journal = open(path);
    expect(await journal.due({ before: 5 })).toEqual([{ sessionId: 'asked', dueAt: 3 }]);
    await journal.remove('asked');
    expect((await journal.list()).sessions).toMatchObject([{ sessionId: 's' }]);
    await journal.post('s', { type: 'tag', add: ['kept'] }, 'k', 2);
    expect((await journal.list({ tag: 'kept' })).sessions).toMatchObject([{ sessionId: 's', seq: 2 }]);
  });

  it('of another program is refused', async () => {
    const path = join(newFolder(), 'journal.db');
    const foreign = new DatabaseSync(path);
    foreign.exec('CREATE TABLE theirs (x)');
    foreign.close();
    await expect(open(path).list()).rejects.toMatchObject({
      code: 'journal_failed',
      message: expect.stringContaining('another program') as string,
    });
  });

  it.each(['not a database at all, but long enough to hold a header of one hundred bytes in all its length', 'x'])(
    'that is no SQLite file is refused and left untouched',
    async (text) => {
      const path = join(newFolder(), 'journal.db');
      writeFileSync(path, text);
      await expect(open(path).list()).rejects.toMatchObject({ code: 'journal_corrupt' });
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );

  it('with damaged pages, lost events or broken JSON is reported as corrupt', async () => {
    const path = join(newFolder(), 'journal.db');
    const journal = open(path);
    for (const name of ['gap', 'text', 'pages']) {
      await journal.create(name, created(name));
      for (let index = 0; index < 200; index++) await journal.post(name, note('x'.repeat(2000)), `${index}`, 1);
    }
    await journal.close();
    const db = new DatabaseSync(path);
    db.exec(`DELETE FROM events WHERE id = (SELECT (id << 32) + 5 FROM sessions WHERE session_id = 'gap')`);
    db.exec(
      `UPDATE events SET body = '{"type' WHERE id = (SELECT (id << 32) + 5 FROM sessions WHERE session_id = 'text')`,
    );
    db.close();
    const again = open(path);
    await expect(seqs(again, 'gap')).rejects.toMatchObject({ code: 'journal_corrupt' });
    await expect(seqs(again, 'text')).rejects.toMatchObject({
      code: 'journal_corrupt',
      message: expect.stringContaining('event 5 of session text') as string,
    });
    await again.close();
    truncateSync(path, Math.floor(statSync(path).size / 8192) * 4096);
    await expect(seqs(open(path), 'pages')).rejects.toMatchObject({ code: 'journal_corrupt' });
  });

  it('that can not be opened is journal_failed, and works once it can', async () => {
    const folder = newFolder();
    const path = join(folder, 'journal.db');
    writeFileSync(join(folder, 'file'), '');
    await expect(open(join(folder, 'file', 'journal.db')).list()).rejects.toMatchObject({ code: 'journal_failed' });
    writeFileSync(path, 'x');
    const journal = open(path);
    await expect(journal.list()).rejects.toMatchObject({ code: 'journal_corrupt' });
    rmSync(path);
    expect(await journal.list()).toEqual({ sessions: [] });
  });

  it('must be a file', () => {
    for (const path of ['', ':memory:'])
      expect(() => sqliteJournal({ path })).toThrow(expect.objectContaining({ code: 'invalid_definition' }) as Error);
  });
});

describe('a lock that another process holds', () => {
  it('is waited for without stopping this process', async () => {
    const path = join(newFolder(), 'journal.db');
    const clock = testClock();
    const journal = open(path, { clock });
    await journal.create('s', created('s'));
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    let posted = false;
    const posting = journal.post('s', note('p'), 'k', 1).then(() => {
      posted = true;
    });
    await clock.advance(5000);
    expect(posted).toBe(false);
    other.exec('COMMIT');
    await clock.advance(100);
    await posting;
    other.close();
    expect(await seqs(journal, 's')).toEqual([1, 2]);
  });

  it('ends in journal_failed when it lasts, with nothing written', async () => {
    const path = join(newFolder(), 'journal.db');
    const clock = testClock();
    const journal = open(path, { clock, lockTimeoutMs: 1000 });
    await journal.create('s', created('s'));
    const claim = await journal.claim('s', { id: 'o', label: 'o' });
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const outcomes = Promise.allSettled([
      journal.post('s', note('p'), 'k', 1),
      journal.append('s', claim.epoch, 1, [noted('a')]),
      journal.append('s', claim.epoch, 1, [noted('a'), noted('b')]),
    ]);
    await clock.advance(1200);
    other.exec('ROLLBACK');
    other.close();
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'journal_failed' } });
    expect(await seqs(journal, 's')).toEqual([1]);
    expect((await journal.append('s', claim.epoch, 1, [noted('a'), noted('b')])).ok).toBe(true);
  });
});

describe('leases', () => {
  const owner = (id: string) => ({ id, label: `drive ${id}` });

  /** Processes that a test lets live and die. */
  function processTable(self: ProcessIdentity, gone: Set<number>): ProcessTable {
    return { self: () => self, isGone: (process) => process.host === self.host && gone.has(process.pid) };
  }

  /** A process that hangs: time passes, and none of its timers fires. */
  const hung = (clock: Clock): Clock => ({ now: () => clock.now(), after: () => () => {} });

  it('last as long as their process is at work', async () => {
    const path = join(newFolder(), 'journal.db');
    const clock = testClock();
    const [a, b] = [open(path, { clock }), open(path, { clock })];
    await a.create('s', created('s'));
    const old = await a.claim('s', owner('a'));
    await clock.advance(100_000);
    await expect(b.claim('s', owner('b'))).rejects.toMatchObject({ code: 'session_busy' });
    expect(await old.renew()).toBe(true);
    expect((await a.append('s', old.epoch, 1, [noted('n')])).ok).toBe(true);
  });

  it('lapse when their process hangs, and from then on it writes nothing, whether somebody came or not', async () => {
    const path = join(newFolder(), 'journal.db');
    const clock = testClock();
    const [a, b] = [open(path, { clock: hung(clock) }), open(path, { clock })];
    for (const name of ['s', 't']) await a.create(name, created(name));
    const old = await a.claim('s', owner('a'));
    const alone = await a.claim('t', owner('a'));
    expect(old.leaseMs).toBe(10_000);
    await clock.advance(9999);
    await expect(b.claim('s', owner('b'))).rejects.toMatchObject({ code: 'session_busy' });
    expect((await a.append('s', old.epoch, 1, [noted('in time')])).ok).toBe(true);
    await clock.advance(1);
    expect(await b.due({ before: clock.now() })).toMatchObject([{ sessionId: 's' }, { sessionId: 't' }]);
    const now = await b.claim('s', owner('b'));
    expect(now.epoch).toBeGreaterThan(old.epoch);
    for (const claim of [old, alone]) {
      expect(await claim.renew()).toBe(false);
      const late = a.append(claim.sessionId, claim.epoch, claim === old ? 2 : 1, [noted('late')]);
      await expect(late).rejects.toMatchObject({ code: 'fenced' });
      await claim.release();
    }
    expect(await now.renew()).toBe(true);
    // It may come back under a new claim.
    const again = await a.claim('t', owner('c'));
    expect((await a.append('t', again.epoch, 1, [noted('n')])).ok).toBe(true);
  });

  it('of a dead process on this machine are void at once; of one elsewhere only when they lapse', async () => {
    const path = join(newFolder(), 'journal.db');
    const clock = testClock();
    const gone = new Set<number>();
    const here = open(path, {
      clock: hung(clock),
      processes: processTable({ pid: 1, start: 'x', host: 'here' }, gone),
    });
    const beside = open(path, { clock, processes: processTable({ pid: 2, start: 'y', host: 'here' }, gone) });
    const away = open(path, { clock, processes: processTable({ pid: 1, start: 'x', host: 'away' }, gone) });
    await here.create('s', created('s'));
    await here.claim('s', owner('a'));
    for (const other of [beside, away])
      await expect(other.claim('s', owner('b'))).rejects.toMatchObject({
        code: 'session_busy',
        message: expect.stringContaining('drive a') as string,
      });
    gone.add(1);
    await expect(away.claim('s', owner('b'))).rejects.toMatchObject({ code: 'session_busy' });
    expect(await beside.due({ before: clock.now() })).toMatchObject([{ sessionId: 's' }]);
    const taken = await beside.claim('s', owner('b'));
    expect(taken.epoch).toBe(2);
    await taken.release();
    await here.claim('s', owner('a'));
    await clock.advance(10_000);
    expect((await away.claim('s', owner('c'))).epoch).toBe(4);
  });

  it('that closing releases can be taken at once', async () => {
    const path = join(newFolder(), 'journal.db');
    const [a, b] = [open(path), open(path)];
    await a.create('s', created('s'));
    const claim = await a.claim('s', owner('a'));
    await a.close();
    await b.claim('s', owner('b'));
    await claim.release();
  });
});

describe('forks', () => {
  it('copy nothing, and what nobody reads any more is deleted', async () => {
    const path = join(newFolder(), 'journal.db');
    const journal = open(path);
    await journal.create('s', created('s'));
    for (let index = 0; index < 20; index++) await journal.post('s', note('p'), `${index}`, 1);
    const fork = (id: string, from: string, seq: number) => journal.create(id, created(id), { sessionId: from, seq });
    await fork('f', 's', 10);
    await fork('g', 'f', 11);
    await fork('h', 'g', 4);
    const db = new DatabaseSync(path);
    const count = (table: string) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'];
    expect(count('events')).toBe(21 + 3);
    await journal.remove('s');
    expect(count('events')).toBe(10 + 3);
    await journal.remove('f');
    await journal.remove('g');
    expect(await seqs(journal, 'h')).toEqual([1, 2, 3, 4, 5]);
    await journal.remove('h');
    for (const table of ['events', 'sessions', 'inputs', 'leases']) expect(count(table)).toBe(0);
    db.close();
  });
});
