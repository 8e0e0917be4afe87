// @module-tag slow
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, type Clock, type Journal } from '@treadle/core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { fileJournal, sqliteJournal } from './index.ts';
import { postgresJournal, type PostgresJournalOptions } from './postgres.ts';
import { startPostgres, type PostgresServer } from './test-support/postgres.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop());

/** Far more than the test takes. */
const LEASE_MS = 600_000;

type Options = Pick<PostgresJournalOptions, 'clock' | 'leaseMs'>;

const JOURNALS: Readonly<Record<string, (options: Options) => Promise<Journal>>> = {
  SQLite: async (options) => sqliteJournal({ path: join(newFolder(), 'j.db'), ...options }),
  files: async (options) => fileJournal({ folder: newFolder(), ...options }),
  Postgres: async (options) => postgresJournal({ connection: await server.database(), ...options }),
};

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-lapsed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A clock that jumps, as for a process that was stopped or that computed all the while: no timer has run in between. */
function jumpingClock(): { readonly clock: Clock; jump(ms: number): void } {
  let jumped = 0;
  return {
    clock: { now: () => Date.now() + jumped, after: (ms, fn, how) => systemClock.after(ms, fn, how) },
    jump(ms) {
      jumped += ms;
    },
  };
}

const created = (sessionId: string) => ({ type: 'session_created', at: 1, eventVersion: 1, sessionId }) as const;
const owner = (id: string) => ({ id, label: id });

describe.each(Object.entries(JOURNALS))('a process that was not heard of for a lease: %s', (_, make) => {
  it('goes on with its own sessions when nobody else has taken them', async () => {
    const { clock, jump } = jumpingClock();
    const journal = await make({ clock, leaseMs: LEASE_MS });
    onTestFinished(() => journal.close());
    for (const name of ['s', 't']) await journal.create(name, created(name));
    const claim = await journal.claim('s', owner('before'));
    jump(LEASE_MS * 2);
    // It works, so it is heard of again, and stays so.
    const other = await journal.claim('t', owner('other'));
    expect(await claim.renew()).toBe(false);
    await expect(journal.append('s', claim.epoch, 1, [])).rejects.toMatchObject({ code: 'fenced' });
    expect(await journal.due({ before: clock.now() })).toMatchObject([{ sessionId: 's' }]);
    const again = await journal.claim('s', owner('after'));
    expect(again.epoch).toBe(claim.epoch + 1);
    expect(await other.renew()).toBe(true);
    expect(await journal.due({ before: clock.now() })).toEqual([]);
  });
});
