import type { Clock } from '@treadle/core';

export interface Watchers {
  add(sessionId: string, changed: (seq: number) => void): () => void;
  /** This process wrote up to `seq`. Told once, and always: it was written after whoever watches began to. */
  wrote(sessionId: string, seq: number): void;
  /** The session was removed. */
  removed(sessionId: string): void;
  close(): void;
}

interface Watched {
  readonly listeners: Set<{ readonly changed: (seq: number) => void }>;
  /** Where the log stood when it was last looked at or told of; `UNKNOWN` until the first look is done. */
  known: number;
  /** The last number that listeners were told of, 0 for none. */
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
      const seq = await look(sessionId).catch(() => watched.known);
      if (seq === null) gone(sessionId);
      else if (watched.known === UNKNOWN) watched.known = seq;
      else if (seq > watched.known) wrote(sessionId, seq);
    }
    cancel = undefined;
    schedule();
  }

  function schedule(): void {
    if (sessions.size > 0) cancel ??= clock.after(pollMs, () => void poll(), { background: true });
  }

  /** A look may have found the write before it was acknowledged: what was told counts, not what is known. */
  function wrote(sessionId: string, seq: number): void {
    const watched = sessions.get(sessionId);
    if (!watched || seq <= watched.told) return;
    watched.known = Math.max(watched.known, seq);
    watched.told = seq;
    tell(watched, seq);
  }

  function gone(sessionId: string): void {
    const watched = sessions.get(sessionId);
    if (!watched || watched.known === 0) return;
    const last = Math.max(0, watched.known);
    watched.known = 0;
    watched.told = 0;
    tell(watched, last);
  }

  return {
    add(sessionId, changed) {
      // What is there when somebody begins to watch is no news.
      const watched = sessions.get(sessionId) ?? { listeners: new Set(), known: UNKNOWN, told: 0 };
      sessions.set(sessionId, watched);
      const listener = { changed };
      watched.listeners.add(listener);
      if (watched.known === UNKNOWN) {
        void look(sessionId).then(
          (seq) => {
            if (watched.known === UNKNOWN) watched.known = seq ?? 0;
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
    wrote,
    removed: gone,
    close() {
      sessions.clear();
      cancel?.();
      cancel = undefined;
    },
  };
}

const UNKNOWN = -1;
