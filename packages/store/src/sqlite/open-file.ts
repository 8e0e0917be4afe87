import type { DatabaseSync } from 'node:sqlite';
import { systemClock, TreadleError, type Clock } from '@treadle/core';
import { journalErrors } from '@treadle/core/journal';
import { openDatabase } from './database.ts';
import { failed, isBusy, journalError } from './errors.ts';

/** Which file, and how long to wait for it. */
export interface SqliteFileOptions {
  /** The file. It and its folder are made when first needed, readable by their owner only. */
  readonly path: string;
  /** Time for leases, polling and retries. Default: the machine's. */
  readonly clock?: Clock;
  /** Milliseconds to keep trying while another process holds the file's lock, before `journal_failed`. Default 10,000. */
  readonly lockTimeoutMs?: number;
}

/** An SQLite file that is opened when it is first needed. */
export interface SqliteFile<Opened> {
  /** What was made of the open file; undefined while it isn't open. */
  readonly opened: Opened | undefined;
  /**
   * Runs `work` with the open file. While another process holds the lock, it is tried again.
   *
   * @throws TreadleError `journal_failed` after `close`, and when the lock isn't let go in time.
   */
  run<Result>(work: (opened: Opened) => Result): Promise<Result>;
  /** Closes the file. */
  close(): void;
}

const SHORTEST_WAIT = 1;
const LONGEST_WAIT = 50;

/**
 * @param needs says what needs the path of a file, for the error
 * @param prepare makes of the database what works on it; the database is closed when it throws
 * @throws TreadleError `invalid_definition` when the path isn't one of a file.
 */
export function sqliteFile<Opened>(
  { path, clock = systemClock, lockTimeoutMs = 10_000 }: SqliteFileOptions,
  needs: string,
  prepare: (db: DatabaseSync) => Opened,
): SqliteFile<Opened> {
  if (path === '' || path === ':memory:') throw new TreadleError('invalid_definition', needs);
  let closed = false;
  let current: { readonly db: DatabaseSync; readonly opened: Opened } | undefined;

  function open(): { readonly db: DatabaseSync; readonly opened: Opened } {
    const db = openDatabase(path);
    try {
      return { db, opened: prepare(db) };
    } catch (error) {
      db.close();
      throw error;
    }
  }

  return {
    get opened() {
      return current?.opened;
    },
    async run(work) {
      const deadline = clock.now() + lockTimeoutMs;
      for (let wait = SHORTEST_WAIT; ; wait = Math.min(LONGEST_WAIT, wait * 2)) {
        if (closed) throw journalErrors.closed();
        try {
          current ??= open();
          return work(current.opened);
        } catch (error) {
          if (!isBusy(error)) throw journalError(error, path);
          if (clock.now() >= deadline)
            throw failed(path, `was locked by another process for more than ${lockTimeoutMs} ms`, error);
        }
        // SQLite itself would stop the whole process while it waits.
        const pause = wait * (0.5 + Math.random());
        await new Promise<void>((resolve) => void clock.after(pause, resolve));
      }
    },
    close() {
      closed = true;
      current?.db.close();
      current = undefined;
    },
  };
}
