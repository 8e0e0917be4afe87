import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { TreadleError } from '@treadle/core';
import type { RateLimit } from './rate.ts';

/** Who a token stands for, and what it may. */
export interface Principal {
  /** For logs, limits and idempotency keys. Never the token itself. */
  readonly name: string;
  /**
   * The sessions it may see and use: ids, or beginnings of ids with `*` behind them. Default: all. Sessions it creates get
   * ids that begin like the first beginning.
   */
  readonly sessions?: readonly string[];
  /** True may look and not touch. Default false. */
  readonly readOnly?: boolean;
  /** True may change what sessions are allowed to do: rules, mode, folders. Default false. */
  readonly mayGrant?: boolean;
  /** How many requests it may make. Default: `limits.requests`. A backend that serves many users with one token needs more. */
  readonly requests?: RateLimit;
}

/** What a request says of itself, over HTTP or as a WebSocket's upgrade. */
export interface Visitor {
  readonly host: string | null | undefined;
  readonly origin: string | null | undefined;
  readonly token: string | null;
  readonly headers: Headers;
  /** Where it comes from, as far as it is known. */
  readonly address: string;
}

/** A token and whom it stands for. */
export interface TokenGrant extends Principal {
  /** At least 16 characters. */
  readonly token: string;
}

/** Finds out whom a token stands for; null for nobody. */
export type Authenticate = (token: string) => Principal | null | Promise<Principal | null>;

/** Finds out who makes a request, by the application's own login; null for nobody. */
export type AuthenticateRequest = (request: {
  readonly headers: Headers;
}) => Principal | null | Promise<Principal | null>;

const SHORTEST = 16;

/** A new token, 256 bits of chance. */
export const newToken = (): string => `treadle_${randomBytes(32).toString('base64url')}`;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Looks tokens up in a list. Takes the same time whichever token is asked for, and whether it is there or not.
 *
 * @throws TreadleError `invalid_definition` for a list that can't be used. No token is in the message.
 */
export function tokenList(grants: readonly TokenGrant[]): Authenticate {
  if (grants.length === 0) throw unusable('A server needs at least one token.');
  const known = grants.map(({ token, ...principal }) => {
    if (token.length < SHORTEST || /[^\x21-\x7e]/.test(token)) {
      throw unusable(
        `The token of ${principal.name} must have at least ${SHORTEST} printable characters, without spaces.`,
      );
    }
    return { digest: digest(token), principal };
  });
  return (token) => {
    const given = digest(token);
    let found: Principal | null = null;
    for (const entry of known) if (timingSafeEqual(entry.digest, given)) found = entry.principal;
    return found;
  };
}

const unusable = (message: string): TreadleError => new TreadleError('invalid_definition', message);

/** The token of an `Authorization: Bearer` header; null when there is none. */
export function bearerOf(header: string | null | undefined): string | null {
  const match = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(header ?? '');
  return match?.[1] ?? null;
}

/** The value of a cookie; null when there is none. */
export function cookieIn(header: string | null | undefined, name: string): string | null {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  const found = pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
  return found === undefined || found === '' ? null : found;
}

/** True when a principal may see a session. */
export const maySee = ({ sessions }: Principal, sessionId: string): boolean =>
  sessions === undefined ||
  sessions.some((scope) => (scope.endsWith('*') ? sessionId.startsWith(scope.slice(0, -1)) : scope === sessionId));

/** What the ids of sessions begin with that a principal creates. Null when it may create none. */
export function idPrefix({ sessions }: Principal): string | null {
  if (sessions === undefined) return 'session_';
  const scope = sessions.find((each) => each.endsWith('*'));
  return scope === undefined ? null : scope.slice(0, -1);
}
