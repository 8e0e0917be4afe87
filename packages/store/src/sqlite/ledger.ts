import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Ledger } from '@treadle/core';
import { type LedgerBalance, ledgerBalance, ledgerDollars, ledgerUnits, ledgerWouldFall } from '@treadle/core/ports';
import { transaction } from './database.ts';
import { sqliteFile, type SqliteFileOptions } from './open-file.ts';

/** The file may be the one of `sqliteJournal`. */
export interface SqliteLedgerOptions extends SqliteFileOptions {
  /** Which ledger of the file: runs that name the same one share its money. Default `default`. */
  readonly name?: string;
  /** US dollars, for a ledger that isn't there yet. One that is keeps its limit until it is raised. */
  readonly limit: number;
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

function openBook(db: DatabaseSync, name: string, limit: number): Book {
  const ledger = transaction(db, () => {
    db.exec(SCHEMA);
    db.prepare('INSERT OR IGNORE INTO ledgers (name, most) VALUES (?, ?)').run(name, limit);
    return Number(db.prepare('SELECT id FROM ledgers WHERE name = ?').get(name)?.['id']);
  });
  return bookOf(db, ledger);
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
  const { name = 'default' } = options;
  const limit = ledgerUnits(options.limit, 'The limit of a ledger');
  const file = sqliteFile(options, 'sqliteLedger needs the path of a file. In memory: memoryLedger().', (db) =>
    openBook(db, name, limit),
  );
  const change = <Result>(work: (book: Book) => Result): Promise<Result> =>
    file.run((book) => transaction(book.db, () => work(book)));

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
    close: async () => file.close(),
  };
}
