import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Journal } from '@treadle/core';
import type { CrashStore } from '@treadle/testing';
import { fileJournal, sqliteJournal } from '../index.ts';
import { postgresJournal } from '../postgres.ts';

/** Which journal, and where: what a process is told to open. For Postgres `place` is a URL and the name of a schema. */
export interface StoreAt {
  readonly kind: 'SQLite' | 'files' | 'Postgres';
  readonly place: string;
  readonly schema?: string;
}

export function openStore({ kind, place, schema = 'treadle' }: StoreAt): Journal {
  if (kind === 'SQLite') return sqliteJournal({ path: join(place, 'journal.db') });
  if (kind === 'files') return fileJournal({ folder: join(place, 'journal'), pollMs: 10 });
  return postgresJournal({ connection: place, schema, maxConnections: 3 });
}

/** What is opened in a test, with all that is to be let go of after it. */
export interface TestStore extends CrashStore {
  readonly at: StoreAt;
  dispose(): Promise<void>;
}

let schemas = 0;

/** A fresh store of a kind. `place`: the folder to make it in, or the URL of a Postgres database. */
export function newStore(kind: StoreAt['kind'], place: string = tmpdir()): TestStore {
  const folder = kind === 'Postgres' ? null : mkdtempSync(join(place, 'treadle-store-'));
  const at: StoreAt = { kind, place: folder ?? place, schema: `case_${process.pid}_${(schemas += 1)}` };
  const opened: Journal[] = [];
  return {
    at,
    async open() {
      const journal = openStore(at);
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
