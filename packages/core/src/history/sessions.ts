import type { DurableEvent, DurableEventBody, SessionInput } from '../events/events.ts';
import { EVENT_VERSION } from '../events/version.ts';
import type { Agent } from '../agent/agent.ts';
import { TreadleError } from '../errors.ts';
import type { Journal, ListOptions, SessionPage, SessionSummary } from '../journal/journal.ts';
import { lastSeq } from '../journal/last-seq.ts';
import { checkTags, checkTitle } from '../journal/check-facts.ts';
import type { JsonObject } from '../json.ts';
import { systemClock, type Clock } from '../ports/clock.ts';
import { randomIds, type Ids } from '../ports/ids.ts';
import { createSession, openSession, type Session, type SessionOptions } from '../session/session.ts';
import { searchSessions, type SearchOptions, type SessionHit } from './search.ts';

/** How a fork begins. */
export interface ForkOptions {
  /** The last event that the fork shares with its parent. Default: the parent's last. */
  readonly at?: number;
  /** Default: a new random id. */
  readonly id?: string;
  /** Its own; the parent's is not taken over. */
  readonly title?: string;
  readonly tags?: readonly string[];
  /** Default: the parent's. */
  readonly metadata?: JsonObject;
}

/** The sessions of a journal, without the agents that they are of: for lists, menus and housekeeping. */
export interface Sessions {
  /** A page, the session that was last written to first. */
  list(options?: ListOptions): Promise<SessionPage>;
  /**
   * The sessions in which all words of `query` occur, newest first: in the title, the tags or the first prompt, else in one of
   * the messages. Case doesn't matter. It reads as it is iterated, each log at most once and only where the row doesn't say:
   * stop when there is enough.
   */
  search(query: string, options?: SearchOptions): AsyncIterable<SessionHit>;
  /**
   * Begins a session with another one's events up to one of them. Nothing is copied: the fork reads them where they are,
   * also when the parent is deleted. A run that is open there is closed in the fork as `aborted`, its calls with it; what
   * waited there to be delivered stays with the parent.
   *
   * @returns the id of the fork
   * @throws TreadleError `session_not_found` when there is no such session or event, `session_exists`.
   */
  fork(sessionId: string, options?: ForkOptions): Promise<string>;
  /** @throws TreadleError `session_not_found`; `invalid_definition` unless it is one line of at most 200 characters. */
  rename(sessionId: string, title: string): Promise<void>;
  /** Adds tags, and takes away those of `remove` first. @throws TreadleError `session_not_found`, `invalid_definition`. */
  tag(sessionId: string, add: readonly string[], remove?: readonly string[]): Promise<void>;
  /** Deletes a session; its forks stay whole. @throws TreadleError `session_not_found`, `session_busy`. */
  remove(sessionId: string): Promise<void>;
}

/**
 * The sessions that a journal keeps.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent, memoryJournal, sessionsOf } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const journal = memoryJournal();
 * const session = await createSession(defineAgent({ model: scriptedModel(['Hello.']) }), { journal });
 * await session.prompt('Hi').result;
 *
 * const sessions = sessionsOf(journal);
 * await sessions.rename(session.id, 'A greeting');
 * await sessions.tag(session.id, ['demo']);
 * const fork = await sessions.fork(session.id);
 * const { sessions: rows } = await sessions.list({ tag: 'demo' });
 * console.log(rows.map(({ title }) => title), fork !== session.id); // [ 'A greeting' ] true
 * ```
 */
export function sessionsOf(
  journal: Journal,
  { clock = systemClock, ids = randomIds }: { readonly clock?: Clock; readonly ids?: Ids } = {},
): Sessions {
  const post = async (sessionId: string, input: SessionInput): Promise<void> => {
    await journal.post(sessionId, input, ids.create('input'), clock.now());
  };
  return {
    list: (options) => journal.list(options),
    search: (query, options) => searchSessions(journal, query, options),
    fork: (sessionId, options = {}) => forkSession(journal, sessionId, options, { clock, ids }),
    rename: async (sessionId, title) => post(sessionId, { type: 'rename', title: checkTitle(title) }),
    async tag(sessionId, add, remove = []) {
      if (add.length + remove.length === 0) return;
      const removed = remove.length === 0 ? {} : { remove: checkTags(remove) };
      await post(sessionId, { type: 'tag', ...(add.length === 0 ? {} : { add: checkTags(add) }), ...removed });
    },
    remove: (sessionId) => journal.remove(sessionId),
  };
}

/** Begins a session with another one's events up to one of them. */
export async function forkSession(
  journal: Journal,
  sessionId: string,
  options: ForkOptions & { readonly branchOf?: string },
  { clock, ids }: { readonly clock: Clock; readonly ids: Ids },
): Promise<string> {
  const created = await creationOf(journal, sessionId);
  const seq = options.at ?? (await lastSeq({ read: (from) => journal.read(sessionId, from) }));
  const id = options.id ?? ids.create('session');
  const fork = { sessionId, seq };
  const { agentId } = created;
  const metadata = options.metadata ?? created.metadata;
  const first: DurableEventBody = {
    type: 'session_created',
    at: clock.now(),
    eventVersion: EVENT_VERSION,
    sessionId: id,
    ...(agentId === undefined ? {} : { agentId }),
    ...(metadata === undefined ? {} : { metadata }),
    fork,
    ...(options.branchOf === undefined ? {} : { branchOf: options.branchOf }),
    ...(options.title === undefined ? {} : { title: checkTitle(options.title) }),
    ...(options.tags === undefined ? {} : { tags: checkTags(options.tags) }),
  };
  await journal.create(id, first, fork);
  return id;
}

/** How a session began. Of a fork this is how the first of its ancestors did, whose agent and metadata it has. */
async function creationOf(
  journal: Journal,
  sessionId: string,
): Promise<Extract<DurableEvent, { type: 'session_created' }>> {
  for await (const event of journal.read(sessionId, 1)) if (event.type === 'session_created') return event;
  throw new TreadleError('journal_corrupt', `Session ${sessionId} doesn't begin with session_created.`);
}

/** What `openLatest` takes. */
export interface LatestOptions extends SessionOptions {
  readonly journal: Journal;
  /**
   * Begin a new session when nothing was written to the latest one for longer than so many milliseconds, unless a run of it
   * is open. Default: never.
   */
  readonly rotateAfterMs?: number;
}

/**
 * Goes on with the agent's latest session, or begins one: when there is none, or when the agent has been idle for too long.
 * A session that takes another's place knows it (`previous` in its row and its tree), and counts its runs from 1.
 *
 * @throws TreadleError `invalid_definition` for a `rotateAfterMs` that is no time.
 *
 * @example
 * ```ts
 * import { defineAgent, memoryJournal, openLatest } from '@treadle/core';
 * import { scriptedModel, testClock } from '@treadle/testing';
 *
 * const [journal, clock] = [memoryJournal(), testClock()];
 * const agent = defineAgent({ model: scriptedModel(['Hello.', 'Hello again.']) });
 * const options = { journal, clock, rotateAfterMs: 60_000 };
 * const first = await openLatest(agent, options);
 * console.log((await openLatest(agent, options)).id === first.id); // true
 * await clock.advance(60_001);
 * console.log((await openLatest(agent, options)).id === first.id); // false
 * ```
 */
export async function openLatest(agent: Agent, options: LatestOptions): Promise<Session> {
  const { journal, clock = systemClock, rotateAfterMs = Number.POSITIVE_INFINITY, ...others } = options;
  if (!(rotateAfterMs >= 0)) {
    throw new TreadleError('invalid_definition', `rotateAfterMs must be milliseconds from 0 on, not ${rotateAfterMs}.`);
  }
  const latest = await latestOf(journal, agent.id);
  const parts = { ...others, journal, clock };
  if (!latest) return createSession(agent, parts);
  const session = await openSession(agent, latest.sessionId, parts);
  const { sessionId, updatedAt: lastActiveAt } = latest;
  // Somebody still waits for what is open.
  if (clock.now() - lastActiveAt <= rotateAfterMs || session.status !== 'idle') return session;
  return createSession(agent, { ...parts, previous: { sessionId, lastActiveAt, thresholdMs: rotateAfterMs } });
}

async function latestOf(journal: Journal, agentId: string): Promise<SessionSummary | undefined> {
  const { sessions } = await journal.list({ agentId, limit: 1 });
  return sessions[0];
}
