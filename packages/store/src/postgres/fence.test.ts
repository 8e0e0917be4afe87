import type { Journal } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { logOf } from '@treadle/testing';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { postgresJournal } from '../postgres.ts';
import { startPostgres, type PostgresServer } from '../test-support/postgres.ts';

let server: PostgresServer;
let url = '';
let admin: postgres.Sql;
let schema = '';
let schemas = 0;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startPostgres();
  url = await server.database();
  admin = postgres(url, { max: 2, onnotice: () => {} });
}, 120_000);
afterAll(async () => {
  await admin.end();
  await server.stop();
});
beforeEach(() => {
  schema = `case_${(schemas += 1)}`;
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A process of its own, as far as the server can tell. */
function open(): Journal {
  const journal = postgresJournal({ connection: url, schema, maxConnections: 3, processes });
  closing.push(() => journal.close());
  return journal;
}

// Whoever holds a session is gone as soon as somebody else asks for it, and writes all the same.
const processes = { self: () => ({ pid: 1, start: null, host: 'here' }), isGone: () => true };

const created = (sessionId: string) => ({ type: 'session_created', at: 1, eventVersion: 1, sessionId }) as const;
const noted = (taskId: string): DurableEventBody => ({ type: 'task_updated', at: 2, taskId, status: 'running' });
const posted = (key: string): DurableEventBody => ({ type: 'input_received', at: 2, key, input: prompt('x') });
const prompt = (text: string) => ({ type: 'prompt', messages: [{ content: [{ type: 'text', text }] }] }) as const;
const paused: DurableEventBody = {
  type: 'run_paused',
  at: 3,
  runId: 'r',
  reason: 'approval',
  pending: [],
};

const GATE = 42;

/** Lets no drive write an event until it is opened: whoever tries has read all there is to read, and locked nothing. */
async function closeGate(): Promise<() => Promise<void>> {
  await admin.unsafe(`
    create function ${schema}.wait_at_gate() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(${GATE}); return new; end $$;
    create trigger gate before insert on ${schema}.events for each row when (new.claimed is null and new.posted is null)
      execute function ${schema}.wait_at_gate()`);
  const holder = await admin.reserve();
  await holder`select pg_advisory_lock(${GATE})`;
  return async () => {
    await holder`select pg_advisory_unlock(${GATE})`;
    holder.release();
    await admin.unsafe(`drop trigger gate on ${schema}.events; drop function ${schema}.wait_at_gate`);
  };
}

/** Until a statement like this waits for something somebody else has locked. */
async function untilWaiting(like: string): Promise<void> {
  for (;;) {
    const rows = await admin`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query ilike ${`%${like}%`}
        and pid <> pg_backend_pid()`;
    if (rows.length > 0) return;
  }
}

const outcomeOf = (append: Promise<{ readonly ok: boolean }>): Promise<unknown> =>
  append.then(({ ok }) => ok).catch((error: unknown) => (error as { readonly code?: unknown }).code);

async function labels(name = 's'): Promise<string[]> {
  return (await logOf(open(), name)).map((event) =>
    event.type === 'task_updated' ? event.taskId : event.type === 'input_received' ? event.key : event.type,
  );
}

describe('an append that has found nothing against it, and has not yet written', () => {
  const ways = [
    { way: 'of one event', events: [noted('late')] },
    { way: 'of several events', events: [noted('late'), noted('later')] },
    { way: 'that tells others', events: [noted('late'), paused] },
    { way: 'with an input', events: [posted('late')] },
  ];
  // A journal that has the claim knows where the log ends; another one has to look.
  for (const whose of ['the claim’s', 'another'] as const) {
    for (const { way, events } of ways) {
      it(`S7: ${way}, by ${whose} journal, is fenced when its session is taken over meanwhile`, async () => {
        const [first, second] = [open(), open()];
        await first.create('s', created('s'));
        const claim = await first.claim('s', { id: 'a', label: 'a' });
        await first.append('s', claim.epoch, 1, [noted('early')]);
        const openGate = await closeGate();
        const writer = whose === 'another' ? open() : first;
        const late = outcomeOf(writer.append('s', claim.epoch, 2, events));
        await untilWaiting(`insert into "${schema}".events`);
        const taken = await second.claim('s', { id: 'b', label: 'b' });
        expect(taken.seq).toBe(2);
        await openGate();
        expect(await late).toBe('fenced');
        expect(await second.append('s', taken.epoch, 2, [noted('new')])).toMatchObject({ ok: true });
        expect(await labels()).toEqual(['session_created', 'early', 'new']);
      });
    }
  }

  it('is fenced when its session is taken over and let go again, and somebody has posted', async () => {
    const [first, second] = [open(), open()];
    await first.create('s', created('s'));
    const claim = await first.claim('s', { id: 'a', label: 'a' });
    await first.append('s', claim.epoch, 1, [noted('early')]);
    const openGate = await closeGate();
    const late = outcomeOf(first.append('s', claim.epoch, 2, [noted('late')]));
    await untilWaiting(`insert into "${schema}".events`);
    await (await second.claim('s', { id: 'b', label: 'b' })).release();
    await openGate();
    expect(await late).toBe('fenced');
    await second.post('s', prompt('x'), 'posted', 3);
    expect(await outcomeOf(first.append('s', claim.epoch, 3, [noted('later')]))).toBe('fenced');
    expect(await labels()).toEqual(['session_created', 'early', 'posted']);
  });

  it('is fenced when its session is removed meanwhile, also when another has its name by then', async () => {
    const [first, second] = [open(), open()];
    await first.create('s', created('s'));
    const claim = await first.claim('s', { id: 'a', label: 'a' });
    await first.append('s', claim.epoch, 1, [noted('early')]);
    const openGate = await closeGate();
    const late = outcomeOf(first.append('s', claim.epoch, 2, [noted('late')]));
    await untilWaiting(`insert into "${schema}".events`);
    // Others have gone on after it, too: whatever place it writes to is taken.
    const taken = await second.claim('s', { id: 'b', label: 'b' });
    await taken.release();
    for (const key of ['x', 'y']) await second.post('s', prompt(key), key, 4);
    await second.remove('s');
    await openGate();
    expect(await late).toBe('session_not_found');
    await second.create('s', created('s'));
    expect(await outcomeOf(first.append('s', claim.epoch, 2, [noted('late')]))).toBe('fenced');
    expect(await labels()).toEqual(['session_created']);
  });

  it('gives way to an input that is posted meanwhile, and is told where the log ends', async () => {
    const [first, second] = [open(), open()];
    await first.create('s', created('s'));
    const claim = await first.claim('s', { id: 'a', label: 'a' });
    await first.append('s', claim.epoch, 1, [noted('early')]);
    const openGate = await closeGate();
    const late = first.append('s', claim.epoch, 2, [noted('late')]);
    await untilWaiting(`insert into "${schema}".events`);
    expect(await second.post('s', prompt('x'), 'posted', 3)).toEqual({ seq: 3, duplicate: false });
    await openGate();
    expect(await late).toEqual({ ok: false, seq: 3 });
    expect(await first.append('s', claim.epoch, 3, [noted('late')])).toMatchObject({ ok: true });
    expect(await labels()).toEqual(['session_created', 'early', 'posted', 'late']);
  });
});

describe('an append that has written, and is not yet committed', () => {
  it('S7: is waited for by whoever takes the session over, and is in the log', async () => {
    const [first, second] = [open(), open()];
    await first.create('s', created('s'));
    const claim = await first.claim('s', { id: 'a', label: 'a' });
    await first.append('s', claim.epoch, 1, [noted('early')]);
    const holder = await admin.reserve();
    await holder.unsafe(`begin; lock table ${schema}.inputs in exclusive mode`);
    // An input's key is written in the same transaction, after the events.
    const late = outcomeOf(first.append('s', claim.epoch, 2, [posted('late')]));
    await untilWaiting('.inputs');
    const taking = second.claim('s', { id: 'b', label: 'b' });
    await untilWaiting('claimed');
    await holder.unsafe('commit');
    holder.release();
    expect(await late).toBe(true);
    expect(await taking).toMatchObject({ seq: 3 });
    expect(await labels()).toEqual(['session_created', 'early', 'late']);
  });
});

describe('the place that a claim keeps for its first event', () => {
  it('is no event to anyone who reads, lists, forks or watches', async () => {
    const journal = open();
    await journal.create('s', created('s'));
    await journal.claim('s', { id: 'a', label: 'a' });
    expect(await labels()).toEqual(['session_created']);
    expect((await open().list()).sessions).toMatchObject([{ sessionId: 's', seq: 1, updatedAt: 1 }]);
    await expect(journal.create('f', created('f'), { sessionId: 's', seq: 2 })).rejects.toMatchObject({
      code: 'session_not_found',
    });
    await journal.create('f', created('f'), { sessionId: 's', seq: 1 });
    expect(await labels('f')).toEqual(['session_created', 'session_created']);
  });

  it('is taken by what is posted before, and the first event comes after it', async () => {
    const journal = open();
    await journal.create('s', created('s'));
    const claim = await journal.claim('s', { id: 'a', label: 'a' });
    expect(await open().post('s', prompt('x'), 'posted', 2)).toEqual({ seq: 2, duplicate: false });
    expect(await journal.append('s', claim.epoch, 1, [noted('early')])).toEqual({ ok: false, seq: 2 });
    expect(await journal.append('s', claim.epoch, 2, [noted('first'), noted('second')])).toMatchObject({ ok: true });
    expect(await labels()).toEqual(['session_created', 'posted', 'first', 'second']);
  });

  it('goes over to the next claim when nothing was written, and from the one before nothing is taken', async () => {
    const [first, second] = [open(), open()];
    await first.create('s', created('s'));
    const older = await first.claim('s', { id: 'a', label: 'a' });
    const newer = await second.claim('s', { id: 'b', label: 'b' });
    expect(newer.seq).toBe(1);
    expect(await outcomeOf(first.append('s', older.epoch, 1, [noted('late')]))).toBe('fenced');
    expect(await second.append('s', newer.epoch, 1, [noted('first')])).toMatchObject({ ok: true });
    expect(await labels()).toEqual(['session_created', 'first']);
  });

  it('stays taken for a day in a session that was removed, as those of its events do, of which nothing is left', async () => {
    const journal = open();
    for (const name of ['s', 't', 'u']) {
      await journal.create(name, created(name));
      const claim = await journal.claim(name, { id: 'a', label: 'a' });
      await journal.append(name, claim.epoch, 1, [noted('x'), noted('y')]);
      await claim.release();
    }
    await journal.create('f', created('f'), { sessionId: 't', seq: 2 });
    await journal.remove('s');
    await journal.remove('t');
    const rows = () => admin`
      select session::int, seq::int, body is not null as "isThere" from ${admin(schema)}.events where session in (1, 2) order by 1, 2`;
    const fence = (session: number, seq: number) => ({ session, seq, isThere: false });
    const event = (session: number, seq: number) => ({ session, seq, isThere: true });
    const [first, second] = [event(2, 1), event(2, 2)];
    expect(await rows()).toEqual([
      ...[1, 2, 3, 4].map((seq) => fence(1, seq)),
      first,
      second,
      fence(2, 3),
      fence(2, 4),
    ]);
    await admin`update ${admin(schema)}.fences set removed_at = removed_at - interval '25 hours'`;
    await journal.remove('u');
    expect(await rows()).toEqual([first, second]);
    expect(await labels('f')).toEqual(['session_created', 'x', 'session_created']);
    await journal.remove('f');
    expect(await rows()).toEqual([fence(2, 1), fence(2, 2)]);
  });
});

describe('sessions that are held', () => {
  it('are listed by their last events among those that are not, in pages', async () => {
    const journal = open();
    for (const [index, name] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) {
      await journal.create(name, { ...created(name), at: index + 1 });
    }
    for (const [name, at] of [
      ['a', 70],
      ['c', 30],
      ['e', 50],
    ] as const) {
      const claim = await journal.claim(name, { id: name, label: name });
      await journal.append(name, claim.epoch, 1, [
        { ...noted('t'), at: at - 1 },
        { ...noted('t'), at },
      ]);
      // This one is let go again: it is found by what was noted then.
      if (name === 'e') await claim.release();
    }
    await journal.post('b', prompt('x'), 'k', 60);
    const seen: [string, number, number][] = [];
    let cursor: string | undefined;
    do {
      const page = await journal.list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(
        ...page.sessions.map(
          ({ sessionId, seq, updatedAt }) => [sessionId, seq, updatedAt] as [string, number, number],
        ),
      );
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual([
      ['a', 3, 70],
      ['b', 2, 60],
      ['e', 3, 50],
      ['c', 3, 30],
      ['f', 1, 6],
      ['d', 1, 4],
    ]);
  });
});

it('a session that is removed while it is read is not there any more, and nothing is damaged', async () => {
  const [reader, remover] = [open(), open()];
  await reader.create('s', created('s'));
  const claim = await reader.claim('s', { id: 'a', label: 'A' });
  // More than are read at once.
  await reader.append(
    's',
    claim.epoch,
    claim.seq,
    Array.from({ length: 700 }, (_, index) => noted(`task ${index}`)),
  );
  await claim.release();
  const events = reader.read('s', 1)[Symbol.asyncIterator]();
  expect((await events.next()).done).toBe(false);
  await remover.remove('s');
  const readOn = async (): Promise<void> => {
    while ((await events.next()).done !== true);
  };
  await expect(readOn()).rejects.toMatchObject({ code: 'session_not_found' });
});
