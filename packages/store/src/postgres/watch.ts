import { createHash } from 'node:crypto';
import type { Sql } from './connect.ts';

interface Watched {
  readonly name: string;
  readonly listeners: Set<{ readonly changed: (seq: number) => void }>;
  /** The last number listeners have been told of, 0 for none. */
  told: number;
  /** True once its removal was told, until something has that name again. */
  isRemoved: boolean;
}

export interface Watchers {
  add(name: string, changed: (seq: number) => void): () => void;
  /** This process wrote up to `seq`. */
  wrote(name: string, seq: number): void;
  /** This process removed the session. */
  removed(name: string, seq: number): void;
  /** Hears of other processes' writes from now on. */
  listen(sql: Sql, schema: string): Promise<void>;
  close(): Promise<void>;
}

const idOf = (name: string): string => createHash('md5').update(name).digest('hex');

/** Watches sessions: own writes at once, those of other processes by Postgres's notifications. */
export function createWatchers(channel: string): Watchers {
  const sessions = new Map<string, Watched>();
  let stop: (() => Promise<void>) | null = null;

  /** Own writes come back as notifications, before or after their acknowledgement: each is told once. */
  function news(watched: Watched | undefined, seq: number): void {
    if (!watched || seq <= watched.told) return;
    watched.told = seq;
    watched.isRemoved = false;
    tell(watched, seq);
  }

  /** Whatever has that name later begins anew. */
  function gone(watched: Watched | undefined, seq: number): void {
    if (!watched || watched.isRemoved) return;
    watched.told = 0;
    watched.isRemoved = true;
    tell(watched, seq);
  }

  function tell(watched: Watched, seq: number): void {
    for (const { changed } of watched.listeners) {
      try {
        changed(seq);
      } catch {
        // A watcher only observes: the write is done, and its failure is its own.
      }
    }
  }

  function heard(payload: string): void {
    const [id = '', seq = '', removed] = payload.split(':');
    (removed === undefined ? news : gone)(sessions.get(id), Number(seq));
  }

  /** After a connection was lost, notifications may be missing: where everything stands is asked for. */
  async function lookAgain(sql: Sql, schema: string): Promise<void> {
    const watched = [...sessions.values()];
    if (watched.length === 0) return;
    const rows = await sql<{ name: string; seq: string }[]>`
      select name, seq from ${sql(schema)}.sessions
      where not removed and name in ${sql(watched.map(({ name }) => name))}`;
    for (const { name, seq } of rows) news(sessions.get(idOf(name)), Number(seq));
  }

  return {
    add(name, changed) {
      const id = idOf(name);
      const watched = sessions.get(id) ?? { name, listeners: new Set(), told: 0, isRemoved: false };
      sessions.set(id, watched);
      const listener = { changed };
      watched.listeners.add(listener);
      return () => {
        watched.listeners.delete(listener);
        if (watched.listeners.size === 0 && sessions.get(id) === watched) sessions.delete(id);
      };
    },
    wrote(name, seq) {
      news(sessions.get(idOf(name)), seq);
    },
    removed(name, seq) {
      gone(sessions.get(idOf(name)), seq);
    },
    async listen(sql, schema) {
      const listening = await sql.listen(channel, heard, () => {
        // Whoever next reads or writes gets the error.
        lookAgain(sql, schema).catch(() => {});
      });
      stop = () => listening.unlisten();
    },
    async close() {
      sessions.clear();
      await stop?.();
    },
  };
}
