import type * as sqlite from 'node:sqlite';
import { TreadleError } from '@treadle/core';

type Sqlite = typeof sqlite;

/** What loading needs of `process`. */
export interface ModuleHost {
  readonly version: string;
  getBuiltinModule?(id: string): object | undefined;
  emitWarning: typeof process.emitWarning;
}

const isItsWarning = (warning: unknown, type: unknown): boolean =>
  type === 'ExperimentalWarning' && typeof warning === 'string' && /^SQLite\b/.test(warning);

/**
 * Node's own SQLite. Some releases that have it complete still announce it as experimental; that one warning is kept
 * from the terminal. Loading is synchronous, so no other code runs while warnings are looked at.
 */
export function loadSqlite(host: ModuleHost = process): Sqlite {
  const { emitWarning } = host;
  let loaded: object | undefined;
  host.emitWarning = ((...args: Parameters<typeof emitWarning>) => {
    if (!isItsWarning(args[0], args[1])) Reflect.apply(emitWarning, host, args);
  }) as typeof emitWarning;
  try {
    loaded = host.getBuiltinModule?.('node:sqlite');
  } finally {
    host.emitWarning = emitWarning;
  }
  if (!loaded) {
    throw new TreadleError(
      'journal_failed',
      `The SQLite journal needs Node 22.19 or newer; this is ${host.version}. Use a newer Node.`,
    );
  }
  return loaded as Sqlite;
}
