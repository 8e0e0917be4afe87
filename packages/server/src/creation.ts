import type { DurableEvent, Journal } from '@treadle/core';

export type Creation = Extract<DurableEvent, { type: 'session_created' }>;

/** The first event of a log: of a fork, that of the session it was forked from. Null for a log that begins otherwise. */
export async function creationOf(journal: Journal, sessionId: string): Promise<Creation | null> {
  for await (const event of journal.read(sessionId, 1)) return event.type === 'session_created' ? event : null;
  return null;
}
