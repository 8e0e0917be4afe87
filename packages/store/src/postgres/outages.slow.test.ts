// @module-tag slow

import { createSession, defineAgent, defineTool, openSession, type Journal } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { crashMatrix, everythingScenario, logOf, scriptedModel } from '@treadle/testing';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { postgresJournal } from '../postgres.ts';
import { systemProcesses } from '../processes.ts';
import { newStore, openStore, programOf } from '../test-support/stores.ts';
import { startPostgres, type PostgresServer } from '../test-support/postgres.ts';
import { startProxy, type Proxy } from '../test-support/proxy.ts';

let server: PostgresServer;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop());
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function open(connection: string, outageMs?: number): Journal {
  const journal = postgresJournal({
    connection,
    maxConnections: 2,
    ...(outageMs === undefined ? {} : { outageMs }),
  });
  closing.push(() => journal.close());
  return journal;
}

async function proxyTo(url: string): Promise<Proxy> {
  const proxy = await startProxy(url);
  closing.push(() => proxy.stop());
  return proxy;
}

const created = { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' } as const;
const noted = (taskId: string): DurableEventBody => ({ type: 'task_updated', at: 2, taskId, status: 'running' });
const note = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;

async function labels(journal: Journal): Promise<string[]> {
  return (await logOf(journal, 's')).map((event) =>
    event.type === 'task_updated' ? event.taskId : event.type === 'input_received' ? event.key : event.type,
  );
}

describe('a connection that breaks', () => {
  it('S2: amid an append, at any byte of it or of its answer, leaves what was appended there once', async () => {
    const url = await server.database();
    const proxy = await proxyTo(url);
    const journal = open(proxy.url);
    await journal.create('s', created);
    const claim = await journal.claim('s', { id: 'a', label: 'a' });
    const wanted = ['session_created'];
    for (const [direction, most] of [
      ['to the server', 600],
      ['from the server', 30],
    ] as const) {
      for (let bytes = 1; bytes < most; bytes += most / 10) {
        const events = [noted(`${direction} ${bytes} a`), noted(`${direction} ${bytes} b`)];
        proxy.cutAfter(direction, bytes);
        const outcome = await journal.append('s', claim.epoch, wanted.length, events);
        expect(outcome).toMatchObject({ ok: true, events: [{ seq: wanted.length + 1 }, { seq: wanted.length + 2 }] });
        wanted.push(`${direction} ${bytes} a`, `${direction} ${bytes} b`);
      }
    }
    expect(proxy.cuts).toBeGreaterThan(10);
    expect(await labels(open(url))).toEqual(wanted);
  }, 60_000);

  it('S2: amid a post, leaves it there once, and its sender is told that it was this one', async () => {
    const url = await server.database();
    const proxy = await proxyTo(url);
    const journal = open(proxy.url);
    await journal.create('s', created);
    const wanted = ['session_created'];
    for (const [direction, most] of [
      ['to the server', 600],
      ['from the server', 100],
    ] as const) {
      for (let bytes = 1; bytes < most; bytes += most / 5) {
        const key = `${direction} ${bytes}`;
        proxy.cutAfter(direction, bytes);
        expect(await journal.post('s', note('x'), key, 3)).toEqual({ seq: wanted.length + 1, duplicate: false });
        wanted.push(key);
      }
    }
    expect(await journal.post('s', note('x'), 'to the server 1', 4)).toEqual({ seq: 2, duplicate: true });
    expect(proxy.cuts).toBeGreaterThan(5);
    expect(await labels(open(url))).toEqual(wanted);
  }, 60_000);

  it('S6: for longer than `outageMs` ends the run with an error, and another process finds out what was written', async () => {
    const url = await server.database();
    const proxy = await proxyTo(url);
    const journal = open(proxy.url, 0);
    await journal.create('s', created);
    const claim = await journal.claim('s', { id: 'a', label: 'a' });
    let lost = 0;
    let seq = 1;
    for (let bytes = 1; bytes < 25; bytes += 4) {
      proxy.cutAfter('from the server', bytes);
      const outcome = await journal
        .append('s', claim.epoch, seq, [noted(`${bytes}`)])
        .catch((error: unknown) => (error as { readonly code?: unknown }).code);
      if (outcome === 'journal_failed') lost += 1;
      else expect(outcome).toMatchObject({ ok: true });
      seq = (await logOf(open(url), 's')).length;
    }
    expect(lost).toBeGreaterThan(1);
    const log = await labels(open(url));
    expect(new Set(log).size).toBe(log.length);
  }, 60_000);
});

describe('a server that ends connections', () => {
  it('while they are being made fails nobody but who waits for them, and never the process', async () => {
    const url = await server.database();
    await open(url).create('s', created);
    const admin = postgres(url, { max: 2, onnotice: () => {} });
    closing.push(() => admin.end());
    const own = postgres(url, { max: 1, onnotice: () => {}, fetch_types: false });
    closing.push(() => own.end({ timeout: 0 }));
    for (const connection of [url, own]) {
      const holder = await admin.reserve();
      // Whoever asks what types there are waits.
      await holder.unsafe('begin; lock table pg_catalog.pg_type in access exclusive mode');
      const journal = postgresJournal({ connection, maxConnections: 1 });
      closing.push(() => journal.close());
      let isOver = false;
      const list = () => journal.list().catch((error: unknown) => error);
      const listed = list().finally(() => (isOver = true));
      let ended = 0;
      while (ended === 0 && !isOver) {
        // A transaction sees the same activity all the time, unless it is told to look again.
        await holder`select pg_stat_clear_snapshot()`;
        const rows = await holder.unsafe(`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()`);
        ended += rows.length;
      }
      await holder.unsafe('commit');
      holder.release();
      expect(ended).toBeGreaterThan(0);
      const outcomes = [await listed, await list(), await list()];
      // The client tells the next one, too, who asks on that connection.
      for (const outcome of outcomes) {
        if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'journal_failed' });
      }
      expect(outcomes.at(-1)).toMatchObject({ sessions: [{ sessionId: 's' }] });
    }
  });

  it('while nobody waits for anything, of all of them, is noticed by the next who asks', async () => {
    const url = await server.database();
    const journal = open(url);
    await journal.create('s', created);
    let tell = (): void => {};
    const told = new Promise<void>((resolve) => (tell = resolve));
    journal.watch('s', (seq) => {
      if (seq > 1) tell();
    });
    const claim = await journal.claim('s', { id: 'a', label: 'a' });
    const admin = postgres(url, { max: 1, onnotice: () => {} });
    closing.push(() => admin.end());
    await admin`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    const others = () => admin`
      select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state = 'idle'`;
    // The one that listens comes back by itself.
    while ((await others()).length === 0);
    expect(await journal.append('s', claim.epoch, 1, [noted('after')])).toMatchObject({ ok: true });
    await told;
  });
});

describe('a run', () => {
  const agent = defineAgent({
    model: scriptedModel(({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool').length;
      return results < 5 ? { text: 'I act.', toolCalls: [{ name: 'act' }] } : 'Done.';
    }),
    tools: [defineTool({ name: 'act', description: 'Acts.', replay: 'never', execute: () => acting() })],
  });
  let acting = async (): Promise<string> => 'acted';

  it('S2: goes on when the server ends its connections in the middle of it', { timeout: 60_000 }, async () => {
    const url = await server.database();
    const admin = postgres(url, { max: 1, onnotice: () => {} });
    closing.push(() => admin.end());
    let ended = 0;
    acting = async () => {
      const rows = await admin`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`;
      ended += rows.length;
      return `acted ${ended}`;
    };
    const journal = open(url);
    const session = await createSession(agent, { journal, id: 's' });
    expect(await session.prompt('Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(ended).toBeGreaterThan(4);
    const log = await logOf(journal, 's');
    expect(log.filter(({ type }) => type === 'tool_ended')).toHaveLength(5);
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
  });

  it('S6: stops with an error when the database takes no more writes, and what anyone was told is there', async () => {
    const url = await server.database();
    const admin = postgres(url, { max: 1, onnotice: () => {} });
    closing.push(() => admin.end());
    const name = new URL(url).pathname.slice(1);
    const takeWrites = async (may: boolean): Promise<void> => {
      await admin.unsafe(`alter database ${name} set default_transaction_read_only = ${may ? 'off' : 'on'}`);
      // It counts from the next connection on.
      await admin`set default_transaction_read_only = off`;
      await admin`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`;
    };
    let calls = 0;
    acting = async () => {
      calls += 1;
      if (calls === 3) await takeWrites(false);
      return `acted ${calls}`;
    };
    const session = await createSession(agent, { journal: open(url), id: 's' });
    const run = session.prompt('Go.');
    const told: number[] = [];
    const ended = await (async () => {
      for await (const event of run) if ('seq' in event) told.push(event.seq);
      return run.result;
    })().catch((error: unknown) => error);
    expect(ended).toMatchObject({ code: 'journal_failed' });
    expect(told.length).toBeGreaterThan(5);
    const log = await logOf(open(url), 's');
    expect(log.map(({ seq }) => seq)).toEqual(expect.arrayContaining(told));
    expect(log.filter(({ type }) => type === 'tool_ended')).toHaveLength(2);
    await takeWrites(true);
    // Another process, after this one is dead: it could not let go of the session.
    const later = openStore({ kind: 'Postgres', place: url }, { self: systemProcesses.self, isGone: () => true });
    closing.push(() => later.close());
    const again = await openSession(agent, 's', { journal: later });
    // The third call may not be run twice: its effect is unknown.
    expect(await again.resume().result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(calls).toBe(5);
  }, 60_000);

  it('S1: goes on when the server is killed and comes back', async () => {
    const url = await server.database();
    let calls = 0;
    acting = async () => {
      calls += 1;
      if (calls === 2) {
        await server.kill();
        void server.restart();
      }
      return `acted ${calls}`;
    };
    const journal = open(url, 30_000);
    const session = await createSession(agent, { journal, id: 's' });
    expect(await session.prompt('Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    const log = await logOf(journal, 's');
    expect(log.filter(({ type }) => type === 'tool_ended')).toHaveLength(5);
    expect(log.filter(({ type }) => type === 'tool_started')).toHaveLength(5);
  }, 60_000);
});

describe('a run with everything in it', () => {
  it('S1, S2: is brought to its end by another process wherever one was killed', async () => {
    const place = await server.database();
    const scenario = everythingScenario(() => {
      const store = newStore('Postgres', place);
      return { ...store, process: programOf('./everything-process.ts', store.at) };
    });
    // Some of the moments; `npm run test:crash` has all of them.
    const { courses } = await crashMatrix(scenario, { moments: (moment) => moment % 47 === 11 });
    expect(courses).toBeGreaterThanOrEqual(3);
  }, 120_000);
});
