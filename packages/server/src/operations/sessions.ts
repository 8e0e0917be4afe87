import { createHash } from 'node:crypto';
import { sessionsOf, TreadleError, type JsonObject, type PendingCall } from '@treadle/core';
import { EVENT_VERSION, type DurableEventBody } from '@treadle/core/events';
import { checkTags, checkTitle } from '@treadle/core/journal';
import { pendingCalls, sessionStatus, type SessionStatus } from '@treadle/core/session';
import type { SessionSnapshot } from '../encoders/encoder.ts';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { idPrefix, maySee, type Principal } from '../security/tokens.ts';
import { mismatch, refuseDraining } from './post.ts';

/** Letters, digits and a few marks: an id is a part of URLs, files' names and run ids. */
export const SESSION_ID = '^[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}$';

export interface NewSession {
  readonly id?: string;
  readonly agent?: string;
  readonly metadata?: JsonObject;
  readonly title?: string;
  readonly tags?: readonly string[];
}

/** A session, as it is now. */
export interface SessionInfo {
  readonly sessionId: string;
  readonly agentId?: string;
  /** What somebody, or a model, has called it. */
  readonly title?: string;
  /** The last event of its log. */
  readonly seq: number;
  readonly status: SessionStatus;
  /** The open run. */
  readonly runId?: string;
  /** What the open run waits for. */
  readonly pending: readonly PendingCall[];
}

export interface CreatedSession {
  readonly sessionId: string;
  readonly agentId: string;
  /** True when the same request, by its idempotency key, has created it before. */
  readonly existed: boolean;
}

/** Starts a log. With an idempotency key and no id of its own, the same request again finds the same session. */
export async function createSession(
  parts: ServerParts,
  principal: Principal,
  { id, agent: name, metadata, title, tags }: NewSession,
  key: string | null,
): Promise<CreatedSession> {
  refuseDraining(parts);
  const agent = name === undefined ? parts.defaultAgent : parts.agents.get(name);
  if (!agent) {
    const known = [...parts.agents.keys()].join(', ');
    throw new RequestError('bad_request', `There is no agent "${String(name)}". The agents are: ${known}.`);
  }
  const sessionId = ownId(parts, principal, id, key);
  const first: Creation = {
    type: 'session_created',
    at: parts.clock.now(),
    eventVersion: EVENT_VERSION,
    sessionId,
    agentId: agent.id,
    ...(metadata === undefined ? {} : { metadata }),
    ...(title === undefined ? {} : { title: checkTitle(title) }),
    ...(tags === undefined ? {} : { tags: checkTags(tags) }),
  };
  const existed = await made(parts, { id: sessionId, mayExist: id === undefined && key !== null }, first, async () => {
    await parts.journal.create(sessionId, first);
  });
  return { sessionId, agentId: agent.id, existed };
}

/** How a fork begins. */
export interface ForkRequest extends Omit<NewSession, 'agent'> {
  /** The last event they share. Default: the last one there is. */
  readonly seq?: number;
}

/** Starts a session with the events of another one. What was under way there is closed in the fork. */
export async function forkSession(
  parts: ServerParts,
  principal: Principal,
  parent: string,
  { id, seq, ...facts }: ForkRequest,
  key: string | null,
): Promise<CreatedSession> {
  refuseDraining(parts);
  const sessionId = ownId(parts, principal, id, key);
  const { clock, ids, journal } = parts;
  const wanted = { fork: { sessionId: parent, ...(seq === undefined ? {} : { seq }) }, ...facts };
  const existed = await made(parts, { id: sessionId, mayExist: id === undefined && key !== null }, wanted, async () => {
    const at = seq === undefined ? {} : { at: seq };
    await sessionsOf(journal, { clock, ids }).fork(parent, { id: sessionId, ...at, ...facts });
  });
  // Something has to close what it has cut off.
  await parts.dispatcher.dispatch(sessionId);
  return { sessionId, agentId: (await agentIdOf(parts, sessionId)) ?? parts.defaultAgent.id, existed };
}

/** True when it was there, made by the same request. @throws TreadleError `session_exists`, RequestError `idempotency_mismatch` */
async function made(
  parts: ServerParts,
  { id, mayExist }: { readonly id: string; readonly mayExist: boolean },
  wanted: Wanted,
  create: () => Promise<void>,
): Promise<boolean> {
  try {
    await create();
    return false;
  } catch (error) {
    if (!mayExist || !(error instanceof TreadleError) || error.code !== 'session_exists') throw error;
  }
  const there = await creationOf(parts, id);
  if (there && isWanted(there, wanted)) return true;
  throw mismatch();
}

type Creation = Extract<DurableEventBody, { type: 'session_created' }>;
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

/** The event that began a session: of a fork, the one after what it shares. */
async function creationOf({ journal }: ServerParts, sessionId: string): Promise<Creation | null> {
  for await (const event of journal.read(sessionId, 1)) {
    if (event.type === 'session_created' && event.sessionId === sessionId) return event;
  }
  return null;
}

/** The id of a session to be made. @throws RequestError `forbidden` where the token may not make it. */
export function ownId(parts: ServerParts, principal: Principal, id: string | undefined, key: string | null): string {
  const sessionId = id ?? newId(parts, principal, key);
  if (maySee(principal, sessionId)) return sessionId;
  throw new RequestError('forbidden', 'This token may not create that session.');
}

/** A key gives the same id each time, so that a request that is repeated finds what it made. */
function newId({ ids }: ServerParts, principal: Principal, key: string | null): string {
  const prefix = idPrefix(principal);
  if (prefix === null) throw new RequestError('forbidden', 'This token may not create sessions.');
  if (key === null) return `${prefix}${ids.create('s').slice(2)}`;
  return `${prefix}${createHash('sha256').update(`${principal.name}\n${key}`).digest('hex').slice(0, 32)}`;
}

export async function readSession(parts: ServerParts, sessionId: string): Promise<SessionInfo> {
  const agentId = await agentIdOf(parts, sessionId);
  const state = await parts.states.of(sessionId);
  return {
    sessionId,
    ...(agentId === undefined ? {} : { agentId }),
    ...(state.title === null ? {} : { title: state.title }),
    seq: state.seq,
    status: sessionStatus(state),
    ...(state.run ? { runId: state.run.runId } : {}),
    pending: pendingCalls(state),
  };
}

/** What a reader gets who is too far behind to be told every event. */
export async function snapshotOf({ states }: ServerParts, sessionId: string): Promise<SessionSnapshot> {
  const state = await states.of(sessionId);
  return {
    type: 'snapshot',
    seq: state.seq,
    sessionId,
    status: sessionStatus(state),
    ...(state.run ? { runId: state.run.runId } : {}),
    messages: state.view.slice(),
    pending: pendingCalls(state),
  };
}

export async function agentIdOf({ journal }: ServerParts, sessionId: string): Promise<string | undefined> {
  for await (const event of journal.read(sessionId, 1)) {
    return event.type === 'session_created' ? event.agentId : undefined;
  }
  return undefined;
}
