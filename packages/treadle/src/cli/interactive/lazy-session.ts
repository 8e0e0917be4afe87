import type { TreadleEvent } from '@treadle/core';

import type { TerminalSession } from '../../terminal/session/session.ts';

/** A session that begins with the first thing that is said: a terminal that is only looked at leaves none behind. */
export function lazySession(create: () => Promise<TerminalSession>): TerminalSession {
  const made = Promise.withResolvers<TerminalSession | null>();
  let session: Promise<TerminalSession> | null = null;
  let id = '';
  const begin = (): Promise<TerminalSession> => {
    session ??= create().then((created) => {
      ({ id } = created);
      made.resolve(created);
      return created;
    });
    return session;
  };

  async function* events(): AsyncGenerator<TreadleEvent> {
    const created = await made.promise;
    if (created) yield* created.events;
  }

  return {
    get id() {
      return id;
    },
    events: events(),
    leftOut: 0,
    async *history() {
      if (session) yield* (await session).history();
    },
    async post(input) {
      // There is nothing to end before anything was said.
      if (session === null && (input.type === 'cancel' || input.type === 'clear_queue')) return;
      await (await begin()).post(input);
    },
    resume: async () => (await begin()).resume(),
    isCutOff: async () => false,
    async close() {
      made.resolve(null);
      if (session) await (await session).close();
    },
  };
}
