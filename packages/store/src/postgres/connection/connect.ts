import { errorText, TreadleError, type Clock } from '@treadle/core';
import type postgres from 'postgres';
import { begin, deadlinesOf, withDeadlines } from './deadline.ts';
import { createSockets } from './sockets.ts';
import { createTurns } from './turns.ts';

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
  /** Connections at most, and at least 2, for a connection made from a URL; one more listens. Default 10. */
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
const DEFAULT_CONNECTIONS = 10;
/** How many of the connections are for transactions. */
const TRANSACTION_SHARE = 1 / 3;
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
    maxConnections = DEFAULT_CONNECTIONS,
  }: PostgresConnection,
  clock: Clock,
): Promise<Connected> {
  const { default: client } = await import('postgres').catch((cause: unknown) => {
    const message = 'Stores in Postgres need the package "postgres". Install it: npm install postgres';
    throw new TreadleError('journal_failed', message, { cause });
  });
  const sockets = createSockets();
  const deadlines = deadlinesOf(clock, answerTimeoutMs ?? statementTimeoutMs + WAY_MS, sockets);
  const isOurs = typeof connection === 'string';
  const transactions = Math.max(1, Math.floor(maxConnections * TRANSACTION_SHARE));
  const statements = Math.max(1, maxConnections - transactions);
  let sql: Sql;
  try {
    sql = isOurs ? client(connection, ourOptions(statementTimeoutMs, statements, sockets.open)) : connection;
  } catch (cause) {
    // The URL has a password in it, so nothing of it is repeated.
    throw new TreadleError(
      'journal_failed',
      "The URL of the Postgres database can't be read. It looks like postgres://user:password@host:5432/database.",
      { cause },
    );
  }
  /** More connections of the same kind. */
  const others = (options: object): Sql => {
    const own: object = {
      ...sql.options,
      ...NO_TYPES,
      socket: ('socket' in sql.options && sql.options.socket) || sockets.open,
      ...options,
    };
    return client(own);
  };
  // A BEGIN that fills the pipeline of a connection doesn't reserve it: the client reports UNSAFE_TRANSACTION, and what it
  // sends there from then on is acknowledged, and never committed. So transactions have connections of their own, each of
  // which is given one at a time.
  const transacting = others({ max: transactions });
  const inTurn = createTurns(transactions);
  const listeners = new Set<Sql>();
  return {
    sql: withDeadlines(sql, deadlines, (work) => inTurn(() => begin(transacting, deadlines, work))),
    listener(heard, closed) {
      // As the client's own `listen` does it, but on a connection that can be asked something, too.
      const listening = others({
        max: 1,
        idle_timeout: 0,
        max_lifetime: null,
        onnotify: (_channel: string, payload: string) => heard(payload),
        onclose: closed,
      });
      listeners.add(listening);
      return withDeadlines(listening, deadlines);
    },
    async end() {
      await Promise.all([...listeners].map((listening) => listening.end({ timeout: 0 })));
      // The client waits for connections that were lost, too, whose statements have failed long ago.
      const timeout = deadlines.isWaiting() ? LAST_ANSWERS_S : 0;
      await Promise.all([transacting.end({ timeout }), isOurs && sql.end({ timeout })]);
    },
  };
}

function ourOptions(statementTimeoutMs: number, max: number, socket: unknown): postgres.Options<Record<string, never>> {
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
  return new TreadleError('journal_failed', `The Postgres database failed: ${errorText(thrown)}`, { cause: thrown });
}

/** The code of an error: somebody else has written a row with the same key meanwhile. */
export const UNIQUE_VIOLATION = '23505';
