import type { Agent } from '../agent/agent.ts';
import type { DurableEventBody } from '../events/events.ts';
import { EVENT_VERSION } from '../events/version.ts';
import type { Journal } from '../journal/journal.ts';
import { memoryJournal } from '../journal/memory.ts';
import { checkTags, checkTitle } from '../journal/check-facts.ts';
import { checkMetadata } from '../json.ts';
import { systemClock } from '../ports/clock.ts';
import { randomIds } from '../ports/ids.ts';
import type { CreateSessionOptions, Session, SessionOptions } from './api.ts';
import { sessionOf } from './handle.ts';
import { loadParts, partsFrom } from './load.ts';
import { openState } from '../kernel/snapshot/keeper.ts';

export * from './api.ts';

/**
 * Starts a new session.
 *
 * @throws TreadleError `session_exists` when the id is taken.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }));
 * const { text } = await session.prompt('Say hello.').result;
 * console.log(text); // Hello.
 * ```
 */
export async function createSession(agent: Agent, options: CreateSessionOptions = {}): Promise<Session> {
  const { clock = systemClock, ids = randomIds, journal = memoryJournal() } = options;
  const sessionId = options.id ?? ids.create('session');
  const first: DurableEventBody = {
    type: 'session_created',
    at: clock.now(),
    eventVersion: EVENT_VERSION,
    sessionId,
    agentId: agent.id,
    ...(options.metadata === undefined ? {} : { metadata: checkMetadata('session', options.metadata) }),
    ...(options.title === undefined ? {} : { title: checkTitle(options.title) }),
    ...(options.tags === undefined ? {} : { tags: checkTags(options.tags) }),
    ...(options.previous === undefined ? {} : { previous: options.previous }),
  };
  await journal.create(sessionId, first);
  // Read back: a journal that redacts what it writes may have changed it.
  const opened = await openState(journal, sessionId);
  return sessionOf(partsFrom(agent, { ...options, journal }, opened, 'startup', null));
}

/**
 * Opens a session that exists, in this or any other process.
 *
 * @throws TreadleError `session_not_found`, `journal_too_new`, `journal_corrupt`.
 */
export function openSession(
  agent: Agent,
  sessionId: string,
  options: SessionOptions & { readonly journal: Journal },
): Promise<Session> {
  return loadParts(agent, sessionId, options, 'resume', null).then(sessionOf);
}
