import type { DatabaseSync } from 'node:sqlite';
import { tellingWords, wordsOf } from '@treadle/core/features';
import { journalErrors } from '@treadle/core/journal';
import {
  keptOptions,
  LONGEST_QUERY,
  MOST_WORDS,
  namespaceOf,
  rememberedText,
  shortened,
  type Kept,
  type KeptMemory,
  type KeptMemoryOptions,
  type Remembered,
} from '../kept-memory.ts';
import { transaction } from './database.ts';
import { sqliteFile, type SqliteFileOptions } from './open-file.ts';

/** The file may be the one of `sqliteJournal`. */
export interface SqliteMemoryOptions extends SqliteFileOptions, KeptMemoryOptions {}

/** A memory with a file to let go of. */
export type SqliteMemory = KeptMemory;

/**
 * The index holds words only, taken apart and put into lower case beforehand; the texts stand beside it. Each row of the index
 * has its namespace as a word too, made of a number, so that a search never walks through what others have remembered.
 * A journal that finds these tables in its file doesn't mind them.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS memory_namespaces (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  );
  CREATE TABLE IF NOT EXISTS memories (
    id INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    prompt TEXT NOT NULL,
    answer TEXT NOT NULL,
    UNIQUE (namespace, run_id)
  );
  CREATE VIRTUAL TABLE IF NOT EXISTS memory_words USING fts5 (
    scope, words,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
  );
`;

/**
 * A memory in an SQLite file with a full-text index, for any number of agents, users and processes of this machine. It keeps
 * what was asked and answered in each finished run, and brings back the runs whose words fit a new prompt best (BM25). What
 * a prompt says is only ever searched for as words: nothing in it is search syntax.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { createSession, defineAgent } from '@treadle/core';
 * import { sqliteMemory } from '@treadle/store';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const memory = sqliteMemory({ path: join(mkdtempSync(join(tmpdir(), 'treadle-')), 'memory.db') });
 * const model = scriptedModel(['Noted: you deploy on Fridays.', 'On Fridays.']);
 * const agent = defineAgent({ model, memory });
 * await (await createSession(agent)).prompt('Remember that we deploy on Fridays.').result;
 *
 * // Another session, another day.
 * await (await createSession(agent)).prompt('When do we deploy?').result;
 * console.log(JSON.stringify(model.requests[1]?.messages[0]).includes('deploy on Fridays')); // true
 * await memory.close();
 * ```
 */
export function sqliteMemory(options: SqliteMemoryOptions): SqliteMemory {
  const kept = keptOptions(options);
  const file = sqliteFile(options, 'sqliteMemory needs the path of a file.', (db) => {
    transaction(db, () => db.exec(SCHEMA));
    return db;
  });
  let closed = false;

  return {
    async retrieve({ query, signal, ...scope }) {
      if (closed) throw journalErrors.closed();
      const name = namespaceOf(kept, scope);
      const words = tellingWords(query.slice(0, LONGEST_QUERY), MOST_WORDS);
      if (words.length === 0 || signal.aborted) return [];
      return file.run((open) => search(open, name, words, kept.limit).map(rememberedText));
    },
    async update(finished) {
      const name = namespaceOf(kept, finished);
      await file.run((open) => transaction(open, () => keep(open, name, shortened(finished, kept.maxLength))));
    },
    forget: (name) => file.run((open) => transaction(open, () => forgetAll(open, name))),
    async close() {
      closed = true;
      file.close();
    },
  };
}

/** The number of a namespace; undefined when nothing was ever kept in it. */
const numberOf = (db: DatabaseSync, name: string): number | undefined =>
  db.prepare('SELECT id FROM memory_namespaces WHERE name = ?').get(name)?.['id'] as number | undefined;

/** The word that stands for a namespace in the index. Digits, so that no stemming touches it. */
const scopeWord = (id: number): string => `n${id}`;

function search(db: DatabaseSync, name: string, words: readonly string[], limit: number): Remembered[] {
  const id = numberOf(db, name);
  if (id === undefined) return [];
  // Letters and digits in quotes: nothing a person wrote is syntax here.
  const any = words.map((word) => `"${word}"`).join(' OR ');
  return db
    .prepare(
      `SELECT memories.at, memories.prompt, memories.answer
       FROM memory_words JOIN memories ON memories.id = memory_words.rowid
       WHERE memory_words MATCH :match AND memories.namespace = :namespace
       ORDER BY bm25(memory_words, 0.0, 1.0), memories.at DESC, memories.id DESC LIMIT :limit`,
    )
    .all({ match: `scope : "${scopeWord(id)}" AND words : (${any})`, namespace: id, limit }) as unknown as Remembered[];
}

/** What is said of a run last stands in the place of what was said of it before. */
function keep(db: DatabaseSync, name: string, { runId, at, prompt, answer }: Kept): void {
  db.prepare('INSERT OR IGNORE INTO memory_namespaces (name) VALUES (?)').run(name);
  const namespace = numberOf(db, name);
  if (namespace === undefined) return;
  const { id } = db
    .prepare(
      `INSERT INTO memories (namespace, run_id, at, prompt, answer) VALUES (:namespace, :runId, :at, :prompt, :answer)
       ON CONFLICT (namespace, run_id) DO UPDATE SET at = excluded.at, prompt = excluded.prompt, answer = excluded.answer
       RETURNING id`,
    )
    .get({ namespace, runId, at, prompt, answer }) as { id: number };
  const words = wordsOf(`${prompt}\n${answer}`).join(' ');
  db.prepare('DELETE FROM memory_words WHERE rowid = ?').run(id);
  db.prepare('INSERT INTO memory_words (rowid, scope, words) VALUES (?, ?, ?)').run(id, scopeWord(namespace), words);
}

function forgetAll(db: DatabaseSync, name: string): number {
  const id = numberOf(db, name);
  if (id === undefined) return 0;
  db.prepare('DELETE FROM memory_words WHERE rowid IN (SELECT id FROM memories WHERE namespace = ?)').run(id);
  return Number(db.prepare('DELETE FROM memories WHERE namespace = ?').run(id).changes);
}
