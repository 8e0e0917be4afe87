// @module-tag slow

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, openSession, type Journal } from '@treadle/core';
import { EVENT_VERSION } from '@treadle/core/events';
import { logOf, longLog, scriptedModel } from '@treadle/testing';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type PostgresServer } from './test-support/postgres.ts';
import { newStore, type StoreAt } from './test-support/stores.ts';

const agent = defineAgent({ model: scriptedModel(() => ({ text: 'Well.' })) });

/** Counts the events that are read. */
function counted(journal: Journal): { readonly journal: Journal; rows: number } {
  const counting = {
    rows: 0,
    journal: {
      ...journal,
      async *read(sessionId: string, from: number) {
        for await (const event of journal.read(sessionId, from)) {
          counting.rows += 1;
          yield event;
        }
      },
    },
  };
  return counting;
}

/** Makes a log of `count` events, has a run in it, and says what opening, and forking and opening, it reads then. */
async function readsOf(open: () => Promise<Journal>, count: number) {
  const first = await open();
  await longLog(first, 's', count);
  const session = await openSession(agent, 's', { journal: first });
  await session.abort();
  // A run keeps a snapshot, which is due, and nobody waits for that.
  await session.prompt('Go on.').result;
  await until(async () => (await first.snapshots?.load('s', Number.MAX_SAFE_INTEGER)) != null);
  await first.close();

  const opening = counted(await open());
  const again = await openSession(agent, 's', { journal: opening.journal });
  const opened = opening.rows;
  const { sessions } = await opening.journal.list();
  const fork = { sessionId: 's', seq: sessions.find(({ sessionId }) => sessionId === 's')?.seq ?? 0 };
  opening.rows = 0;
  const created = { type: 'session_created', at: 1, eventVersion: EVENT_VERSION, sessionId: 'f', fork } as const;
  await opening.journal.create('f', created, fork);
  const forked = await openSession(agent, 'f', { journal: opening.journal });
  expect(forked.messages).toEqual(again.messages);
  await opening.journal.close();
  return { opened, forked: opening.rows };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}

/** What a store takes: bytes of its files, or rows of its events. */
async function sizeOf({ kind, place, schema = '' }: StoreAt): Promise<number> {
  if (kind === 'Postgres') {
    const sql = postgres(place, { max: 1 });
    const [row] = await sql<{ count: string }[]>`select count(*) from ${sql(schema)}.events`;
    await sql.end();
    return Number(row?.count);
  }
  const files = readdirSync(place, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

describe.each<StoreAt['kind']>(['SQLite', 'files', 'Postgres'])('a long session in %s', (kind) => {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    if (kind === 'Postgres') server = await startPostgres();
  }, 60_000);
  afterAll(() => server?.stop());

  it('S11: is opened, and forked, by reading as many events as of one a tenth as long', async () => {
    const reads = [];
    for (const count of [2000, 20_000]) {
      const store = newStore(kind, await server?.database());
      reads.push(await readsOf(() => store.open(), count));
      await store.dispose();
    }
    expect(reads[1]).toEqual(reads[0]);
    expect(reads[1]?.opened).toBeLessThan(50);
  });

  it('S11: is forked in place, whatever its length: nothing is copied', async () => {
    const grown = [];
    for (const count of [1000, 5000]) {
      const store = newStore(kind, await server?.database());
      const journal = await store.open();
      await longLog(journal, 's', count);
      await journal.close();
      const before = await sizeOf(store.at);
      const again = await store.open();
      const fork = { sessionId: 's', seq: count - 10 };
      const created = { type: 'session_created', at: 1, eventVersion: EVENT_VERSION, sessionId: 'f', fork } as const;
      await again.create('f', created, fork);
      expect((await logOf(again, 'f')).length).toBe(count - 10 + 1);
      await again.close();
      grown.push((await sizeOf(store.at)) - before);
      await store.dispose();
    }
    const [short = 0, long = 0] = grown;
    // Longer numbers have more digits.
    expect(Math.abs(long - short)).toBeLessThan(kind === 'Postgres' ? 1 : 50);
  });
});
