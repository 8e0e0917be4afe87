import { errorText, TreadleError } from '@treadle/core';

/** Primary result codes of SQLite: https://www.sqlite.org/rescode.html */
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

function primaryCode(thrown: unknown): number | undefined {
  const code = (thrown as { errcode?: unknown } | undefined)?.errcode;
  return typeof code === 'number' ? code & 0xff : undefined;
}

/** Another connection holds the lock right now. */
export function isBusy(thrown: unknown): boolean {
  const code = primaryCode(thrown);
  return code === BUSY || code === LOCKED;
}

export const corrupt = (path: string, what: string, cause?: unknown): TreadleError =>
  new TreadleError('journal_corrupt', `The journal ${path} is damaged: ${what}. Restore it from a copy.`, {
    cause,
    details: { path },
  });

export const failed = (path: string, what: string, cause?: unknown): TreadleError =>
  new TreadleError('journal_failed', `The journal ${path} ${what}.`, { cause, details: { path } });

/** What is said of an error, by its code; others are said as they are. */
const FAILURES: Readonly<Record<number, (why: string) => string>> = {
  [FULL]: () => 'could not be written: the disk is full. Free some space and try again',
  [READONLY]: () => "can be read, and can't be written. Check its permissions and those of its folder",
  [CANNOT_OPEN]: () =>
    'could not be opened. Check that its folder exists and can be written. Where it is read-only, and a file with the ' +
    'ending -wal lies beside the journal, copy both to where they can be written',
  [IO_ERROR]: (why) => `could not be read or written: ${why}`,
};

/** Any error of SQLite or the file system as the journal port reports it. */
export function journalError(thrown: unknown, path: string): TreadleError {
  if (thrown instanceof TreadleError) return thrown;
  const code = primaryCode(thrown) ?? 0;
  const why = errorText(thrown);
  if (code === CORRUPT) return corrupt(path, why, thrown);
  if (code === NOT_A_DATABASE) return corrupt(path, 'it is not an SQLite file', thrown);
  return failed(path, FAILURES[code]?.(why) ?? `failed: ${why}`, thrown);
}
