import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Journal } from '@treadle/core';
import type { CrashStore } from '@treadle/testing';
import { fileJournal, sqliteJournal } from '../index.ts';
import { postgresJournal } from '../postgres.ts';
import type { ProcessTable } from '../processes.ts';

export type StoreKind = 'SQLite' | 'files' | 'Postgres';

/** Which journal, and where: what a process is told to open. For Postgres `place` is a URL and the name of a schema. */
export interface StoreAt {
  readonly kind: StoreKind;
  readonly place: string;
  readonly schema?: string;
}

/** Opens it. `processes`: what the journal takes for the processes of the machine; by default, those there are. */
export function openStore({ kind, place, schema = 'treadle' }: StoreAt, processes?: ProcessTable): Journal {
  const more = processes === undefined ? {} : { processes };
  // However slow the machine is: a test is about what comes of a lock, not about when.
  const lockTimeoutMs = 60_000;
  if (kind === 'SQLite') return sqliteJournal({ path: join(place, 'journal.db'), lockTimeoutMs, ...more });
  if (kind === 'files') return fileJournal({ folder: join(place, 'journal'), pollMs: 10, lockTimeoutMs, ...more });
  return postgresJournal({ connection: place, schema, maxConnections: 3, ...more });
}

/** What is opened in a test, with all that is to be let go of after it. */
export interface TestStore extends CrashStore {
  readonly at: StoreAt;
  open(processes?: ProcessTable): Promise<Journal>;
  dispose(): Promise<void>;
}

let schemas = 0;

/** A fresh store of a kind. `place`: the folder to make it in, or the URL of a Postgres database. */
export function newStore(kind: StoreKind, place: string = tmpdir()): TestStore {
  const folder = kind === 'Postgres' ? null : mkdtempSync(join(place, 'treadle-store-'));
  const at: StoreAt = { kind, place: folder ?? place, schema: `case_${process.pid}_${(schemas += 1)}` };
  const opened: Journal[] = [];
  return {
    at,
    async open(processes) {
      const journal = openStore(at, processes);
      opened.push(journal);
      return journal;
    },
    async dispose() {
      await Promise.all(opened.map((journal) => journal.close()));
      if (folder !== null) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A program that opens such a store and takes part in a scenario: a module beside this one. */
export const programOf = (module: string, at: StoreAt) => ({
  module: new URL(module, import.meta.url),
  execArgv: ['--conditions=treadle-source'],
  input: at,
});
