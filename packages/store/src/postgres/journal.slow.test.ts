// @module-tag slow

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock, type Clock, type Journal } from '@treadle/core';
import { journalContract, logOf } from '@treadle/testing';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { postgresJournal, type PostgresJournalOptions } from '../postgres.ts';
import { startPostgres, type PostgresServer } from '../test-support/postgres.ts';

let server: PostgresServer;
let contractUrl = '';
const journals: Journal[] = [];
const clients: postgres.Sql[] = [];

beforeAll(async () => {
  server = await startPostgres();
  contractUrl = await server.database();
}, 120_000);
afterAll(() => server.stop());
afterEach(async () => {
  await Promise.all(journals.splice(0).map((journal) => journal.close()));
  await Promise.all(clients.splice(0).map((client) => client.end()));
});

function open(connection: string | postgres.Sql, options: Partial<PostgresJournalOptions> = {}): Journal {
  const journal = postgresJournal({ connection, maxConnections: 3, ...options });
  journals.push(journal);
  return journal;
}

function client(url: string): postgres.Sql {
  const sql = postgres(url, { onnotice: () => {} });
  clients.push(sql);
  return sql;
}

const created = (sessionId: string) => ({ type: 'session_created', at: 1, eventVersion: 1, sessionId }) as const;
const noted = (taskId: string) => ({ type: 'task_updated', at: 2, taskId, status: 'running' }) as const;
const note = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;

describe('postgresJournal keeps the contract of journals', () => {
  let schemas = 0;
  const make = () => {
    const schema = `case_${(schemas += 1)}`;
    const options = { connection: contractUrl, maxConnections: 3, schema };
    return {
      journal: postgresJournal(options),
      open: async () => postgresJournal(options),
    };
  };
  for (const { name, run } of journalContract(make, { shared: true, runs: 5 })) it(name, run);
});

describe('the database', () => {
  it('gets its tables once, however many journals open it at the same time', { tags: ['share'] }, async () => {
    const url = await server.database();
    const all = Array.from({ length: 5 }, () => open(url));
    await Promise.all(all.map((journal, index) => journal.create(`s${index}`, created(`s${index}`))));
    const { sessions } = await open(url).list();
    expect(sessions).toHaveLength(5);
  });

  it.each([14, 18])('S10: of version %d is brought up to date, with all that is in it', async (version) => {
    const url = await server.database();
    const old = readFileSync(
      join(import.meta.dirname, '..', 'test-support', 'corpus', `postgres-version-${version}.sql`),
      'utf8',
    );
    await client(url).unsafe(old);
    const journal = open(url);
    const typesOf = async (name: string): Promise<string[]> => (await logOf(journal, name)).map(({ type }) => type);
    expect(await typesOf('s')).toEqual(['session_created', 'input_received', 'task_updated', 'task_updated']);
    expect(await typesOf('f')).toEqual(['session_created', 'input_received', 'task_updated', 'session_created']);
    expect(await typesOf('rf')).toEqual(['session_created', 'input_received', 'session_created']);
    const { sessions } = await journal.list();
    expect(sessions.map(({ sessionId, seq, updatedAt }) => [sessionId, seq, updatedAt])).toEqual([
      ['f', 4, 120_000],
      ['h', 3, 9000],
      ['rf', 3, 6000],
      ['s', 4, 3500],
    ]);
    expect(sessions[1]).toMatchObject({ title: 'A title' });
    expect(await journal.snapshots?.load('s', 9)).toEqual({ seq: 3, text: 'three' });
    expect(await journal.post('s', note('Hello'), 'k', 9)).toEqual({ seq: 2, duplicate: true });
    const claim = await journal.claim('s', { id: 'c', label: 'c' });
    expect(claim).toMatchObject({ epoch: 2, seq: 4 });
    expect(await journal.append('s', 2, 4, [noted('v')])).toMatchObject({ ok: true });
    // Somebody held it when it was brought up to date, and still does.
    await expect(journal.claim('h', { id: 'c', label: 'c' })).rejects.toMatchObject({ code: 'session_busy' });
    expect(await journal.append('h', 1, 2, [noted('v')])).toEqual({ ok: false, seq: 3 });
    expect(await journal.append('h', 1, 3, [noted('v')])).toMatchObject({ ok: true });
    await expect(journal.claim('r', { id: 'c', label: 'c' })).rejects.toMatchObject({ code: 'session_not_found' });
    await journal.create('r', created('r'));
    expect(await typesOf('r')).toEqual(['session_created']);
  });

  it('S10: that a newer Treadle has written is refused, untouched', async () => {
    const url = await server.database();
    const journal = open(url);
    await journal.create('s', created('s'));
    await journal.close();
    const sql = client(url);
    await sql`update treadle.schema_version set version = 999`;
    await expect(open(url).list()).rejects.toMatchObject({ code: 'journal_too_new' });
    expect(await sql`select version from treadle.schema_version`).toEqual([{ version: 999 }]);
    expect(await sql`select name from treadle.sessions`).toEqual([{ name: 's' }]);
  });

  it('S3: whose last events are gone says so, and gives those before them', { tags: ['share'] }, async () => {
    const url = await server.database();
    const writer = open(url);
    await writer.create('s', created('s'));
    for (let index = 2; index <= 6; index += 1) await writer.post('s', note(`note ${index}`), `k${index}`, 2);
    await writer.close();
    const sql = client(url);
    for (let length = 5; length >= 3; length -= 1) {
      await sql`delete from treadle.events where seq > ${length}`;
      const journal = open(url);
      const read: number[] = [];
      const reading = (async () => {
        for await (const { seq } of journal.read('s', 1)) read.push(seq);
      })();
      await expect(reading).rejects.toMatchObject({
        code: 'journal_corrupt',
        message: expect.stringContaining(`events are missing from ${length + 1} on`) as string,
      });
      expect(read).toEqual(Array.from({ length }, (_, index) => index + 1));
    }
    expect(await sql`select seq from treadle.events order by seq`).toHaveLength(3);
  });

  it('may be reached by a client of your own, which stays open', async () => {
    const sql = client(await server.database());
    const journal = open(sql);
    await journal.create('s', created('s'));
    await journal.close();
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  });

  it('keeps its transactions off connections that have all the statements they take', { tags: ['share'] }, async () => {
    const url = await server.database();
    const own = postgres(url, { max: 2, fetch_types: false, onnotice: () => {} });
    clients.push(own);
    const journal = open(own);
    await own`create table writes (n int)`;
    let written = 0;
    // The client sends 100 statements ahead on a connection: one of these claims begins where the next would be too many.
    for (let ahead = 196; ahead < 208; ahead += 1) {
      const sessionId = `s${ahead}`;
      await journal.create(sessionId, created(sessionId));
      const write = () => own.unsafe(`insert into writes values (${(written += 1)})`).then(() => {});
      const before = Array.from({ length: ahead }, write);
      const claiming = journal.claim(sessionId, { id: 'p', label: 'P' });
      await Promise.all([...before, ...Array.from({ length: 110 }, write)]);
      await (await claiming).release();
    }
    const rows = await client(url)`select n from writes`;
    expect(rows).toHaveLength(written);
  });

  it('keeps what was written byte for byte, also what jsonb would not', { tags: ['share'] }, async () => {
    const journal = open(await server.database());
    await journal.create('s', created('s'));
    const text = 'a\u0000b \ud83d\ude00 \u2028 1.0 {"z":1,"a":2}';
    await journal.post('s', note(text), 'k', 2);
    const events: unknown[] = [];
    for await (const event of journal.read('s', 2)) events.push(event);
    expect(events).toEqual([{ type: 'input_received', at: 2, key: 'k', input: note(text), seq: 2 }]);
  });

  it('that is not there is an error with a code and no password, and is tried again by the next call', async () => {
    const journal = open('postgres://postgres:s3cret@127.0.0.1:1/none');
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const failure: unknown = await journal.list().catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'journal_failed' });
      expect(String(failure)).not.toContain('s3cret');
    }
  });

  it('refuses a schema that is no plain name', () => {
    expect(() => postgresJournal({ connection: 'postgres://x', schema: 'a"; drop' })).toThrow('no name for a schema');
  });
});

describe('another process', () => {
  it('is told of what is written, and after a lost connection of what it missed', async () => {
    const url = await server.database();
    const writer = open(url);
    await writer.create('s', created('s'));
    const reader = open(url);
    const heard: number[] = [];
    let wake = (): void => {};
    const until = async (seq: number): Promise<void> => {
      while (!heard.includes(seq)) await new Promise<void>((resolve) => (wake = resolve));
    };
    await reader.list();
    reader.watch('s', (seq) => {
      heard.push(seq);
      wake();
    });
    await writer.post('s', note('one'), 'k1', 2);
    await until(2);
    // Every connection but this one dies, as when the server restarts.
    const sql = client(url);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    await sql`update treadle.heads set settled = settled`;
    await client(url)`select 1`;
    const again = open(url);
    await again.post('s', note('two'), 'k2', 3);
    await until(3);
    expect(heard).toContain(3);
  });

  it('is told of many appends by fewer notices, and of the last one always', async () => {
    const url = await server.database();
    const [writer, reader] = [open(url), open(url)];
    await writer.create('s', created('s'));
    await reader.list();
    const told = new Promise<void>((resolve) => {
      reader.watch('s', (seq) => {
        if (seq === 51) resolve();
      });
    });
    const claim = await writer.claim('s', { id: 'a', label: 'a' });
    for (let seq = 1; seq <= 50; seq += 1) await writer.append('s', claim.epoch, seq, [noted(`${seq}`)]);
    await told;
    const ended = new Promise<void>((resolve) => {
      reader.watch('s', (seq) => {
        if (seq === 53) resolve();
      });
    });
    const paused = { type: 'run_paused', at: 3, runId: 'r', turnIndex: 0, reason: 'approval', pending: [] } as const;
    await writer.append('s', claim.epoch, 51, [noted('one more'), paused]);
    await ended;
  });

  // Nobody can tell whether the other process lives: it is on another machine.
  const elsewhere = { self: () => ({ pid: 1, start: null, host: 'elsewhere' }), isGone: () => false };
  const later = (): Promise<unknown> => new Promise((resolve) => void setTimeout(resolve, 20));

  async function untilDue(journal: Journal, sessionId: string): Promise<void> {
    while ((await journal.due({ before: Date.now() })).every((row) => row.sessionId !== sessionId)) await later();
  }

  it('takes a session over from one that hangs, which then writes nothing, and comes back as another', async () => {
    const url = await server.database();
    let isStopped = false;
    // Timers that come late, as after a stop of the whole process.
    const clock: Clock = {
      now: () => Date.now(),
      after: (ms, fn) => systemClock.after(ms, () => isStopped || fn(), { background: true }),
    };
    const first = open(url, { clock, leaseMs: 500, processes: elsewhere });
    const second = open(url, { leaseMs: 500 });
    for (const name of ['s', 't']) await first.create(name, created(name));
    const claim = await first.claim('s', { id: 'a', label: 'first' });
    const alone = await first.claim('t', { id: 'b', label: 'first' });
    await expect(second.claim('s', { id: 'b', label: 'second' })).rejects.toMatchObject({ code: 'session_busy' });
    isStopped = true;
    await untilDue(second, 's');
    const taken = await second.claim('s', { id: 'b', label: 'second' });
    expect(taken.epoch).toBe(claim.epoch + 1);
    for (const lost of [claim, alone]) {
      await expect(first.append(lost.sessionId, lost.epoch, 1, [noted('t')])).rejects.toMatchObject({ code: 'fenced' });
      expect(await lost.renew()).toBe(false);
    }
    expect((await second.append('s', taken.epoch, 1, [noted('t')])).ok).toBe(true);
    isStopped = false;
    const again = await first.claim('t', { id: 'c', label: 'first' });
    expect((await first.append('t', again.epoch, 1, [noted('t')])).ok).toBe(true);
  });

  it('takes over at once from one whose connection is gone, and gives up one that was given up once', async () => {
    const url = await server.database();
    const [lives, dies] = [open(url, { processes: elsewhere }), open(url, { processes: elsewhere })];
    const survivor = open(url, { leaseMs: 1000 });
    for (const name of ['s', 't']) await lives.create(name, created(name));
    const [kept] = [
      await lives.claim('s', { id: 'a', label: 'lives' }),
      await dies.claim('t', { id: 'b', label: 'dies' }),
    ];
    const sql = client(url);
    const cut = async (): Promise<void> => {
      await sql`select pg_terminate_backend(backend) from treadle.members`;
    };
    // The server has been up for longer than a lease, so that a lost connection means something.
    const [{ up }] = await sql<[{ up: number }]>`
      select extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float as up`;
    if (up < 1.1) await new Promise((resolve) => void setTimeout(resolve, 1100 - up * 1000));
    // Both lose it, and get another at once: nobody is dead.
    await cut();
    const seen = await sql`select backend from treadle.members`;
    const until = Date.now() + 800;
    while (Date.now() < until) expect(await survivor.due({ before: Date.now() })).toEqual([]);
    expect(seen).toHaveLength(2);
    expect((await lives.append('s', kept.epoch, 1, [noted('n')])).ok).toBe(true);
    // One of them doesn't come back.
    await sql`update treadle.members set backend = 1 where id = (select member from treadle.leases where owner_label = 'dies')`;
    const since = Date.now();
    await untilDue(survivor, 't');
    expect(Date.now() - since).toBeLessThan(3000);
    await survivor.claim('t', { id: 'c', label: 'survivor' });
    const [{ lost }] = await sql<[{ lost: boolean }]>`select lost from treadle.members where backend = 1`;
    expect(lost).toBe(true);
    expect(await survivor.due({ before: Date.now() })).toEqual([]);
  });

  it('gives nobody up after a crash of the server, also when it began to look only then', async () => {
    const url = await server.database();
    let slower = 1;
    // A process that takes its time to come back.
    const clock: Clock = { now: () => Date.now(), after: (ms, ...more) => systemClock.after(ms * slower, ...more) };
    const lives = open(url, { processes: elsewhere, clock });
    await lives.create('s', created('s'));
    const claim = await lives.claim('s', { id: 'a', label: 'lives' });
    const sql = client(url);
    const [row] = await sql<[{ up: number; pid: number }]>`
      select extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float as up, pg_backend_pid() as pid`;
    // Not the start of the server is to keep it, but the end of the crash.
    const leaseMs = 4000;
    if (row.up * 1000 < leaseMs) await new Promise((resolve) => void setTimeout(resolve, leaseMs - row.up * 1000));
    slower = 20;
    process.kill(row.pid, 'SIGKILL');
    const fresh = open(url, { leaseMs });
    /** Milliseconds since the server is there again; null while it isn't. */
    const back = async (): Promise<number | null> => {
      const rows = await sql<{ ms: number }[]>`
        select extract(epoch from clock_timestamp() - stats_reset)::float * 1000 as ms from pg_stat_bgwriter`.catch(
        () => [],
      );
      return rows[0]?.ms ?? null;
    };
    for (let looks = 0; looks < 20;) {
      const due = await fresh.due({ before: Date.now() }).catch(() => null);
      const ms = await back();
      if (due === null || ms === null) {
        await later();
        continue;
      }
      // What a busy machine has looked at too late says nothing.
      if (ms >= leaseMs) break;
      expect(due).toEqual([]);
      looks += 1;
      await later();
    }
    slower = 1;
    expect((await lives.append('s', claim.epoch, 1, [noted('n')])).ok).toBe(true);
  });

  it('finds what is free among very many that are held, and asks for no more than is wanted', async () => {
    const url = await server.database();
    const [busy, other] = [open(url, { processes: elsewhere }), open(url)];
    for (let count = 0; count < 60; count += 1) {
      await busy.create(`held-${count}`, created(`held-${count}`));
      await busy.claim(`held-${count}`, { id: `a${count}`, label: 'busy' });
    }
    const at = Date.now();
    for (let count = 0; count < 5; count += 1) {
      await other.create(`free-${count}`, created(`free-${count}`));
      const claim = await other.claim(`free-${count}`, { id: 'b', label: 'other' });
      await claim.release({ seen: 1, wakeAt: at + count, status: 'idle', waitsFor: [] });
    }
    const due = await other.due({ before: at + 10, limit: 3 });
    expect(due.map(({ sessionId }) => sessionId)).toEqual(['free-0', 'free-1', 'free-2']);
  });

  it('forgets the processes that left, and those that were not heard of for a day', async () => {
    const url = await server.database();
    const first = postgresJournal({ connection: url });
    await first.create('s', created('s'));
    await first.claim('s', { id: 'a', label: 'a' });
    await first.close();
    const sql = client(url);
    expect(await sql`select from treadle.members`).toHaveLength(0);
    await sql`insert into treadle.members (id, pid, host, expires_at, pooled, backend)
      values ('dead', 1, 'h', clock_timestamp() - interval '25 hours', false, 1),
        ('hangs', 1, 'h', clock_timestamp() - interval '1 hour', false, 1)`;
    await open(url).claim('s', { id: 'b', label: 'b' });
    const rows = await sql<{ id: string }[]>`select id from treadle.members order by id`;
    expect(rows.map(({ id }) => id)).toContain('hangs');
    expect(rows).toHaveLength(2);
  });

  it('is told once that a session was removed, also when nothing was written before', async () => {
    const url = await server.database();
    const [here, there] = [open(url), open(url)];
    await here.create('s', created('s'));
    await there.list();
    const heard: [string, number][] = [];
    here.watch('s', (seq) => heard.push(['here', seq]));
    const told = new Promise<void>((resolve) => {
      there.watch('s', (seq) => {
        heard.push(['there', seq]);
        resolve();
      });
    });
    await here.remove('s');
    await told;
    // A write to another session is notified after the removal was.
    await here.create('t', created('t'));
    await new Promise<void>((resolve) => {
      there.watch('t', () => resolve());
      void here.post('t', note('two'), 'k', 3);
    });
    expect(heard.map(([who, seq]) => `${who} ${seq}`).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'here 1',
      'there 1',
    ]);
  });

  it('that posts the same key at the same moment writes it once', async () => {
    const url = await server.database();
    const both = [open(url), open(url)];
    await both[0]?.create('s', created('s'));
    for (let round = 0; round < 20; round += 1) {
      const outcomes = await Promise.all(both.map((journal) => journal.post('s', note('x'), `k${round}`, 2)));
      expect(new Set(outcomes.map(({ seq }) => seq)).size).toBe(1);
      expect(outcomes.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    }
  });
});
