import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock, Ledger } from '@treadle/core';
import type { LedgerBalance } from '@treadle/core/ports';
import { systemClock, TreadleError } from '@treadle/core';
import { journalErrors } from '@treadle/core/journal';
import { ledgerBalance, ledgerDollars, ledgerUnits, ledgerWouldFall } from '@treadle/core/ports';
import { openDatabase, patiently, transaction } from './database.ts';

export interface SqliteLedgerOptions {
  /** The file: the one of `sqliteJournal`, or any other. Made when first needed, readable by its owner only. */
  readonly path: string;
  /** Which ledger of the file: runs that name the same one share its money. Default `default`. */
  readonly name?: string;
  /** US dollars, for a ledger that isn't there yet. One that is keeps its limit until it is raised. */
  readonly limit: number;
  /** Time for retries. Default: the machine's. */
  readonly clock?: Clock;
  /** Milliseconds to keep trying while another process holds the file's lock, before `journal_failed`. Default 10,000. */
  readonly lockTimeoutMs?: number;
}

/** A ledger with a file to let go of. */
export interface SqliteLedger extends Ledger {
  /** Closes the file. Calls after it reject with `journal_failed`. */
  close(): Promise<void>;
}

/**
 * Amounts are whole billionths of a dollar. The sums stand beside the reservations, so that a reservation costs the same
 * however many there were. A journal that finds these tables in its file doesn't mind them.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS ledgers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    most INTEGER NOT NULL,
    spent INTEGER NOT NULL DEFAULT 0,
    reserved INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS reservations (
    ledger INTEGER NOT NULL,
    id TEXT NOT NULL,
    reserved INTEGER NOT NULL,
    spent INTEGER,
    PRIMARY KEY (ledger, id)
  ) WITHOUT ROWID;
`;

interface Sums {
  readonly most: number;
  readonly spent: number;
  readonly reserved: number;
}

interface Entry {
  readonly reserved: number;
  /** Null while the money is only set aside. */
  readonly spent: number | null;
}

/** One ledger of an open file, in whole billionths. Each method is one transaction. */
interface Book {
  readonly db: DatabaseSync;
  sums(): Sums;
  entry(id: string): Entry | undefined;
  put(id: string, before: Entry | undefined, after: Entry): void;
  raise(most: number): void;
}

function openBook(path: string, name: string, limit: number): Book {
  const db = openDatabase(path);
  try {
    const ledger = transaction(db, () => {
      db.exec(SCHEMA);
      db.prepare('INSERT OR IGNORE INTO ledgers (name, most) VALUES (?, ?)').run(name, limit);
      return Number(db.prepare('SELECT id FROM ledgers WHERE name = ?').get(name)?.['id']);
    });
    return bookOf(db, ledger);
  } catch (error) {
    db.close();
    throw error;
  }
}

function bookOf(db: DatabaseSync, ledger: number): Book {
  const prepare = (sql: string): StatementSync => db.prepare(sql);
  const sums = prepare('SELECT most, spent, reserved FROM ledgers WHERE id = ?');
  const entry = prepare('SELECT reserved, spent FROM reservations WHERE ledger = ? AND id = ?');
  const write = prepare(
    'INSERT INTO reservations (ledger, id, reserved, spent) VALUES (?, ?, ?, ?) ' +
      'ON CONFLICT (ledger, id) DO UPDATE SET spent = excluded.spent',
  );
  const add = prepare('UPDATE ledgers SET spent = spent + ?, reserved = reserved + ? WHERE id = ?');
  const raise = prepare('UPDATE ledgers SET most = ? WHERE id = ?');
  const held = (of: Entry | undefined): number => (of?.spent === null ? of.reserved : 0);
  return {
    db,
    sums: () => sums.get(ledger) as unknown as Sums,
    entry: (id) => entry.get(ledger, id) as Entry | undefined,
    put(id, before, after) {
      write.run(ledger, id, after.reserved, after.spent);
      add.run((after.spent ?? 0) - (before?.spent ?? 0), held(after) - held(before), ledger);
    },
    raise(most) {
      raise.run(most, ledger);
    },
  };
}

/**
 * A ledger in an SQLite file, for any number of processes on this machine: what one sets aside is gone for the others at
 * once. Every change is one transaction, synced to the disk.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { sqliteLedger } from '@treadle/store';
 *
 * const ledger = sqliteLedger({ path: join(mkdtempSync(join(tmpdir(), 'treadle-')), 'journal.db'), limit: 5 });
 * await ledger.reserve('call 1', 1);
 * console.log((await ledger.balance()).remaining); // 4
 * await ledger.close();
 * ```
 */
export function sqliteLedger(options: SqliteLedgerOptions): SqliteLedger {
  const { path, name = 'default', clock = systemClock } = options;
  if (path === '' || path === ':memory:')
    throw new TreadleError('invalid_definition', 'sqliteLedger needs the path of a file. In memory: memoryLedger().');
  const limit = ledgerUnits(options.limit, 'The limit of a ledger');
  let closed = false;
  let book: Book | undefined;
  const patience = { path, clock, lockTimeoutMs: options.lockTimeoutMs ?? 10_000, isClosed: () => closed };

  async function change<Result>(work: (book: Book) => Result): Promise<Result> {
    if (closed) throw journalErrors.closed();
    return patiently(patience, () => {
      book ??= openBook(path, name, limit);
      const open = book;
      return transaction(open.db, () => work(open));
    });
  }

  const balanceOf = (open: Book): LedgerBalance => {
    const { most, spent, reserved } = open.sums();
    return ledgerBalance(most, spent, reserved);
  };

  return {
    async reserve(id, worstCase) {
      const units = ledgerUnits(worstCase, 'A reservation');
      return change((open) => {
        const { most, spent, reserved } = open.sums();
        const before = open.entry(id);
        if (before?.spent === null) return { granted: true, amount: ledgerDollars(before.reserved) };
        if (before || spent + reserved + units > most) {
          return { granted: false, remaining: balanceOf(open).remaining };
        }
        open.put(id, before, { reserved: units, spent: null });
        return { granted: true, amount: ledgerDollars(units) };
      });
    },
    async settle(id, cost) {
      const units = ledgerUnits(cost, 'A cost');
      await change((open) => {
        const before = open.entry(id);
        if (!before || before.spent === null) {
          open.put(id, before, { reserved: before?.reserved ?? 0, spent: units });
        }
      });
    },
    release: (id) =>
      change((open) => {
        const before = open.entry(id);
        if (before?.spent === null) open.put(id, before, { ...before, spent: 0 });
      }),
    balance: () => change(balanceOf),
    async raise(to) {
      const units = ledgerUnits(to, 'The limit of a ledger');
      await change((open) => {
        const { most } = open.sums();
        if (units < most) throw ledgerWouldFall(most, units);
        open.raise(units);
      });
    },
    async close() {
      closed = true;
      book?.db.close();
      book = undefined;
    },
  };
}
