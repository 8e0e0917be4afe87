import { mustBeAgent } from '../agent/check-definition.ts';
import type { Agent } from '../agent/agent.ts';
import type { AgentTypes, ContextOf } from '../agent/types.ts';
import type { DurableEventBody } from '../events/events.ts';
import { TreadleError } from '../errors.ts';
import { EVENT_VERSION } from '../events/version.ts';
import type { Journal } from '../journal/journal.ts';
import { memoryJournal } from '../journal/memory.ts';
import { checkTags, checkTitle } from '../journal/check-facts.ts';
import { checkMetadata } from '../json.ts';
import { systemClock } from '../ports/clock.ts';
import { randomIds } from '../ports/ids.ts';
import type { CreateSessionOptions, Session, SessionOptions, WithContext } from './api.ts';
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
export async function createSession<Types extends AgentTypes>(
  agent: Agent<Types>,
  ...[given]: unknown extends ContextOf<Types>
    ? [options?: CreateSessionOptions]
    : [options: WithContext<Types, CreateSessionOptions>]
): Promise<Session<Types>> {
  const options: CreateSessionOptions = given ?? {};
  mustBeAgent('createSession', agent);
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
export async function openSession<Types extends AgentTypes>(
  agent: Agent<Types>,
  sessionId: string,
  options: WithContext<Types, SessionOptions & { readonly journal: Journal }>,
): Promise<Session<Types>> {
  mustBeAgent('openSession', agent);
  // From JavaScript they may be missing.
  const { journal }: Partial<SessionOptions> = options ?? {};
  if (!journal) {
    throw new TreadleError(
      'invalid_definition',
      'openSession needs the journal that has the session. Write: openSession(agent, id, { journal })',
    );
  }
  return sessionOf(await loadParts(agent, sessionId, options, 'resume', null));
}
