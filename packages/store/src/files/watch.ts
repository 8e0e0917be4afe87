import type { Clock } from '@treadle/core';

export interface Watchers {
  add(sessionId: string, changed: (seq: number) => void): () => void;
  /** The log of a session ends at `seq` now; told once. 0 stands for a session that is gone. */
  news(sessionId: string, seq: number): void;
  /** The session was removed. */
  removed(sessionId: string): void;
  close(): void;
}

interface Watched {
  readonly listeners: Set<{ readonly changed: (seq: number) => void }>;
  told: number;
}

/** Watches sessions: own writes at once, those of other processes by `look`, on one timer for all sessions. */
export function createWatchers(
  clock: Clock,
  pollMs: number,
  look: (sessionId: string) => Promise<number | null>,
): Watchers {
  const sessions = new Map<string, Watched>();
  let cancel: (() => void) | undefined;

  function tell(watched: Watched, seq: number): void {
    for (const { changed } of watched.listeners) {
      try {
        changed(seq);
      } catch {
        // A watcher only observes: the write is done, and its failure is its own.
      }
    }
  }

  async function poll(): Promise<void> {
    for (const [sessionId, watched] of sessions) {
      // A log that can't be read now is reported to whoever next reads or writes it.
      const seq = await look(sessionId).catch(() => watched.told);
      if (seq === null) gone(sessionId);
      else if (watched.told < 0) watched.told = seq;
      else news(sessionId, seq);
    }
    cancel = undefined;
    schedule();
  }

  function schedule(): void {
    if (sessions.size > 0) cancel ??= clock.after(pollMs, () => void poll(), { background: true });
  }

  function news(sessionId: string, seq: number): void {
    const watched = sessions.get(sessionId);
    if (!watched || seq <= watched.told) return;
    watched.told = seq;
    tell(watched, seq);
  }

  function gone(sessionId: string): void {
    const watched = sessions.get(sessionId);
    if (!watched || watched.told === 0) return;
    const last = Math.max(0, watched.told);
    watched.told = 0;
    tell(watched, last);
  }

  return {
    add(sessionId, changed) {
      // What is there when somebody begins to watch is no news.
      const watched = sessions.get(sessionId) ?? { listeners: new Set(), told: UNKNOWN };
      sessions.set(sessionId, watched);
      const listener = { changed };
      watched.listeners.add(listener);
      if (watched.told === UNKNOWN) {
        void look(sessionId).then(
          (seq) => {
            if (watched.told === UNKNOWN) watched.told = seq ?? 0;
          },
          () => {},
        );
      }
      schedule();
      return () => {
        watched.listeners.delete(listener);
        if (watched.listeners.size > 0 || sessions.get(sessionId) !== watched) return;
        sessions.delete(sessionId);
        if (sessions.size > 0) return;
        cancel?.();
        cancel = undefined;
      };
    },
    news,
    removed: gone,
    close() {
      sessions.clear();
      cancel?.();
      cancel = undefined;
    },
  };
}

const UNKNOWN = -1;
