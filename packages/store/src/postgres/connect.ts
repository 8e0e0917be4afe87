import { errorText, TreadleError } from '@treadle/core';
import type postgres from 'postgres';

/** A client of the `postgres` package. */
export type Sql = postgres.Sql;
/** A client, or a transaction of one. */
export type Query = postgres.ISql;

/** Where the journal's tables are. */
export interface PostgresConnection {
  /** A client of the `postgres` package, which stays yours to end; or the URL of a database. */
  readonly connection: Sql | string;
  /** Milliseconds a statement may take, for a connection made from a URL. Default 30,000. */
  readonly statementTimeoutMs?: number;
  /** Connections at most, for a connection made from a URL. Default 10. */
  readonly maxConnections?: number;
}

/** A client that is ours to end, or somebody else's. */
export interface Connected {
  readonly sql: Sql;
  readonly isOurs: boolean;
}

/**
 * The client to use. The `postgres` package is loaded when it is first needed.
 *
 * @throws TreadleError `journal_failed` when the package isn't installed or the URL can't be read.
 */
export async function connect({
  connection,
  statementTimeoutMs = 30_000,
  maxConnections = 10,
}: PostgresConnection): Promise<Connected> {
  if (typeof connection === 'function') return { sql: connection, isOurs: false };
  const { default: client } = await import('postgres').catch((cause: unknown) => {
    const message = 'The Postgres journal needs the package "postgres". Install it: npm install postgres';
    throw new TreadleError('journal_failed', message, { cause });
  });
  try {
    const sql = client(connection, {
      max: maxConnections,
      connect_timeout: 10,
      // Notices are for people at a terminal.
      onnotice: () => {},
      connection: { application_name: 'treadle', statement_timeout: statementTimeoutMs },
    });
    return { sql, isOurs: true };
  } catch (cause) {
    // The URL has a password in it, so nothing of it is repeated.
    throw new TreadleError('journal_failed', "The Postgres journal's URL can't be read.", { cause });
  }
}

/** Any error of the client as the journal port reports it. */
export function postgresError(thrown: unknown): TreadleError {
  if (thrown instanceof TreadleError) return thrown;
  return new TreadleError('journal_failed', `The Postgres journal failed: ${errorText(thrown)}`, { cause: thrown });
}

const UNIQUE_VIOLATION = '23505';

/** Somebody else has written a row with the same key meanwhile. */
export const isDuplicate = (thrown: unknown): boolean =>
  (thrown as { readonly code?: unknown } | undefined)?.code === UNIQUE_VIOLATION;
