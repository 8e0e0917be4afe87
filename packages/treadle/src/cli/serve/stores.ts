import { errorText, TreadleError, type Blobs, type Journal, type Ledger, type Memory } from '@treadle/core';
import type { LiveBus, SharedState } from '@treadle/core/ports';

import { join } from 'node:path';

import type { CommandContext } from '../context.ts';
import { homeFolder, openBlobs } from '../parts.ts';
import { UsageError } from '../usage-error.ts';

/** Where a server is to keep what it keeps. */
export interface StoresRequest {
  /** The URL of a Postgres database; undefined for files of this machine. */
  readonly database: string | undefined;
  /** A folder for blobs, instead of the database or the home folder. */
  readonly blobs: string | undefined;
  /** Whether all servers of the database see that folder. */
  readonly isShared: boolean;
  /** US dollars that all sessions may cost together. */
  readonly maxCost: number | undefined;
  readonly memory: boolean;
}

/** What a server keeps sessions, and what goes with them, in. */
export interface Stores {
  readonly journal: Journal;
  readonly blobs: Blobs;
  readonly ledger: Ledger | null;
  readonly memory: Memory | null;
  /** The way to other servers, for live text; null where there can't be one. */
  readonly bus: LiveBus | null;
  /** What servers of one database count together; null where there is none. */
  readonly shared: SharedState | null;
  close(): Promise<void>;
}

type Opened<Store> = Store & { close(): Promise<void> };

/**
 * Opens the stores of a server, and asks a database for an answer: a server that can't keep anything doesn't start.
 *
 * @throws UsageError for a URL that can't be one, or a folder that other servers may not see; TreadleError `journal_failed`
 * when the database doesn't answer, `journal_too_new` when a newer version has written to it.
 */
export async function openStores({ io, parts, note }: CommandContext, request: StoresRequest): Promise<Stores> {
  const { database, maxCost } = request;
  const stores = database === undefined ? await inFiles() : await inPostgres(database);
  const { journal, blobs } = stores;
  let bus: LiveBus | null = null;
  const close = async (): Promise<void> => {
    const { ledger, memory, shared } = stores;
    await Promise.all([bus?.close(), ledger?.close(), memory?.close(), shared?.close(), stores.blobs.close?.()]);
    await journal.close();
  };
  try {
    if (database !== undefined) await journal.list({ limit: 1 }).catch(explain);
    if (stores.ledger && maxCost !== undefined) await raiseTo(stores.ledger, maxCost);
    bus = await stores.bus().catch((error: unknown) => {
      note(`Readers at other servers see no live text: ${errorText(error)}`);
      return null;
    });
    return { journal, blobs, ledger: stores.ledger, memory: stores.memory, shared: stores.shared, bus, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }

  async function inFiles() {
    const { fileBlobs, localBus, sqliteLedger, sqliteMemory } = await import('@treadle/store');
    const path = join(homeFolder(io), 'sessions.db');
    return {
      journal: await parts.journal(io),
      blobs: (request.blobs === undefined ? await openBlobs(io) : fileBlobs({ folder: request.blobs })) as Closing,
      ledger: maxCost === undefined ? null : (sqliteLedger({ path, limit: maxCost }) as Opened<Ledger>),
      memory: request.memory ? (sqliteMemory({ path }) as Opened<Memory>) : null,
      shared: null,
      bus: () => localBus({ folder: join(homeFolder(io), 'live') }),
    };
  }

  async function inPostgres(url: string) {
    const connection = checkUrl(url);
    if (request.blobs !== undefined && !request.isShared) {
      throw new UsageError(
        `Servers of one database need blobs that all of them see, and ${request.blobs} is a folder. ` +
          'If they share it, add --shared-folder; without --blobs the database keeps them.',
      );
    }
    const { fileBlobs } = await import('@treadle/store');
    const { postgresBlobs, postgresBus, postgresJournal, postgresLedger, postgresMemory, postgresShared } =
      await import('@treadle/store/postgres');
    return {
      journal: postgresJournal({ connection }),
      blobs: (request.blobs === undefined
        ? postgresBlobs({ connection })
        : fileBlobs({ folder: request.blobs })) as Closing,
      ledger: maxCost === undefined ? null : (postgresLedger({ connection, limit: maxCost }) as Opened<Ledger>),
      memory: request.memory ? (postgresMemory({ connection }) as Opened<Memory>) : null,
      shared: postgresShared({ connection }),
      bus: () => postgresBus({ connection }),
    };
  }
}

/** Blobs that may have something to let go of. */
type Closing = Blobs & { close?(): Promise<void> };

/** What a person can do about a database that can't be used. */
function explain(error: unknown): never {
  if (!(error instanceof TreadleError) || !['journal_failed', 'journal_timeout'].includes(error.code)) throw error;
  const message = `${error.code}: ${error.message}. Is it up, and are the address, the name, the user and PGPASSWORD right?`;
  throw new TreadleError(error.code, message, { cause: error });
}

/** A ledger that is there already keeps its limit, and a server that allows more raises it. */
async function raiseTo(ledger: Ledger, limit: number): Promise<void> {
  if ((await ledger.balance()).limit >= limit) return;
  await ledger.raise(limit).catch((error: unknown) => {
    // Another server has just raised it to more.
    if (!(error instanceof TreadleError) || error.code !== 'invalid_definition') throw error;
  });
}

/** The URL itself is never repeated: there may be a password in it. @throws UsageError */
export function checkUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed && ['postgres:', 'postgresql:'].includes(parsed.protocol) && parsed.hostname !== '') return url;
  throw new UsageError(
    '--database takes the URL of a Postgres database, such as postgres://user@host:5432/agents. ' +
      'PGPASSWORD may have the password, so that it is in no list of processes.',
  );
}
