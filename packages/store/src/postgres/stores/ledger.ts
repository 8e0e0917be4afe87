import type { Ledger } from '@treadle/core';
import { ledgerBalance, ledgerDollars, ledgerUnits, ledgerWouldFall } from '@treadle/core/ports';
import { postgresError, type Query } from '../connection/connect.ts';
import { postgresStore, type PostgresStoreOptions } from './store.ts';

/** Options of {@link postgresLedger}. */
export interface PostgresLedgerOptions extends PostgresStoreOptions {
  /** Which ledger of the schema: runs that name the same one share its money. Default `default`. */
  readonly name?: string;
  /** US dollars, for a ledger that isn't there yet. One that is keeps its limit until it is raised. */
  readonly limit: number;
}

/** A ledger with connections to let go of. */
export interface PostgresLedger extends Ledger {
  /** Closes its connections. Calls after it reject with `journal_failed`. */
  close(): Promise<void>;
}

/** Amounts are whole billionths of a dollar. The sums stand beside the reservations, whose number costs nothing so. */
const tables = (at: string): string => `
  create table if not exists ${at}.ledgers (
    name text primary key,
    most bigint not null,
    spent bigint not null default 0,
    reserved bigint not null default 0
  ) with (fillfactor = 50);
  create table if not exists ${at}.reservations (
    ledger text not null,
    id text not null,
    reserved bigint not null,
    spent bigint,
    primary key (ledger, id)
  )`;

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

/**
 * A ledger in a Postgres database, for any number of processes on any number of machines: what one sets aside is gone for
 * the others at once. Every change is one transaction on the ledger's row, so all that draw on one ledger take turns.
 *
 * It needs the package `postgres`.
 *
 * @example
 * ```ts
 * import { postgresLedger } from '@treadle/store/postgres';
 *
 * const ledger = postgresLedger({ connection: 'postgres://localhost/agents', limit: 5 });
 * await ledger.close(); // It connects when it is first used.
 * ```
 */
export function postgresLedger(options: PostgresLedgerOptions): PostgresLedger {
  const { name = 'default' } = options;
  const limit = ledgerUnits(options.limit, 'The limit of a ledger');
  const store = postgresStore('postgresLedger', options, tables, postgresError);
  const { schema } = store;

  const lock = async (sql: Query): Promise<Sums | undefined> => {
    const [row] = await sql<Record<keyof Sums, string>[]>`
      select most, spent, reserved from ${sql(schema)}.ledgers where name = ${name} for update`;
    return row && { most: Number(row.most), spent: Number(row.spent), reserved: Number(row.reserved) };
  };

  /** Whoever changes a ledger has its row. */
  const change = <Value>(work: (sql: Query, sums: Sums) => Promise<Value>): Promise<Value> =>
    store.run(
      (sql) =>
        sql.begin(async (transaction) => {
          const sums = await lock(transaction);
          if (sums) return work(transaction, sums);
          await transaction`
            insert into ${transaction(schema)}.ledgers (name, most) values (${name}, ${limit}) on conflict do nothing`;
          return work(transaction, (await lock(transaction)) ?? { most: limit, spent: 0, reserved: 0 });
        }) as Promise<Value>,
    );

  const entryOf = async (sql: Query, id: string): Promise<Entry | undefined> => {
    const [row] = await sql<{ reserved: string; spent: string | null }[]>`
      select reserved, spent from ${sql(schema)}.reservations where ledger = ${name} and id = ${id}`;
    return row && { reserved: Number(row.reserved), spent: row.spent === null ? null : Number(row.spent) };
  };

  const held = (of: Entry | undefined): number => (of?.spent === null ? of.reserved : 0);

  async function put(sql: Query, id: string, before: Entry | undefined, after: Entry): Promise<void> {
    await sql`
      insert into ${sql(schema)}.reservations (ledger, id, reserved, spent)
      values (${name}, ${id}, ${after.reserved}, ${after.spent})
      on conflict (ledger, id) do update set spent = excluded.spent`;
    await sql`
      update ${sql(schema)}.ledgers set spent = spent + ${(after.spent ?? 0) - (before?.spent ?? 0)},
        reserved = reserved + ${held(after) - held(before)} where name = ${name}`;
  }

  return {
    async reserve(id, worstCase) {
      const units = ledgerUnits(worstCase, 'A reservation');
      return change(async (sql, { most, spent, reserved }) => {
        const before = await entryOf(sql, id);
        if (before?.spent === null) return { granted: true, amount: ledgerDollars(before.reserved) };
        if (before || spent + reserved + units > most) {
          return { granted: false, remaining: ledgerBalance(most, spent, reserved).remaining };
        }
        await put(sql, id, before, { reserved: units, spent: null });
        return { granted: true, amount: ledgerDollars(units) };
      });
    },
    async settle(id, cost) {
      const units = ledgerUnits(cost, 'A cost');
      await change(async (sql) => {
        const before = await entryOf(sql, id);
        if (before && before.spent !== null) return;
        await put(sql, id, before, { reserved: before?.reserved ?? 0, spent: units });
      });
    },
    release: (id) =>
      change(async (sql) => {
        const before = await entryOf(sql, id);
        if (before?.spent === null) await put(sql, id, before, { ...before, spent: 0 });
      }),
    balance: () => change(async (_sql, { most, spent, reserved }) => ledgerBalance(most, spent, reserved)),
    async raise(to) {
      const units = ledgerUnits(to, 'The limit of a ledger');
      await change(async (sql, { most }) => {
        if (units < most) throw ledgerWouldFall(most, units);
        await sql`update ${sql(schema)}.ledgers set most = ${units} where name = ${name}`;
      });
    },
    close: () => store.close(),
  };
}
