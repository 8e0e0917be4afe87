import { tellingWords, wordsOf } from '@treadle/core/features';
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
} from '../../kept-memory.ts';
import { postgresError, type Sql } from '../connection/connect.ts';
import { postgresStore, type PostgresStoreOptions } from './store.ts';

/** Options of {@link postgresMemory}. */
export interface PostgresMemoryOptions extends PostgresStoreOptions, KeptMemoryOptions {}

/** A memory with connections to let go of. */
export type PostgresMemory = KeptMemory;

/** Each row of the index has its namespace as a word, so that a search never walks through what others have remembered. */
const tables = (at: string): string => `
  create table if not exists ${at}.memories (
    id bigint generated always as identity primary key,
    namespace text not null,
    run_id text not null,
    at bigint not null,
    prompt text not null,
    answer text not null,
    words tsvector not null,
    unique (namespace, run_id)
  );
  create index if not exists memories_words on ${at}.memories using gin (words)`;

/** A longer one is no word, and the server refuses to search for it. */
const LONGEST_WORD = 200;

/** Accents of letters, which a search ignores. */
const ACCENTS = /[\u0300-\u036f]/g;

/** Letters and digits only: nothing that a person wrote is search syntax. */
const indexed = (words: readonly string[]): string[] =>
  words
    .filter(({ length }) => length <= LONGEST_WORD)
    .map((word) => word.normalize('NFD').replaceAll(ACCENTS, '').normalize('NFC'));

/** A text of Postgres has neither NUL nor halves of characters in it. */
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/**
 * A memory in a Postgres database with a full-text index, for any number of agents, users and machines. It keeps what was
 * asked and answered in each finished run, and brings back the runs whose words fit a new prompt best. What a prompt says is
 * only ever searched for as words: nothing in it is search syntax.
 *
 * It needs the package `postgres`.
 *
 * @example
 * ```ts
 * import { postgresMemory } from '@treadle/store/postgres';
 *
 * const memory = postgresMemory({ connection: 'postgres://localhost/agents' });
 * await memory.close(); // It connects when it is first used.
 * ```
 */
export function postgresMemory(options: PostgresMemoryOptions): PostgresMemory {
  const kept = keptOptions(options);
  const store = postgresStore('postgresMemory', options, tables, postgresError);
  const { schema } = store;
  return {
    async retrieve({ query, signal, ...scope }) {
      const name = namespaceOf(kept, scope);
      const words = indexed(tellingWords(query.slice(0, LONGEST_QUERY), MOST_WORDS));
      if (signal.aborted) return [];
      // Also for no words: a memory that is closed says so.
      const found = await store.run(async (sql) =>
        words.length === 0 ? [] : search(sql, schema, name, words, kept.limit),
      );
      return found.map(rememberedText);
    },
    async update(finished) {
      const name = namespaceOf(kept, finished);
      await store.run((sql) => keep(sql, schema, name, shortened(finished, kept.maxLength)));
    },
    forget: (name) =>
      store.run(async (sql) => (await sql`delete from ${sql(schema)}.memories where namespace = ${name}`).count),
    close: () => store.close(),
  };
}

async function search(
  sql: Sql,
  schema: string,
  name: string,
  words: readonly string[],
  limit: number,
): Promise<Remembered[]> {
  const any = words.map((word) => `'${word}'`).join(' | ');
  const rows = await sql<{ at: string; prompt: string; answer: string }[]>`
    with query as (select to_tsquery('english', ${any}) as any)
    select memory.at, memory.prompt, memory.answer from ${sql(schema)}.memories as memory, query
    where memory.words @@ (query.any && ${`'${quoted(`namespace ${name}`)}'`}::tsquery) and memory.namespace = ${name}
    order by ts_rank(memory.words, query.any, 1) desc, memory.at desc, memory.id desc limit ${limit}`;
  return rows.map(({ at, ...row }) => ({ ...row, at: Number(at) }));
}

/** As part of a text in quotes of a search. */
const quoted = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll("'", "''");

/** What is said of a run last stands in the place of what was said of it before. */
async function keep(sql: Sql, schema: string, name: string, { runId, at, prompt, answer }: Kept): Promise<void> {
  const words = indexed(wordsOf(`${prompt}\n${answer}`)).join(' ');
  await sql`
    insert into ${sql(schema)}.memories (namespace, run_id, at, prompt, answer, words)
    values (${name}, ${runId}, ${at}, ${storable(prompt)}, ${storable(answer)},
      to_tsvector('english', ${words}) || array_to_tsvector(array[${`namespace ${name}`}]))
    on conflict (namespace, run_id) do update
      set at = excluded.at, prompt = excluded.prompt, answer = excluded.answer, words = excluded.words`;
}
