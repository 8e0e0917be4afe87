// @module-tag slow

import type { FinishedRun } from '@treadle/core/features';
import { readBlob } from '@treadle/core/ports';
import { blobsContract, ledgerContract, memoryContract, testClock } from '@treadle/testing';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { postgresBlobs, postgresJournal, postgresLedger, postgresMemory } from '../../postgres.ts';
import { startPostgres, type PostgresServer } from '../../test-support/postgres.ts';

let server: PostgresServer;
let url = '';
let admin: postgres.Sql;
let schemas = 0;
let schema = '';
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startPostgres();
  url = await server.database();
  admin = postgres(url, { max: 1, fetch_types: false, onnotice: () => {} });
}, 120_000);
afterAll(async () => {
  await admin.end();
  await server.stop();
});
beforeEach(() => {
  schema = `case_${(schemas += 1)}`;
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

function opened<Store extends { close(): Promise<void> }>(store: Store): Store {
  closing.push(() => store.close());
  return store;
}

const here = () => ({ connection: url, schema });
const signal = new AbortController().signal;
const scope = { sessionId: 's', agentId: 'agent', signal, messages: [] };
const finished = (runId: string, prompt: string, more: Partial<FinishedRun> = {}): FinishedRun => ({
  ...scope,
  runId,
  prompt,
  answer: 'Noted.',
  at: Date.UTC(2026, 0, 2),
  ...more,
});

describe('postgresLedger keeps the contract of ledgers', () => {
  const make = () => {
    const open = () => opened(postgresLedger({ ...here(), limit: 1 }));
    return { ledger: open(), open: async () => open() };
  };
  for (const { name, run } of ledgerContract(make, { runs: 5 })) it(name, run);
});

describe('postgresMemory keeps the contract of memories', () => {
  const make = () => {
    const open = () => opened(postgresMemory(here()));
    return { memory: open(), open: async () => open() };
  };
  for (const { name, run } of memoryContract(make, { shared: true })) it(name, run);
});

describe('postgresBlobs keeps the contract of blobs', () => {
  const make = () => {
    const clock = testClock();
    const open = () => opened(postgresBlobs({ ...here(), clock, maxBytes: 4_000_000 }));
    return { blobs: open(), advance: clock.advance, open };
  };
  for (const { name, run } of blobsContract(make)) it(name, run);
});

describe('a ledger in Postgres', () => {
  it('keeps its limit when it is opened with another, and is one of many by its name', async () => {
    const first = opened(postgresLedger({ ...here(), limit: 1 }));
    await first.reserve('a', 0.5);
    const second = opened(postgresLedger({ ...here(), limit: 9 }));
    expect(await second.balance()).toMatchObject({ limit: 1, reserved: 0.5 });
    const other = opened(postgresLedger({ ...here(), limit: 9, name: 'other' }));
    expect(await other.balance()).toMatchObject({ limit: 9, reserved: 0 });
  });
});

describe('a memory in Postgres', () => {
  it('finds other forms of a word, words without their accents, and parts of names', async () => {
    const memory = opened(postgresMemory(here()));
    await memory.update(finished('r1', 'We migrated the café in src/parser_state.test.ts.'));
    for (const query of ['migrations', 'cafe', 'the parser', 'parser_state.test.ts'])
      expect(await memory.retrieve({ ...scope, runId: 'new', query })).toEqual([
        '2026-01-02, the user said: We migrated the café in src/parser_state.test.ts.\nThe answer was: Noted.',
      ]);
  });

  it('keeps namespaces apart, whatever they are called, and forgets one', async () => {
    const memory = opened(postgresMemory({ ...here(), namespace: ({ metadata }) => metadata?.['user'] as string }));
    const of = (user: string) => ({ metadata: { user } });
    const names = ['ann', "an'n", 'an\\n', 'an n', "' | 'ann"];
    for (const name of names) await memory.update(finished('r1', `The colour of ${name}.`, of(name)));
    for (const name of names) {
      const found = await memory.retrieve({ ...scope, runId: 'new', query: 'colour namespace ann', ...of(name) });
      expect(found).toEqual([expect.stringContaining(`The colour of ${name}.`)]);
    }
    expect(await memory.forget("an'n")).toBe(1);
    expect(await memory.retrieve({ ...scope, runId: 'new', query: 'colour', ...of("an'n") })).toEqual([]);
    expect(await memory.retrieve({ ...scope, runId: 'new', query: 'colour', ...of('ann') })).toHaveLength(1);
  });
});

describe('blobs in Postgres', () => {
  it('are up to 1 MB large', async () => {
    const blobs = opened(postgresBlobs(here()));
    await blobs.put(new Uint8Array(1_048_576));
    await expect(blobs.put(new Uint8Array(1_048_577))).rejects.toMatchObject({ code: 'blob_too_large' });
  });

  it('that were damaged are refused, and whole again once they are put again', async () => {
    const blobs = opened(postgresBlobs(here()));
    const { id } = await blobs.put(Buffer.from('whole'));
    await admin`update ${admin(schema)}.blobs set bytes = ${Buffer.from('wrong')}`;
    await expect(readBlob(blobs, id)).rejects.toMatchObject({ code: 'blob_corrupt' });
    await blobs.put(Buffer.from('whole'));
    expect(Buffer.from(await readBlob(blobs, id)).toString()).toBe('whole');
  });
});

describe('the stores of one schema', () => {
  it(
    'are made together by processes that start at the same time, beside the journal',
    { tags: ['share'] },
    async () => {
      const created = { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' } as const;
      const journal = opened({ ...postgresJournal(here()) });
      await Promise.all([
        journal.create('s', created),
        ...Array.from({ length: 3 }, () => opened(postgresLedger({ ...here(), limit: 1 })).balance()),
        ...Array.from({ length: 3 }, () => opened(postgresMemory(here())).update(finished('r', 'Hi'))),
        ...Array.from({ length: 3 }, () => opened(postgresBlobs(here())).put(Buffer.from('b'))),
      ]);
      expect((await journal.list()).sessions).toHaveLength(1);
    },
  );

  it('say what is wrong with a code, and nothing of the password', async () => {
    const connection = 'postgres://user:secret@127.0.0.1:1/none';
    const options = { connection, schema, outageMs: 0 };
    const ledger = opened(postgresLedger({ ...options, limit: 1 }));
    const blobs = opened(postgresBlobs(options));
    const failures = await Promise.all([
      ledger.balance().catch((error: unknown) => error),
      opened(postgresMemory(options))
        .forget('a')
        .catch((error: unknown) => error),
      blobs.put(Buffer.from('b')).catch((error: unknown) => error),
    ]);
    expect(failures).toMatchObject([{ code: 'journal_failed' }, { code: 'journal_failed' }, { code: 'blob_failed' }]);
    expect(JSON.stringify(failures.map(String))).not.toContain('secret');
    expect(() => postgresBlobs({ ...options, schema: 'a"b' })).toThrow(/no name for a schema/);
  });

  it('are closed for good', async () => {
    const memory = postgresMemory(here());
    await memory.forget('a');
    await memory.close();
    await expect(memory.retrieve({ ...scope, runId: 'r', query: '' })).rejects.toMatchObject({
      code: 'journal_failed',
    });
  });

  it('go on when the server ends their connections', async () => {
    const ledger = opened(postgresLedger({ ...here(), limit: 1 }));
    await ledger.reserve('a', 0.25);
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'treadle'`;
    await ledger.settle('a', 0.25);
    expect(await ledger.balance()).toMatchObject({ spent: 0.25, reserved: 0 });
  });
});
