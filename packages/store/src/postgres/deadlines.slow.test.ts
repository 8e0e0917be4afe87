// @module-tag slow

import { type Clock, type Journal, systemClock } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { logOf } from '@treadle/testing';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { postgresJournal, type PostgresJournalOptions } from '../postgres.ts';
import { startPostgres, type PostgresServer } from '../test-support/postgres.ts';
import { startProxy, type Proxy } from '../test-support/proxy.ts';

const ANSWER_MS = 1_000_000;
const LOOK_MS = 10_000;

let server: PostgresServer;
let url = '';
let schemas = 0;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startPostgres();
  url = await server.database();
}, 120_000);
afterAll(() => server.stop());
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface HeldClock {
  readonly clock: Clock;
  /** So much time passes for those who wait for an answer. */
  pass(ms: number): void;
  /** The next look for what was missed is due. */
  look(): void;
}

/** A clock whose long timers go off when a test says so; short waits are real. */
function heldClock(): HeldClock {
  const held = new Set<{ readonly ms: number; readonly due: number; readonly fn: () => void }>();
  let passed = 0;
  const now = (): number => systemClock.now() + passed;
  const fire = (isMeant: (timer: { readonly ms: number; readonly due: number }) => boolean): void => {
    for (const timer of [...held]) {
      if (isMeant(timer) && held.delete(timer)) timer.fn();
    }
  };
  return {
    clock: {
      now,
      after(ms, fn, options) {
        if (ms < LOOK_MS) return systemClock.after(ms, fn, options);
        const timer = { ms, due: now() + ms, fn };
        held.add(timer);
        return () => void held.delete(timer);
      },
    },
    pass(ms) {
      passed += ms;
      fire((timer) => timer.ms !== LOOK_MS && timer.due <= now());
    },
    look: () => fire((timer) => timer.ms === LOOK_MS),
  };
}

/** Time is measured in quarters, and the first may have begun already. */
function expire(pass: HeldClock['pass']): void {
  for (let quarter = 0; quarter < 5; quarter++) pass(ANSWER_MS / 4);
}

interface Opened {
  readonly schema: string;
  readonly proxy: Proxy;
  readonly journal: Journal;
  /** The time of what has not been answered is over. */
  expire(): void;
  /** The next look for what was missed is due. */
  look(): void;
}

async function open(options: Partial<PostgresJournalOptions> = {}): Promise<Opened> {
  const schema = `case_${(schemas += 1)}`;
  const proxy = await startProxy(url);
  closing.push(() => proxy.stop());
  const { clock, pass, look } = heldClock();
  const journal = postgresJournal({
    connection: proxy.url,
    schema,
    maxConnections: 2,
    clock,
    answerTimeoutMs: ANSWER_MS,
    // Hours of the clock pass in these tests.
    leaseMs: 100_000_000,
    ...options,
  });
  closing.push(() => journal.close());
  await journal.create('s', created);
  return {
    schema,
    proxy,
    journal,
    expire: () => expire(pass),
    look,
  };
}

/** The same sessions, by connections that are well. */
function reopened(schema: string): Journal {
  const journal = postgresJournal({ connection: url, schema, maxConnections: 2 });
  closing.push(() => journal.close());
  return journal;
}

const created = { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' } as const;
const noted = (taskId: string): DurableEventBody => ({ type: 'task_updated', at: 2, taskId, status: 'running' });
const prompt = { type: 'prompt', messages: [{ content: [{ type: 'text', text: 'Hello' }] }] } as const;
const BOTH = ['to the server', 'from the server'] as const;

async function labels(journal: Journal): Promise<string[]> {
  return (await logOf(journal, 's')).map((event) =>
    event.type === 'task_updated' ? event.taskId : event.type === 'input_received' ? event.key : event.type,
  );
}

describe('a connection that swallows what is sent, and stays open', () => {
  it('S2: is given up when its time is over, and an append is written once, wherever it was swallowed', async () => {
    const { schema, proxy, journal, expire } = await open();
    const claim = await journal.claim('s', { id: 'a', label: 'a' });
    const wanted = ['session_created'];
    for (const direction of BOTH) {
      for (const bytes of [0, 1, 10, 26]) {
        const label = `${direction} ${bytes}`;
        const swallowed = proxy.swallowAfter(direction, bytes);
        const outcome = journal.append('s', claim.epoch, wanted.length, [noted(label)]);
        await swallowed;
        expire();
        expect(await outcome).toMatchObject({ ok: true, events: [{ seq: wanted.length + 1 }] });
        wanted.push(label);
      }
    }
    expect(await labels(reopened(schema))).toEqual(wanted);
  });

  it('S2: is given up amid a transaction, at any step of it, and what is posted is there once', async () => {
    const { schema, proxy, journal, expire } = await open();
    const wanted = ['session_created'];
    for (const direction of BOTH) {
      for (const bytes of [0, 30, 60, 90, 120]) {
        const key = `${direction} ${bytes}`;
        const swallowed = proxy.swallowAfter(direction, bytes);
        const outcome = journal.post('s', { type: 'rename', title: key }, key, 3);
        await swallowed;
        expire();
        expect(await outcome).toEqual({ seq: wanted.length + 1, duplicate: false });
        wanted.push(key);
      }
    }
    expect(await labels(reopened(schema))).toEqual(wanted);
    expect(await journal.list()).toMatchObject({ sessions: [{ title: 'from the server 120' }] });
  });

  it('fails what is not tried again, with a code, and the next call has another connection', async () => {
    const { proxy, journal, expire } = await open();
    const swallowed = proxy.swallowAfter('to the server', 0);
    const listed = journal.list().catch((error: unknown) => error);
    await swallowed;
    expire();
    expect(await listed).toMatchObject({ code: 'journal_timeout' });
    expect(await journal.list()).toMatchObject({ sessions: [{ sessionId: 's' }] });
  });

  it('S6: for longer than `outageMs` fails an append whose outcome is unknown, and the next one finds out', async () => {
    const { schema, proxy, journal, expire } = await open({ outageMs: 0 });
    const claim = await journal.claim('s', { id: 'a', label: 'a' });
    // From the third one on, the server has been asked what the statements of the first and of later ones are.
    await journal.append('s', claim.epoch, 1, [noted('first')]);
    await journal.append('s', claim.epoch, 2, [noted('known')]);
    const swallowed = proxy.swallowAfter('from the server', 0);
    const outcome = journal.append('s', claim.epoch, 3, [noted('unknown')]).catch((error: unknown) => error);
    await swallowed;
    expire();
    expect(await outcome).toMatchObject({ code: 'journal_timeout' });
    expect(await labels(reopened(schema))).toEqual(['session_created', 'first', 'known', 'unknown']);
    // It was written, so whoever writes at the same place is refused and nothing is there twice.
    await expect(journal.append('s', claim.epoch, 3, [noted('again')])).rejects.toMatchObject({ code: 'fenced' });
  });

  it('is noticed by who only listens, who then hears of what was missed', async () => {
    const { schema, proxy, journal, expire, look } = await open();
    const heard = new Promise<number>((resolve) => {
      journal.watch('s', (seq) => {
        if (seq > 1) resolve(seq);
      });
    });
    // From here on nothing comes, and nothing says so.
    const swallowed = proxy.swallowAfter('from the server', 0);
    expect(await reopened(schema).post('s', prompt, 'k', 2)).toMatchObject({ seq: 2 });
    await swallowed;
    const asked = proxy.swallowAfter('to the server', 0);
    look();
    await asked;
    expire();
    expect(await heard).toBe(2);
  });
});

describe('a client of your own', () => {
  it('is waited for no longer than others', async () => {
    const proxy = await startProxy(url);
    closing.push(() => proxy.stop());
    const sql = postgres(proxy.url, { max: 1, onnotice: () => {} });
    closing.push(() => sql.end({ timeout: 0 }));
    const { clock, pass } = heldClock();
    const journal = postgresJournal({ connection: sql, clock, answerTimeoutMs: ANSWER_MS });
    closing.push(() => journal.close());
    await journal.create('s', created);
    const swallowed = proxy.swallowAfter('to the server', 0);
    const listed = journal.list().catch((error: unknown) => error);
    await swallowed;
    expire(pass);
    expect(await listed).toMatchObject({ code: 'journal_timeout' });
  });
});
