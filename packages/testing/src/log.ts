import { memoryJournal, type DurableEvent, type Journal } from '@treadle/core';
import type { DurableEventBody } from '@treadle/core/events';

/** All events of a session, oldest first. */
export async function logOf(journal: Journal, sessionId: string): Promise<DurableEvent[]> {
  const events: DurableEvent[] = [];
  for await (const event of journal.read(sessionId, 1)) events.push(event);
  return events;
}

/**
 * A journal that holds exactly these events of one session, as a process that died after the last of them would have left
 * it: for tests of what the next process makes of it. The session's id is that of its first event. Without a journal to
 * put them in, it is one in memory.
 *
 * @throws TypeError when the events don't start with `session_created`.
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal, openSession } from '@treadle/core';
 * import { journalOf, logOf, scriptedModel } from '@treadle/testing';
 *
 * const agent = defineAgent({ model: scriptedModel(['Hello.', 'Hello again.']) });
 * const journal = memoryJournal();
 * const session = await createSession(agent, { journal });
 * await session.prompt('Hi').result;
 *
 * // The process died before the run's end was written.
 * const events = await logOf(journal, session.id);
 * const later = await openSession(agent, session.id, { journal: await journalOf(events.slice(0, -1)) });
 * console.log(later.status, (await later.resume().result).status); // running completed
 * ```
 */
export async function journalOf(events: readonly DurableEvent[], journal: Journal = memoryJournal()): Promise<Journal> {
  const [created, ...rest] = events.map(({ seq: _, ...body }) => body as DurableEventBody);
  if (created?.type !== 'session_created') throw new TypeError('A log starts with session_created.');
  const { sessionId } = created;
  await journal.create(sessionId, created);
  const owner = { id: 'dead', label: 'a process that died' };
  // As many drives as the log has had: the next one's epoch must be higher than all of them.
  const drives = events.filter(({ type }) => type === 'drive_started').length;
  let claim = await journal.claim(sessionId, owner);
  while (claim.epoch < drives) claim = await journal.claim(sessionId, owner);
  await journal.append(sessionId, claim.epoch, 1, rest);
  await claim.release();
  return journal;
}
