import { errorText, TreadleError, type Clock } from '@treadle/core';
import type postgres from 'postgres';
import { deadlinesOf, withDeadlines } from './deadline.ts';
import { createSockets } from './sockets.ts';

/** A client of the `postgres` package. */
export type Sql = postgres.Sql;
/** A client, or a transaction of one. */
export type Query = postgres.ISql;
/** A part of a statement. */
export type Part = postgres.PendingQuery<postgres.Row[]>;

/** Where the journal's tables are. */
export interface PostgresConnection {
  /** A client of the `postgres` package, which stays yours to end; or the URL of a database. */
  readonly connection: Sql | string;
  /** Milliseconds after which the server ends a statement, for a connection made from a URL. Default 30,000. */
  readonly statementTimeoutMs?: number;
  /**
   * Milliseconds for which a server may leave a statement unanswered, and up to a quarter of them more. Then its connection is given up and replaced (a
   * connection of your own client is yours), and the error is `journal_timeout`. Default: `statementTimeoutMs` and 5,000 more.
   */
  readonly answerTimeoutMs?: number;
  /** Connections at most, for a connection made from a URL. Default 10. */
  readonly maxConnections?: number;
}

/** A database that can be asked, each time with a deadline. */
export interface Connected {
  readonly sql: Sql;
  /** A connection of its own, for what the server says by itself. */
  listener(heard: (payload: string) => void, closed: () => void): Sql;
  /** Lets go of what is ours. */
  end(): Promise<void>;
}

const DEFAULT_STATEMENT_TIMEOUT_MS = 30_000;
/** What is under way when the journal is closed has so long. */
const LAST_ANSWERS_S = 5;
/**
 * The client asks a new connection for the types of arrays, of which there are none in our statements. When the server ends
 * the connection meanwhile, nobody waits for that answer, and the failure ends the process.
 */
const NO_TYPES = { fetch_types: false };
/** For the way there and back. */
const WAY_MS = 5000;

/**
 * The client to use. The `postgres` package is loaded when it is first needed.
 *
 * @throws TreadleError `journal_failed` when the package isn't installed or the URL can't be read.
 */
export async function connect(
  {
    connection,
    statementTimeoutMs = DEFAULT_STATEMENT_TIMEOUT_MS,
    answerTimeoutMs,
    maxConnections,
  }: PostgresConnection,
  clock: Clock,
): Promise<Connected> {
  const { default: client } = await import('postgres').catch((cause: unknown) => {
    const message = 'The Postgres journal needs the package "postgres". Install it: npm install postgres';
    throw new TreadleError('journal_failed', message, { cause });
  });
  const sockets = createSockets();
  const deadlines = deadlinesOf(clock, answerTimeoutMs ?? statementTimeoutMs + WAY_MS, sockets);
  const isOurs = typeof connection === 'string';
  let sql: Sql;
  try {
    sql = isOurs ? client(connection, ourOptions(statementTimeoutMs, maxConnections, sockets.open)) : connection;
  } catch (cause) {
    // The URL has a password in it, so nothing of it is repeated.
    throw new TreadleError('journal_failed', "The Postgres journal's URL can't be read.", { cause });
  }
  const listeners = new Set<Sql>();
  return {
    sql: withDeadlines(sql, deadlines),
    listener(heard, closed) {
      // As the client's own `listen` does it, but on a connection that can be asked something, too.
      const { options } = sql;
      const own: object = {
        ...options,
        ...NO_TYPES,
        max: 1,
        idle_timeout: 0,
        max_lifetime: null,
        onnotify: (_channel: string, payload: string) => heard(payload),
        onclose: closed,
        socket: ('socket' in options && options.socket) || sockets.open,
      };
      const listening = client(own);
      listeners.add(listening);
      return withDeadlines(listening, deadlines);
    },
    async end() {
      await Promise.all([...listeners].map((listening) => listening.end({ timeout: 0 })));
      // The client waits for connections that were lost, too, whose statements have failed long ago.
      if (isOurs) await sql.end({ timeout: deadlines.isWaiting() ? LAST_ANSWERS_S : 0 });
    },
  };
}

function ourOptions(statementTimeoutMs: number, max = 10, socket: unknown): postgres.Options<Record<string, never>> {
  const options = {
    ...NO_TYPES,
    max,
    connect_timeout: 10,
    // Notices are for people at a terminal.
    onnotice: () => {},
    connection: { application_name: 'treadle', statement_timeout: statementTimeoutMs },
    socket,
  };
  return options;
}

/** Any error of the client as the journal port reports it. */
export function postgresError(thrown: unknown): TreadleError {
  if (thrown instanceof TreadleError) return thrown;
  return new TreadleError('journal_failed', `The Postgres journal failed: ${errorText(thrown)}`, { cause: thrown });
}

/** The code of an error: somebody else has written a row with the same key meanwhile. */
export const UNIQUE_VIOLATION = '23505';
