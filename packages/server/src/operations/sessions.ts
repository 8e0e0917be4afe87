import { createHash } from 'node:crypto';
import {
  EVENT_VERSION,
  pendingCalls,
  sessionStatus,
  TreadleError,
  type DurableEventBody,
  type JsonObject,
  type PendingCall,
  type SessionStatus,
  type SessionSummary,
} from '@treadle/core';
import type { SessionSnapshot } from '../encoders/encoder.ts';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { idPrefix, maySee, type Principal } from '../security/tokens.ts';

/** Letters, digits and a few marks: an id is a part of URLs, files' names and run ids. */
export const SESSION_ID = '^[A-Za-z0-9][A-Za-z0-9._~:-]{0,127}$';

export interface NewSession {
  readonly id?: string;
  readonly agent?: string;
  readonly metadata?: JsonObject;
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
  { id, agent: name, metadata }: NewSession,
  key: string | null,
): Promise<CreatedSession> {
  const agent = name === undefined ? parts.defaultAgent : parts.agents.get(name);
  if (!agent) {
    const known = [...parts.agents.keys()].join(', ');
    throw new RequestError('bad_request', `There is no agent "${String(name)}". The agents are: ${known}.`);
  }
  const sessionId = id ?? newId(parts, principal, key);
  if (!maySee(principal, sessionId)) throw new RequestError('forbidden', 'This token may not create that session.');
  const existed = await startLog(
    parts,
    sessionId,
    {
      type: 'session_created',
      at: parts.clock.now(),
      eventVersion: EVENT_VERSION,
      sessionId,
      agentId: agent.id,
      ...(metadata === undefined ? {} : { metadata }),
    },
    id === undefined && key !== null,
  );
  return { sessionId, agentId: agent.id, existed };
}

/** A session that begins with another's events up to `seq`; by default with all of them. */
export async function forkSession(
  parts: ServerParts,
  principal: Principal,
  parent: string,
  { id, seq, metadata }: { readonly id?: string; readonly seq?: number; readonly metadata?: JsonObject },
  key: string | null,
): Promise<CreatedSession> {
  const state = await parts.states.of(parent);
  const at = seq ?? state.seq;
  const agentId = await agentIdOf(parts, parent);
  const sessionId = id ?? newId(parts, principal, key);
  if (!maySee(principal, sessionId)) throw new RequestError('forbidden', 'This token may not create that session.');
  const fork = { sessionId: parent, seq: at };
  const existed = await startLog(
    parts,
    sessionId,
    {
      type: 'session_created',
      at: parts.clock.now(),
      eventVersion: EVENT_VERSION,
      sessionId,
      ...(agentId === undefined ? {} : { agentId }),
      ...(metadata === undefined ? {} : { metadata }),
      fork,
    },
    id === undefined && key !== null,
    fork,
  );
  return { sessionId, agentId: agentId ?? parts.defaultAgent.id, existed };
}

async function startLog(
  { journal }: ServerParts,
  sessionId: string,
  first: DurableEventBody,
  mayExist: boolean,
  fork?: { readonly sessionId: string; readonly seq: number },
): Promise<boolean> {
  try {
    await journal.create(sessionId, first, fork);
    return false;
  } catch (error) {
    if (mayExist && error instanceof TreadleError && error.code === 'session_exists') return true;
    throw error;
  }
}

/** A key gives the same id each time, so that a request that is repeated finds what it made. */
function newId({ ids }: ServerParts, principal: Principal, key: string | null): string {
  const prefix = idPrefix(principal);
  if (prefix === null) throw new RequestError('forbidden', 'This token may not create sessions.');
  if (key === null) return `${prefix}${ids.create('s').slice(2)}`;
  return `${prefix}${createHash('sha256').update(`${principal.name}\n${key}`).digest('hex').slice(0, 32)}`;
}

/** A page of the sessions that a token may see, newest first. */
export async function listSessions(
  { journal }: ServerParts,
  principal: Principal,
  { limit, cursor, agent }: { readonly limit: number; readonly cursor?: string; readonly agent?: string },
): Promise<{ readonly sessions: readonly SessionSummary[]; readonly cursor?: string }> {
  const sessions: SessionSummary[] = [];
  let next = cursor;
  // A token with a narrow scope may have to pass over many; a page that looks at enough of them says where to go on.
  for (let looked = 0; looked < MOST_LOOKED_AT;) {
    const page = await journal.list({
      limit: limit - sessions.length,
      ...(next === undefined ? {} : { cursor: next }),
      ...(agent === undefined ? {} : { agentId: agent }),
    });
    sessions.push(...page.sessions.filter(({ sessionId }) => maySee(principal, sessionId)));
    looked += page.sessions.length;
    next = page.cursor;
    if (next === undefined || sessions.length >= limit) break;
  }
  return { sessions, ...(next === undefined ? {} : { cursor: next }) };
}

const MOST_LOOKED_AT = 2000;

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
