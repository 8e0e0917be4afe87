import type { Clock } from '@treadle/core';
import type { Store } from './statements.ts';
import { findSession } from './statements.ts';

type Listener = (seq: number) => void;

/** Where a session stood: its row, and the end of its log. */
interface Standing {
  readonly id: number;
  readonly seq: number;
}

interface Watched {
  readonly listeners: Set<{ readonly changed: Listener }>;
  /** What listeners know of; null when there was no session, undefined when nobody has looked yet. */
  known: Standing | null | undefined;
}

export interface Watchers {
  add(name: string, changed: Listener): () => void;
  /** This process wrote up to `seq`. */
  wrote(name: string, seq: number): void;
  /** This process removed the session. */
  removed(name: string): void;
  /** The file is open: from now on others' writes are noticed. */
  opened(store: Store): void;
  close(): void;
}

function tell(watched: Watched, seq: number): void {
  for (const listener of watched.listeners) {
    try {
      listener.changed(seq);
    } catch {
      // A watcher only observes: the write is done, and its failure is its own.
    }
  }
}

/**
 * Watches sessions: own writes at once; those of other processes by asking SQLite, on one timer for all sessions, whether
 * anyone else committed since, and only then looking at the sessions themselves.
 */
export function createWatchers(clock: Clock, pollMs: number): Watchers {
  const sessions = new Map<string, Watched>();
  let open: Store | undefined;
  let version: unknown;
  let cancel: (() => void) | undefined;

  function look(store: Store): void {
    for (const [name, watched] of sessions) {
      const now = findSession(store, name) ?? null;
      const { known } = watched;
      watched.known = now;
      if (now?.id !== known?.id || now?.seq !== known?.seq) tell(watched, now?.seq ?? known?.seq ?? 0);
    }
  }

  function poll(): void {
    cancel = undefined;
    try {
      const now = open?.dataVersion.get()?.['data_version'];
      if (open && now !== version) {
        look(open);
        version = now;
      }
    } catch {
      // Locked or failing just now: whoever next reads or writes gets the error, and the next tick looks again.
    }
    schedule();
  }

  function schedule(): void {
    if (open && sessions.size > 0 && !cancel) cancel = clock.after(pollMs, poll, { background: true });
  }

  /** Notes where a session stands, so that only what comes later is news. */
  function note(name: string, watched: Watched): void {
    if (!open || watched.known !== undefined) return;
    try {
      watched.known = findSession(open, name) ?? null;
    } catch {
      // Still unknown: the next look reports it as news, which is one call too many at worst.
    }
  }

  return {
    add(name, changed) {
      const watched = sessions.get(name) ?? { listeners: new Set(), known: undefined };
      sessions.set(name, watched);
      const listener = { changed };
      watched.listeners.add(listener);
      note(name, watched);
      schedule();
      return () => {
        watched.listeners.delete(listener);
        if (watched.listeners.size > 0 || sessions.get(name) !== watched) return;
        sessions.delete(name);
        if (sessions.size > 0) return;
        cancel?.();
        cancel = undefined;
      };
    },
    wrote(name, seq) {
      const watched = sessions.get(name);
      if (!watched) return;
      // Not read anew: what another process wrote since is still news.
      if (watched.known) watched.known = { id: watched.known.id, seq: Math.max(seq, watched.known.seq) };
      tell(watched, seq);
    },
    removed(name) {
      const watched = sessions.get(name);
      if (!watched) return;
      const seq = watched.known?.seq ?? 0;
      watched.known = null;
      tell(watched, seq);
    },
    opened(store) {
      open = store;
      for (const [name, watched] of sessions) note(name, watched);
      schedule();
    },
    close() {
      sessions.clear();
      open = undefined;
      cancel?.();
      cancel = undefined;
    },
  };
}
