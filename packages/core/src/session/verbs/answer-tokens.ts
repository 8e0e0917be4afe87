import { joined } from '../../ports/blobs.ts';
import { base64Bytes, base64Of } from '../../messages/base64.ts';
import { canonicalJson } from '../../canonical.ts';
import type { ClientToolResult, PendingCall, PendingClientTool } from '../../events/events.ts';
import { TreadleError } from '../../errors.ts';
import { isJsonObject, parseJson, type JsonObject } from '../../json.ts';
import { systemClock, type Clock } from '../../ports/clock.ts';
import type { Run } from '../run.ts';
import type { Session } from '../session.ts';
import type { ApprovalAnswer } from './answers.ts';

/** The part of Web Crypto that tokens need. */
export type AnswerTokenCrypto = Pick<typeof crypto.subtle, 'importKey' | 'sign' | 'verify' | 'digest'>;

/** Options of {@link createAnswerTokens}. */
export interface AnswerTokenOptions {
  /** A secret of at least 32 bytes that only the processes have which issue and take tokens. */
  readonly key: string | Uint8Array<ArrayBuffer>;
  readonly clock?: Clock;
  /** Milliseconds that a token holds for, unless its call expires sooner. Default: a day. */
  readonly lifetimeMs?: number;
  /** Default: the platform's. */
  readonly crypto?: AnswerTokenCrypto;
}

/** What a token says: which call of which session it answers, with which arguments, and until when. */
export interface AnswerTokenClaims {
  readonly sessionId: string;
  readonly callId: string;
  /** Present when it answers a question of permission, and not a client's tool. */
  readonly approvalId?: string;
  /** SHA-256 of the arguments. */
  readonly argumentsDigest: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Tokens by which whoever was shown a call, and nobody else, may answer it. */
export interface AnswerTokens {
  /** A token for a call that waits: one of `session.pending`, of a result's `pending` or of `run_paused`. */
  issue(sessionId: string, call: PendingCall): Promise<string>;
  /**
   * What a token says, if it may be believed. Without a session's id it may be for any session.
   *
   * @throws TreadleError `invalid_token`: not issued with this key, changed since, or for another session; `token_expired`.
   */
  verify(token: string, sessionId?: string): Promise<AnswerTokenClaims>;
  /**
   * The call that a token is for, among those that a session waits for now.
   *
   * @throws TreadleError as `verify`, and `conflict` when the call doesn't wait any more, or has other arguments.
   */
  callOf(session: Pick<Session, 'id' | 'pending'>, token: string): Promise<PendingCall>;
  /**
   * Approves the call that a token is for.
   *
   * @throws TreadleError as `verify`, and `conflict` when it was answered, or has other arguments by now.
   */
  approve(session: Session, token: string, answer?: ApprovalAnswer): Promise<Run>;
  /** Rejects the call that a token is for. @throws TreadleError as `approve`. */
  reject(session: Session, token: string, answer?: string | ApprovalAnswer): Promise<Run>;
  /** Gives results of client tools, each with its token. @throws TreadleError as `verify` and `session.addToolOutputs`. */
  addToolOutputs(
    session: Session,
    results: readonly (Omit<ClientToolResult, 'callId'> & { readonly token: string })[],
  ): Promise<Run>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const LEAST_KEY_BYTES = 32;
/** Signed with the claims, so that no other use of the same key makes a token. */
const PURPOSE = 'treadle answer v1\n';

/**
 * Makes and takes answer tokens: the claims and their HMAC with SHA-256. A client can't make one, change one, or use one for
 * another session, another call or other arguments; a second use is a `conflict`, as any second answer. Signatures are compared
 * by Web Crypto's `verify`, which takes the same time wherever they differ.
 *
 * @throws TreadleError `invalid_definition` for a key that is too short.
 *
 * @example
 * ```ts
 * import { createAnswerTokens, createSession, defineAgent, defineTool } from '@treadle/core';
 * import { scriptedModel } from '@treadle/testing';
 *
 * const pay = defineTool({ name: 'pay', description: 'Pays.', approval: 'always', execute: () => 'Paid.' });
 * const model = scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'Done.']);
 * const session = await createSession(defineAgent({ model, tools: [pay] }));
 * await session.prompt('Pay the bill.').result;
 *
 * const tokens = createAnswerTokens({ key: 'a secret of thirty-two bytes or more' });
 * const links = await Promise.all(session.pending.map((call) => tokens.issue(session.id, call)));
 * const run = await tokens.approve(session, links[0] ?? '');
 * console.log((await run.result).text); // Done.
 * ```
 */
export function createAnswerTokens(options: AnswerTokenOptions): AnswerTokens {
  const { clock = systemClock, lifetimeMs = DAY_MS, crypto: subtle = crypto.subtle } = options;
  const secret = typeof options.key === 'string' ? bytesOf(options.key) : options.key.slice();
  if (secret.length < LEAST_KEY_BYTES) {
    throw new TreadleError(
      'invalid_definition',
      `The key of answer tokens must have at least ${LEAST_KEY_BYTES} bytes, and it has ${secret.length}.`,
    );
  }
  if (!(lifetimeMs > 0)) throw new TreadleError('invalid_definition', 'lifetimeMs must be milliseconds above 0.');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  let imported: ReturnType<AnswerTokenCrypto['importKey']> | undefined;
  const key = (): ReturnType<AnswerTokenCrypto['importKey']> =>
    (imported ??= subtle.importKey('raw', secret, algorithm, false, ['sign', 'verify']));

  const digestOf = async (args: JsonObject): Promise<string> =>
    toBase64(new Uint8Array(await subtle.digest('SHA-256', bytesOf(canonicalJson(args)))));

  async function verify(token: string, sessionId?: string): Promise<AnswerTokenClaims> {
    const parts = token.split('.');
    const [body = '', signature = ''] = parts;
    const given = fromBase64(signature);
    const isGenuine =
      parts.length === 2 &&
      given !== null &&
      (await subtle.verify('HMAC', await key(), given, bytesOf(PURPOSE + body)));
    const claims = isGenuine ? claimsIn(body) : null;
    if (!claims) throw invalid('This answer token was not issued here, or was changed.');
    if (sessionId !== undefined && claims.sessionId !== sessionId)
      throw invalid('This answer token is for another session.');
    if (clock.now() >= claims.expiresAt)
      throw new TreadleError('token_expired', 'The time of this answer token is over.');
    return claims;
  }

  /** The call as the session has it now must be the one that the token was issued for. */
  async function approvalOf(session: Session, token: string): Promise<Exclude<PendingCall, PendingClientTool>> {
    const call = await callOf(session, token);
    if (call.type === 'client_tool')
      throw invalid(`This token is for a result of the call ${call.callId}, not for an approval.`);
    return call;
  }

  async function callOf(session: Pick<Session, 'id' | 'pending'>, token: string): Promise<PendingCall> {
    const { callId, approvalId, argumentsDigest } = await verify(token, session.id);
    const call = session.pending.find((each) => each.callId === callId && each.approvalId === approvalId);
    if (call && (await digestOf(call.arguments)) === argumentsDigest) return call;
    throw new TreadleError('conflict', `The call ${callId} doesn't wait for this answer: it has one, or has changed.`, {
      details: { callId },
    });
  }

  return {
    async issue(sessionId, { callId, approvalId, arguments: args, expiresAt = Number.POSITIVE_INFINITY }) {
      const claims: AnswerTokenClaims = {
        sessionId,
        callId,
        ...(approvalId === undefined ? {} : { approvalId }),
        argumentsDigest: await digestOf(args),
        expiresAt: Math.min(clock.now() + lifetimeMs, expiresAt),
      };
      const body = toBase64(bytesOf(JSON.stringify(claims)));
      const signature = await subtle.sign('HMAC', await key(), bytesOf(PURPOSE + body));
      return `${body}.${toBase64(new Uint8Array(signature))}`;
    },
    verify,
    callOf,
    approve: async (session, token, answer) => session.approve(await approvalOf(session, token), answer),
    reject: async (session, token, answer) => session.reject(await approvalOf(session, token), answer),
    async addToolOutputs(session, results) {
      const calls = await Promise.all(
        results.map(async ({ token, ...result }) => {
          const { callId, approvalId } = await callOf(session, token);
          if (approvalId !== undefined)
            throw invalid(`This token is for an approval of the call ${callId}, not for a result.`);
          return { ...result, callId };
        }),
      );
      return session.addToolOutputs(calls);
    },
  };
}

const invalid = (message: string): TreadleError => new TreadleError('invalid_token', message);

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

const toBase64 = (bytes: Uint8Array): string =>
  base64Of(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');

/** Null for what isn't written as `toBase64` writes it, so that a token has one form. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const pieces = base64Bytes(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = pieces && new Uint8Array(joined(pieces));
  return bytes && toBase64(bytes) === text ? bytes : null;
}

function claimsIn(body: string): AnswerTokenClaims | null {
  const bytes = fromBase64(body);
  if (!bytes) return null;
  const claims = parseJson(new TextDecoder().decode(bytes));
  // It was signed, so it was written here.
  return isJsonObject(claims) ? (claims as unknown as AnswerTokenClaims) : null;
}
