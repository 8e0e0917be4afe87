import { systemClock } from '@treadle/core';
import { connect, postgresError, type PostgresConnection } from './connection/connect.ts';
import { isBehindPooler } from './members.ts';

/** What servers can make of a Postgres database. */
export interface PostgresReport {
  /** Of Postgres, such as `17.2`. */
  readonly version: string;
  /**
   * Whether something between here and the server shares connections, such as pgbouncer. Then a process that dies is noticed by
   * its lease alone, and `NOTIFY` may reach nobody.
   */
  readonly isPooled: boolean;
}

/** Statements in which a pooler may show itself: each may be answered by another connection behind it. */
const TRIES = 3;

/**
 * Asks a database what it is, and whether it is reached directly. Nothing is made or changed in it.
 *
 * @throws TreadleError `journal_failed` when it doesn't answer, or when the package `postgres` isn't there.
 */
export async function inspectPostgres(options: PostgresConnection): Promise<PostgresReport> {
  const connected = await connect({ maxConnections: 2, ...options }, systemClock);
  try {
    const sql = connected.listener(
      () => {},
      () => {},
    );
    const [row] = await sql<{ version: string }[]>`select current_setting('server_version') as version`;
    let isPooled = false;
    for (let tried = 0; tried < TRIES && !isPooled; tried += 1) isPooled = await isBehindPooler(sql);
    return { version: row?.version.split(' ')[0] ?? '', isPooled };
  } catch (thrown) {
    throw postgresError(thrown);
  } finally {
    await connected.end();
  }
}
