import type { Clock } from '@treadle/core';

/** Where a session stands: what tells it from an earlier one of its name, and the end of its log. */
export interface Standing {
  readonly id: unknown;
  readonly seq: number;
}

export interface Watched {
  readonly name: string;
  readonly listeners: Set<{ readonly changed: (seq: number) => void }>;
  /** As it was last seen; null when there was no session, undefined while nobody has looked. */
  known: Standing | null | undefined;
  /** The last number that listeners received, 0 for none. */
  told: number;
}

/** How the writes of other processes are noticed: by looks at all watched sessions, on one timer. */
export interface Polling {
  readonly clock: Clock;
  /** Milliseconds between looks. */
  readonly everyMs: number;
  /** Whether to look at all. Default: always. */
  readonly hasNews?: () => boolean;
  /** Null when there is no session, undefined when that can't be told yet. */
  readonly look: (name: string) => Promise<Standing | null | undefined> | Standing | null | undefined;
}

/** Those who watch sessions. */
export interface Watchers {
  /** The watched sessions, by their keys. */
  readonly sessions: ReadonlyMap<string, Watched>;
  add(name: string, changed: (seq: number) => void, key?: string): () => void;
  /** Compares a session with how it was seen before. The first look tells nobody: what is there then is no news. */
  saw(key: string, now: Standing | null): void;
  /** Somebody wrote up to `seq`. Each number is told once. */
  wrote(key: string, seq: number): void;
  /** The session was removed, whose log ended at `seq`. */
  removed(key: string, seq?: number): void;
  /** Looks at all that is watched, at once. */
  lookAtAll(): Promise<void>;
  close(): void;
}

export function createWatchers(polling?: Polling): Watchers {
  const sessions = new Map<string, Watched>();
  let cancel: (() => void) | undefined;

  function schedule(): void {
    if (polling && sessions.size > 0)
      cancel ??= polling.clock.after(polling.everyMs, () => void poll(polling), { background: true });
  }

  async function poll({ hasNews = () => true }: Polling): Promise<void> {
    if (hasNews()) await lookAtAll();
    cancel = undefined;
    schedule();
  }

  async function lookAtAll(): Promise<void> {
    for (const watched of sessions.values()) await lookAt(watched);
  }

  async function lookAt(watched: Watched): Promise<void> {
    try {
      const now = await polling?.look(watched.name);
      if (now !== undefined) saw(watched.name, now);
    } catch {
      // Whoever next reads or writes gets the error. What the next look finds is news, which is one call too many at worst.
      watched.known ??= null;
    }
  }

  function stop(): void {
    cancel?.();
    cancel = undefined;
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

  function wrote(key: string, seq: number): void {
    const watched = sessions.get(key);
    // A look may have found the write before it was acknowledged: what was told counts, not what is known.
    if (!watched || seq <= watched.told) return;
    watched.known = { id: watched.known?.id, seq: Math.max(seq, watched.known?.seq ?? 0) };
    watched.told = seq;
    tell(watched, seq);
  }

  function removed(key: string, seq?: number): void {
    const watched = sessions.get(key);
    if (!watched || watched.known === null) return;
    const last = seq ?? watched.known?.seq ?? 0;
    watched.known = null;
    watched.told = 0;
    tell(watched, last);
  }

  function saw(key: string, now: Standing | null): void {
    const watched = sessions.get(key);
    if (!watched) return;
    const { known } = watched;
    if (known !== undefined && now === null) return removed(key);
    watched.known = now;
    if (known === undefined || now === null) return;
    const isOther = known !== null && known.id !== undefined && known.id !== now.id;
    if (isOther) watched.told = 0;
    if (known === null || isOther || now.seq > known.seq) wrote(key, now.seq);
  }

  return {
    sessions,
    add(name, changed, key = name) {
      const watched = sessions.get(key) ?? { name, listeners: new Set(), known: undefined, told: 0 };
      sessions.set(key, watched);
      const listener = { changed };
      watched.listeners.add(listener);
      if (watched.known === undefined) void lookAt(watched);
      schedule();
      return () => {
        watched.listeners.delete(listener);
        if (watched.listeners.size > 0 || sessions.get(key) !== watched) return;
        sessions.delete(key);
        if (sessions.size === 0) stop();
      };
    },
    saw,
    wrote,
    removed,
    lookAtAll,
    close() {
      sessions.clear();
      stop();
    },
  };
}
