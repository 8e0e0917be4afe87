import type { Query } from './connection/connect.ts';
import { idOf } from './notices.ts';
import { lastEvent } from './tables.ts';

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
  /** Another process, or this one, has sent a notice. */
  heard(payload: string): void;
  /** Notices may be missing: asks where everything stands that is watched. */
  look(sql: Query, schema: string): Promise<void>;
  close(): void;
}

/** Watches sessions: own writes at once, those of other processes by Postgres's notifications. */
export function createWatchers(): Watchers {
  const sessions = new Map<string, Watched>();

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
      if (sessions.size === 0) return;
      news(sessions.get(idOf(name)), seq);
    },
    removed(name, seq) {
      gone(sessions.get(idOf(name)), seq);
    },
    heard(payload) {
      const [id = '', seq = '', removed] = payload.split(':');
      (removed === undefined ? news : gone)(sessions.get(id), Number(seq));
    },
    async look(sql, schema) {
      // No session has such a name that no text of Postgres can be.
      const names = [...sessions.values()]
        .map(({ name }) => name.toWellFormed())
        .filter((name) => !name.includes('\0'));
      if (names.length === 0) return;
      const rows = await sql<{ name: string; seq: string }[]>`
        select session.name, greatest(head.settled, last.seq) as seq from ${sql(schema)}.sessions as session
        join ${sql(schema)}.heads as head on head.session = session.id
        left join lateral ${lastEvent(sql, schema, sql`session.id`)} as last on true
        where not session.removed and session.name in (select jsonb_array_elements_text(${JSON.stringify(names)}::text::jsonb))`;
      for (const { name, seq } of rows) news(sessions.get(idOf(name)), Number(seq));
    },
    close() {
      sessions.clear();
    },
  };
}
