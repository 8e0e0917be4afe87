import { systemClock, type Session, type TreadleEvent } from '@treadle/core';
import type { LiveFeed } from '@treadle/core/ports';

import { join } from 'node:path';

import type { CliIo } from '../io.ts';
import { homeFolder } from '../parts.ts';

/** Live text: of the sessions that are driven here, told to the user's other processes, and of those that they drive. */
export interface Live extends LiveFeed {
  /** A session is driven here, until what it returns is called. */
  add(session: Session): () => void;
  close(): Promise<void>;
}

/** @param isShared false tells other processes nothing */
export async function openLive(io: CliIo, isShared: boolean): Promise<Live> {
  const { localBus } = await import('@treadle/store');
  const { sharedFeed } = await import('@treadle/server/live');
  const sessions = new Map<string, Session>();
  const listeners = new Map<string, Set<(event: TreadleEvent) => void>>();
  const here: LiveFeed = {
    subscribe(sessionId, tell) {
      const told = listeners.get(sessionId) ?? new Set();
      listeners.set(sessionId, told.add(tell));
      return () => void told.delete(tell);
    },
    openMessage: (sessionId) => sessions.get(sessionId)?.openMessage() ?? [],
  };
  // A session goes on without it: others see then what is in its log.
  const bus = isShared ? await localBus({ folder: join(homeFolder(io), 'live') }).catch(() => null) : null;
  const shared = bus && sharedFeed({ live: here, bus, clock: systemClock });
  return {
    ...(shared ?? here),
    add(session) {
      sessions.set(session.id, session);
      const stop = session.subscribe((event) => {
        for (const tell of listeners.get(session.id) ?? []) tell(event);
      });
      return () => {
        stop();
        if (sessions.get(session.id) === session) sessions.delete(session.id);
      };
    },
    async close() {
      shared?.stop();
      await bus?.close();
    },
  };
}
