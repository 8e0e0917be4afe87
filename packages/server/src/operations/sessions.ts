import { createHash } from 'node:crypto';
import { sessionsOf, TreadleError, type JsonObject, type PendingCall } from '@treadle/core';
import { EVENT_VERSION } from '@treadle/core/events';
import { checkTags, checkTitle } from '@treadle/core/journal';
import type { SessionState } from '@treadle/core/kernel';
import { pendingCalls, sessionStatus, type SessionStatus } from '@treadle/core/session';
import { creationOf, type Creation } from '../creation.ts';
import type { SessionSnapshot } from '../encoders/encoder.ts';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { idPrefix, maySee } from '../security/tokens.ts';
import { mismatch, refuseDraining, type Caller } from './post.ts';

/** A session to be made. */
export interface NewSession {
  readonly id?: string;
  readonly agent?: string;
  readonly metadata?: JsonObject;
  readonly title?: string;
  readonly tags?: readonly string[];
}

/** A session that was made, or found. */
export interface CreatedSession {
  readonly sessionId: string;
  readonly agentId: string;
  /** True when the same request, by its idempotency key, has created it before. */
  readonly existed: boolean;
}

/** Starts a log. With an idempotency key and no id of its own, the same request again finds the same session. */
export async function createSession(
  caller: Caller,
  { id, agent: name, metadata, title, tags }: NewSession,
): Promise<CreatedSession> {
  const { parts } = caller;
  refuseDraining(parts);
  const agent = name === undefined ? parts.defaultAgent : parts.agents.get(name);
  if (!agent) {
    const known = [...parts.agents.keys()].join(', ');
    throw new RequestError('bad_request', `There is no agent "${String(name)}". The agents are: ${known}.`);
  }
  const sessionId = ownId(caller, id);
  const first = {
    type: 'session_created' as const,
    at: parts.clock.now(),
    eventVersion: EVENT_VERSION,
    sessionId,
    agentId: agent.id,
    ...(metadata && { metadata }),
    ...(title !== undefined && { title: checkTitle(title) }),
    ...(tags && { tags: checkTags(tags) }),
  };
  const existed = await made(caller, sessionId, id, first, () => parts.journal.create(sessionId, first));
  return { sessionId, agentId: agent.id, existed };
}

/** How a fork begins. */
export interface ForkRequest extends Omit<NewSession, 'agent'> {
  /** The last event they share. Default: the last one there is. */
  readonly seq?: number;
}

/** Starts a session with the events of another one. What was under way there is closed in the fork. */
export async function forkSession(
  caller: Caller,
  parent: string,
  { id, seq, ...facts }: ForkRequest,
): Promise<CreatedSession> {
  const { parts } = caller;
  refuseDraining(parts);
  const sessionId = ownId(caller, id);
  const { clock, ids, journal } = parts;
  const wanted = { fork: { sessionId: parent, ...(seq !== undefined && { seq }) }, ...facts };
  const existed = await made(caller, sessionId, id, wanted, () => {
    const how = { id: sessionId, ...(seq !== undefined && { at: seq }), ...facts };
    return sessionsOf(journal, { clock, ids }).fork(parent, how);
  });
  // Something has to close what it has cut off.
  await parts.dispatcher.dispatch(sessionId);
  return { sessionId, agentId: (await agentIdOf(parts, sessionId)) ?? parts.defaultAgent.id, existed };
}

/** True when it was there, made by the same request. @throws TreadleError `session_exists`, RequestError `idempotency_mismatch` */
async function made(
  { parts: { journal }, key }: Caller,
  sessionId: string,
  ownId: string | undefined,
  wanted: Wanted,
  create: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await create();
    return false;
  } catch (error) {
    const mayExist = ownId === undefined && key !== null;
    if (!mayExist || !(error instanceof TreadleError) || error.code !== 'session_exists') throw error;
  }
  for await (const event of journal.read(sessionId, 1)) {
    // The event that began it: of a fork, the one after what it shares.
    if (event.type !== 'session_created' || event.sessionId !== sessionId) continue;
    if (isWanted(event, wanted)) return true;
    break;
  }
  throw mismatch();
}

type Wanted = Partial<Pick<Creation, 'agentId' | 'metadata' | 'title' | 'tags'>> & {
  readonly fork?: { readonly sessionId: string; readonly seq?: number };
};

/** Whether a session is what a request asks for: what the request doesn't say, another one may have said. */
function isWanted({ fork, ...there }: Creation, { fork: asked, ...wanted }: Wanted): boolean {
  const isFork = fork?.sessionId === asked?.sessionId && (asked?.seq === undefined || asked.seq === fork?.seq);
  return (
    isFork &&
    (['agentId', 'metadata', 'title', 'tags'] as const).every(
      (name) => wanted[name] === undefined || JSON.stringify(wanted[name]) === JSON.stringify(there[name]),
    )
  );
}

/** The id of a session to be made. @throws RequestError `forbidden` where the token may not make it. */
export function ownId(caller: Caller, id?: string): string {
  const sessionId = id ?? newId(caller);
  if (maySee(caller.principal, sessionId)) return sessionId;
  throw new RequestError('forbidden', 'This token may not create that session.');
}

/** A key gives the same id each time, so that a request that is repeated finds what it made. */
function newId({ parts, principal, key }: Caller): string {
  const prefix = idPrefix(principal);
  if (prefix === null) throw new RequestError('forbidden', 'This token may not create sessions.');
  if (key === null) return `${prefix}${parts.ids.create('s').slice(2)}`;
  return `${prefix}${createHash('sha256').update(`${principal.name}\n${key}`).digest('hex').slice(0, 32)}`;
}

/** What a session is at, and what its run waits for. */
export interface SessionStanding {
  readonly sessionId: string;
  readonly agentId?: string;
  readonly title?: string;
  readonly seq: number;
  readonly status: SessionStatus;
  readonly runId?: string;
  readonly pending: readonly PendingCall[];
}

export async function readSession(parts: ServerParts, sessionId: string): Promise<SessionStanding> {
  const agentId = await agentIdOf(parts, sessionId);
  const state = await parts.states.of(sessionId);
  const { title } = state;
  return { ...(agentId !== undefined && { agentId }), ...(title !== null && { title }), ...standing(sessionId, state) };
}

/** What a reader gets who is too far behind to be told every event. */
export async function snapshotOf({ states }: ServerParts, sessionId: string): Promise<SessionSnapshot> {
  const state = await states.of(sessionId);
  return { type: 'snapshot', ...standing(sessionId, state), messages: state.view.slice() };
}

const standing = (sessionId: string, state: SessionState) => ({
  sessionId,
  seq: state.seq,
  status: sessionStatus(state),
  ...(state.run && { runId: state.run.runId }),
  pending: pendingCalls(state),
});

export const agentIdOf = async ({ journal }: ServerParts, sessionId: string): Promise<string | undefined> =>
  (await creationOf(journal, sessionId))?.agentId;
