import { parseJson } from '@treadle/core/json';
import type { KeptValue, SharedState } from '@treadle/core/ports';
import { postgresError } from '../connection/connect.ts';
import { postgresStore, type PostgresStoreOptions } from './store.ts';

/** Shared state with connections to let go of. */
export interface PostgresShared extends SharedState {
  /** Closes its connections. Calls after it reject with `journal_failed`. */
  close(): Promise<void>;
}

const tables = (at: string): string => `
  create table if not exists ${at}.shared (key text primary key, body text not null, until timestamptz not null);
  create index if not exists shared_until on ${at}.shared (until)`;

/** Milliseconds between looks for what is to be forgotten. */
const FORGET_EVERY_MS = 60_000;

/**
 * What all servers of a Postgres database count together: failed logins, used tickets, keys of replays. Each change is one
 * transaction on its row, by the database's clock. `serve({ shared })` takes it.
 *
 * It needs the package `postgres`.
 *
 * @example
 * ```ts
 * import { postgresShared } from '@treadle/store/postgres';
 *
 * const shared = postgresShared({ connection: 'postgres://localhost/agents' });
 * await shared.close(); // It connects when it is first used.
 * ```
 */
export function postgresShared(options: PostgresStoreOptions): PostgresShared {
  const store = postgresStore('postgresShared', options, tables, postgresError);
  const { schema, clock } = store;
  let forgottenAt = Number.NEGATIVE_INFINITY;

  async function forget(): Promise<void> {
    const now = clock.now();
    if (now - forgottenAt < FORGET_EVERY_MS) return;
    forgottenAt = now;
    // Another process does the same: neither waits for the other.
    await store.run(
      (sql) => sql`
        delete from ${sql(schema)}.shared where key in (
          select key from ${sql(schema)}.shared where until < clock_timestamp() for update skip locked)`,
    );
  }

  return {
    async update<Value>(
      key: string,
      next: (before: Value | null, now: number) => KeptValue<Value> | null,
    ): Promise<Value | null> {
      await forget();
      return store.run(
        (sql) =>
          sql.begin(async (transaction) => {
            // One that isn't there is made, so that there is a row to lock.
            const [row] = await transaction<{ body: string; isKept: boolean; now: string }[]>`
              insert into ${transaction(schema)}.shared as shared (key, body, until) values (${key}, 'null', '-infinity')
              on conflict (key) do update set key = excluded.key
              returning body, until > clock_timestamp() as "isKept",
                floor(extract(epoch from clock_timestamp()) * 1000)::text as now`;
            // Whoever names a key knows what it put there.
            const before = row?.isKept === true ? (parseJson(row.body) as Value) : null;
            const after = next(before, Number(row?.now));
            if (after === null) return before;
            await transaction`
              update ${transaction(schema)}.shared set body = ${JSON.stringify(after.value)},
                until = clock_timestamp() + ${after.forMs} * interval '1 ms' where key = ${key}`;
            return after.value;
          }) as Promise<Value | null>,
      );
    },
    close: () => store.close(),
  };
}
