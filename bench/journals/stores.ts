// Each durable journal beside the bare store under it: the same batches of events, as text, with the same sync.

import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Journal } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';
import { fileJournal, sqliteJournal } from '@treadle/store';
import { postgresJournal } from '@treadle/store/postgres';
import postgres from 'postgres';
import { startPostgres } from './postgres.ts';

/** Something that batches of events can be appended to. */
export interface Log {
  append(events: readonly DurableEventBody[]): Promise<void>;
}

/** Where a journal is: what another process is told to open. */
export interface Place {
  readonly store: StoreName;
  readonly at: string;
}

export const journalAt = ({ store, at }: Place): Journal => {
  if (store === 'files') return fileJournal({ folder: at });
  if (store === 'sqlite') return sqliteJournal({ path: at });
  return postgresJournal({ connection: at });
};

export interface Store {
  readonly place: Place;
  /** The least that writes the same events with the same sync. */
  bare(): Promise<Log>;
  close(): Promise<void>;
}

export const STORES = ['files', 'sqlite', 'postgres'] as const;
export type StoreName = (typeof STORES)[number];

async function bareFile(path: string): Promise<Log> {
  const file = await open(path, 'w');
  let size = 0;
  return {
    async append(events) {
      const bytes = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
      await file.write(bytes, 0, bytes.length, size);
      await file.datasync();
      size += bytes.length;
    },
  };
}

async function bareSqlite(path: string): Promise<Log> {
  const db = new DatabaseSync(path);
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE bare (id INTEGER PRIMARY KEY, body TEXT)',
  );
  const insert = db.prepare('INSERT INTO bare (id, body) VALUES (?, ?)');
  let seq = 0;
  return {
    async append(events) {
      if (events.length > 1) db.exec('BEGIN IMMEDIATE');
      for (const event of events) insert.run((seq += 1), JSON.stringify(event));
      if (events.length > 1) db.exec('COMMIT');
    },
  };
}

async function barePostgres(url: string, table: string): Promise<Log> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`
    create table ${sql(table)} (session bigint not null, seq bigint not null, body text not null, primary key (session, seq))`;
  let seq = 0;
  let rows = 0;
  let insert = '';
  return {
    async append(events) {
      if (events.length !== rows) {
        rows = events.length;
        const places = events.map((_, row) => `($${3 * row + 1}, $${3 * row + 2}, $${3 * row + 3})`);
        insert = `insert into ${table} (session, seq, body) values ${places.join(', ')}`;
      }
      const values = events.flatMap((event) => [1, (seq += 1), JSON.stringify(event)]);
      await sql.unsafe(insert, values, { prepare: true });
    },
  };
}

/** A store of this kind, on the disk, in a place of its own. */
export async function openStore(name: StoreName): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-bench-'));
  let made = 0;
  const clear = (): void => rmSync(folder, { recursive: true, force: true });
  if (name === 'files') {
    return {
      place: { store: name, at: join(folder, 'journal') },
      bare: () => bareFile(join(folder, `bare-${(made += 1)}.jsonl`)),
      close: async () => clear(),
    };
  }
  if (name === 'sqlite') {
    return {
      place: { store: name, at: join(folder, 'journal.db') },
      bare: () => bareSqlite(join(folder, `bare-${(made += 1)}.db`)),
      close: async () => clear(),
    };
  }
  const server = await startPostgres(folder);
  return {
    place: { store: name, at: server.url },
    bare: () => barePostgres(server.url, `bare_${(made += 1)}`),
    async close() {
      await server.stop();
      clear();
    },
  };
}
