import { TreadleError, type Journal } from '@treadle/core';
import { creationOf } from '../creation.ts';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { hostProblem, originProblem } from './origin.ts';
import { bearerOf, maySee, type Principal, type Visitor } from './tokens.ts';

/** @throws RequestError `forbidden` for a host or an origin that isn't ours. */
export function checkOrigin({ origins }: ServerParts, { host, origin }: Pick<Visitor, 'host' | 'origin'>): void {
  const problem = hostProblem(host, origins) ?? originProblem(origin, host, origins);
  if (problem !== null) throw new RequestError('forbidden', problem);
}

/** Finds out who it is. @throws RequestError `unauthorized`, `too_many_requests`. */
export async function identify(parts: ServerParts, visitor: Visitor): Promise<Principal> {
  return admitted(parts, await parts.authenticate(visitor), visitor.address);
}

/** @throws RequestError `unauthorized`, `too_many_requests`. */
export async function admitted(parts: ServerParts, principal: Principal | null, address: string): Promise<Principal> {
  if (!principal) {
    refuseTooMany(await parts.failedLogins.take(address));
    parts.log('warning', 'unauthorized', { address });
    throw new RequestError('unauthorized', 'Send the token of the server as `Authorization: Bearer …`.', {
      'www-authenticate': 'Bearer',
    });
  }
  refuseTooMany(parts.requests.take(principal.name, principal.requests));
  return principal;
}

/**
 * Whoever has the token of a question may answer that question, whoever it is.
 *
 * @throws RequestError `too_many_requests`; TreadleError `invalid_token`, `token_expired`.
 */
export async function identifyAnswer(parts: ServerParts, { token, address }: Visitor): Promise<Principal> {
  const { answerTokens } = parts;
  try {
    if (!answerTokens || token === null)
      throw new TreadleError('invalid_token', 'Send the answer token as a bearer token.');
    const { sessionId, callId } = await answerTokens.verify(token);
    const principal = { name: `answer:${sessionId}:${callId}`, sessions: [sessionId] };
    refuseTooMany(parts.requests.take(principal.name));
    return principal;
  } catch (error) {
    if (!(error instanceof TreadleError)) throw error;
    refuseTooMany(await parts.failedLogins.take(address));
    parts.log('warning', 'unauthorized', { address });
    throw error;
  }
}

function refuseTooMany(waitMs: number): void {
  if (waitMs === 0) return;
  throw new RequestError('too_many_requests', 'There were too many requests. Wait, then try again.', {
    'retry-after': String(Math.ceil(waitMs / 1000)),
  });
}

/** @throws RequestError `forbidden`, `not_found`: who may not see a session isn't told whether there is one. */
export function checkAccess(principal: Principal, access: 'read' | 'write', sessionId: string | undefined): void {
  if (sessionId !== undefined && !maySee(principal, sessionId)) {
    throw new RequestError('not_found', `There is no session ${sessionId}.`);
  }
  if (access === 'write' && principal.readOnly === true) {
    throw new RequestError('forbidden', 'This token may only read.');
  }
}

/**
 * As `checkAccess` for reading, and besides: who may see what an agent does may see what its sub-agents do, at any depth, in
 * their own sessions. What those wait for is answered at the top.
 */
export async function checkReadable(parts: ServerParts, principal: Principal, sessionId: string): Promise<void> {
  if (!(await isBelowSeen(parts, principal, sessionId))) checkAccess(principal, 'read', sessionId);
}

async function isBelowSeen({ journal }: ServerParts, principal: Principal, sessionId: string): Promise<boolean> {
  if (maySee(principal, sessionId)) return false;
  let above: string | undefined = sessionId;
  for (let depth = 0; above !== undefined && depth < DEEPEST; depth += 1) {
    above = await parentOf(journal, above);
    if (above !== undefined && maySee(principal, above)) return true;
  }
  return false;
}

/** As far up as is looked: no tree of agents is that deep. */
const DEEPEST = 32;

async function parentOf(journal: Journal, sessionId: string): Promise<string | undefined> {
  try {
    return (await creationOf(journal, sessionId))?.spawnedBy?.sessionId;
  } catch (error) {
    if (!(error instanceof TreadleError) || error.code !== 'session_not_found') throw error;
    return undefined;
  }
}

/** The token of a request. It is never taken from its URL, which ends up in logs. */
export const tokenOf = (headers: Headers): string | null => bearerOf(headers.get('authorization'));

/** Where a browser says that another site makes a request and not a page of its own. */
export const isCrossSite = (headers: Headers): boolean => headers.get('sec-fetch-site') === 'cross-site';
