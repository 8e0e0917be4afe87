import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ledgerContract, testClock } from '@treadle/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { sqliteJournal, sqliteLedger, type SqliteLedger, type SqliteLedgerOptions } from '../index.ts';
import { loadSqlite } from './load.ts';

const folders: string[] = [];
const ledgers: SqliteLedger[] = [];

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-ledger-'));
  folders.push(folder);
  return join(folder, 'journal.db');
}

function open(path: string, options: Partial<SqliteLedgerOptions> = {}): SqliteLedger {
  const ledger = sqliteLedger({ path, limit: 1, ...options });
  ledgers.push(ledger);
  return ledger;
}

async function closeAll(): Promise<void> {
  await Promise.all(ledgers.splice(0).map((ledger) => ledger.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

afterEach(closeAll);

describe('sqliteLedger keeps the contract of ledgers', () => {
  const make = () => {
    const path = newFile();
    return { ledger: open(path), open: async () => open(path), dispose: closeAll };
  };
  for (const { name, run } of ledgerContract(make, { runs: 5 })) it(name, run);
});

describe('the file', () => {
  it('keeps what was set aside and spent when it is opened again, by whatever process', async () => {
    const path = newFile();
    const first = open(path);
    await first.reserve('a', 0.5);
    await first.settle('a', 0.25);
    await first.reserve('b', 0.125);
    await first.close();
    const again = open(path);
    expect(await again.balance()).toEqual({ limit: 1, spent: 0.25, reserved: 0.125, remaining: 0.625 });
    await again.settle('a', 0.5);
    expect((await again.balance()).spent).toBe(0.25);
  });

  it('has as many ledgers as there are names, each with the limit it was made with until it is raised', async () => {
    const path = newFile();
    await open(path, { name: 'one' }).reserve('a', 1);
    expect((await open(path, { name: 'two', limit: 2 }).balance()).remaining).toBe(2);
    const again = open(path, { name: 'one', limit: 5 });
    expect(await again.balance()).toMatchObject({ limit: 1, remaining: 0 });
    await again.raise(5);
    expect((await open(path, { name: 'one' }).balance()).limit).toBe(5);
  });

  it.each(['journal first', 'ledger first'])('may be that of a journal: %s', async (order) => {
    const path = newFile();
    const ledger = open(path);
    const journal = sqliteJournal({ path });
    const sets = [
      () => ledger.reserve('a', 1),
      () => journal.create('s', { type: 'session_created', at: 1, eventVersion: 1, sessionId: 's' }),
    ];
    for (const set of order === 'ledger first' ? sets : sets.reverse()) await set();
    await journal.close();
    const later = sqliteJournal({ path });
    expect((await later.list()).sessions).toHaveLength(1);
    expect((await open(path).balance()).remaining).toBe(0);
    await later.close();
  });

  it('that another process holds is waited for, and given up on after a while with nothing changed', async () => {
    const path = newFile();
    const clock = testClock();
    const ledger = open(path, { clock, lockTimeoutMs: 1000 });
    await ledger.balance();
    const { DatabaseSync } = loadSqlite();
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const outcome = Promise.allSettled([ledger.reserve('a', 0.5)]);
    await clock.advance(1200);
    other.exec('ROLLBACK');
    other.close();
    expect(await outcome).toMatchObject([{ status: 'rejected', reason: { code: 'journal_failed' } }]);
    expect((await ledger.balance()).reserved).toBe(0);
  });

  it('must be a file, and is closed once and for all', async () => {
    for (const path of ['', ':memory:'])
      expect(() => sqliteLedger({ path, limit: 1 })).toThrow(
        expect.objectContaining({ code: 'invalid_definition' }) as Error,
      );
    const ledger = open(newFile());
    await ledger.close();
    await ledger.close();
    await expect(ledger.balance()).rejects.toMatchObject({ code: 'journal_failed' });
  });
});
