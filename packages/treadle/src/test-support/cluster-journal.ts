import type { Journal } from '@treadle/core';
import { fileJournal, sqliteJournal } from '@treadle/store';
import { postgresJournal } from '@treadle/store/postgres';

/** What a server process is started with. */
export interface ClusterProcess {
  /** The path of an SQLite file (`….db`) or of a folder, or the URL of a database. */
  readonly journal: string;
  /** The file that has what its tools did. */
  readonly world: string;
  /** Milliseconds that each tool and each reply takes. */
  readonly workMs: number;
  readonly leaseMs?: number;
}

/** The journal of a process. */
export function openJournal({ journal, leaseMs }: Pick<ClusterProcess, 'journal' | 'leaseMs'>): Journal {
  const lease = leaseMs === undefined ? {} : { leaseMs };
  if (journal.startsWith('postgres:')) return postgresJournal({ connection: journal, maxConnections: 4, ...lease });
  return journal.endsWith('.db')
    ? sqliteJournal({ path: journal, ...lease })
    : fileJournal({ folder: journal, ...lease });
}
