import { systemClock, TreadleError, type Clock } from '@treadle/core';
import { journalErrors } from '@treadle/core/journal';
import { connect, type Connected, type PostgresConnection, type Sql } from '../connection/connect.ts';
import { throughOutages } from '../connection/outage.ts';

/** Where a store keeps its tables. They may be beside those of `postgresJournal`. */
export interface PostgresStoreOptions extends PostgresConnection {
  /** The schema its tables are in, made when it isn't there. Default `treadle`. */
  readonly schema?: string;
  /** Time for ages, retries and deadlines. Default: the machine's. */
  readonly clock?: Clock;
  /** Milliseconds for which a call is tried again when the connection breaks or the server is down. Default 10,000. */
  readonly outageMs?: number;
}

/** Tables in a database, which are made when they are first used. */
export interface PostgresStore {
  readonly clock: Clock;
  /** Runs work that may be run again when nobody knows whether it was carried out. */
  run<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value>;
  close(): Promise<void>;
}

/** Few: such a store is asked once or twice per call of a model. */
const CONNECTIONS = 3;

/** @throws TreadleError `invalid_definition` when it isn't one. */
export function requireSchema(what: string, schema: string): void {
  if (/^[a-z_][a-z0-9_]{0,40}$/.test(schema)) return;
  const message = `${what}: "${schema}" is no name for a schema. Use lower-case letters, digits and _.`;
  throw new TreadleError('invalid_definition', message);
}

/**
 * @param tables the statements that make its tables where they aren't there
 * @param failed an error of the client, as the store's port reports it
 * @throws TreadleError `invalid_definition` when the schema has no plain name.
 */
export function postgresStore(
  what: string,
  options: PostgresStoreOptions,
  tables: (at: string) => string,
  failed: (thrown: unknown) => TreadleError,
): PostgresStore & { readonly schema: string } {
  const { schema = 'treadle', clock = systemClock, outageMs = 10_000 } = options;
  requireSchema(what, schema);
  let opening: Promise<Connected> | undefined;
  let closed = false;

  async function open(): Promise<Connected> {
    const connected = await connect({ maxConnections: CONNECTIONS, ...options }, clock);
    try {
      await connected.sql.begin(async (transaction) => {
        // Two processes that start together: the second waits, and finds everything made.
        await transaction`select pg_advisory_xact_lock(hashtext(${`treadle ${schema}`}))`;
        await transaction.unsafe(`create schema if not exists "${schema}"; ${tables(`"${schema}"`)}`);
      });
      return connected;
    } catch (thrown) {
      await connected.end();
      throw thrown;
    }
  }

  function whenOpen(): Promise<Connected> {
    opening ??= open().catch((thrown: unknown) => {
      // A later call tries again: the server may be up by then.
      opening = undefined;
      throw thrown;
    });
    return opening;
  }

  return {
    schema,
    clock,
    async run(work) {
      if (closed) throw journalErrors.closed();
      try {
        const isClosed = () => closed;
        return await throughOutages({ clock, outageMs, isClosed }, async () => work((await whenOpen()).sql));
      } catch (thrown) {
        throw failed(thrown);
      }
    },
    async close() {
      closed = true;
      const connected = await opening?.catch(() => undefined);
      await connected?.end();
    },
  };
}
