import type { ClientToolResult, PendingCall } from '@treadle/core';
import type { AnswerTokens } from '@treadle/core/features';
import { pendingCalls } from '@treadle/core/session';
import type { ServerParts } from '../parts.ts';
import { RequestError } from '../problem.ts';
import { answerApproval, addToolOutputs } from './answers.ts';
import type { Accepted, Caller } from './post.ts';
import type { TokenAnswer } from './schemas.ts';

function tokensOf({ answerTokens }: ServerParts): AnswerTokens {
  if (answerTokens) return answerTokens;
  throw new RequestError('not_found', 'This server makes no answer tokens: it has no key for them.');
}

/** Tokens for all that a session waits for, or for one call of it. */
export async function issueAnswerTokens(parts: ServerParts, sessionId: string, callId: unknown) {
  const tokens = tokensOf(parts);
  const pending = await pendingOf(parts, sessionId);
  const asked = pending.filter((call) => callId === undefined || call.callId === callId);
  return Promise.all(
    asked.map(async (call) => {
      const token = await tokens.issue(sessionId, call);
      const { callId: of, approvalId, expiresAt } = await tokens.verify(token, sessionId);
      return { token, callId: of, ...(approvalId !== undefined && { approvalId }), expiresAt };
    }),
  );
}

/** The call that a token is for; of an approval with the question in words. @throws TreadleError `invalid_token`, `token_expired`, `conflict` */
export async function readAsked(parts: ServerParts, token: string) {
  const tokens = tokensOf(parts);
  const { sessionId } = await tokens.verify(token);
  const call = await tokens.callOf({ id: sessionId, pending: await pendingOf(parts, sessionId) }, token);
  const { sessionId: below = sessionId, ...shown } = call;
  for await (const event of parts.journal.read(below, 1)) {
    if (event.type !== 'approval_requested' || event.approvalId !== call.approvalId) continue;
    return { ...shown, question: event.question };
  }
  return shown;
}

/** Answers exactly the call that a token is for. */
export async function answerByToken(
  caller: Caller,
  token: string,
  { decision, content, isError, results, ...said }: TokenAnswer,
): Promise<Accepted> {
  const { parts } = caller;
  const { sessionId, approvalId } = await tokensOf(parts).verify(token);
  if (approvalId !== undefined) {
    if (decision === undefined) throw new RequestError('bad_request', 'This token is for a `decision`.');
    await verified(parts, sessionId, token);
    return answerApproval(caller, sessionId, approvalId, { decision, ...said });
  }
  if (content === undefined && results === undefined)
    throw new RequestError('bad_request', 'This token is for a result: give its `content`, or `results`.');
  const given = results ?? [{ token, content: content ?? '', ...(isError !== undefined && { isError }) }];
  const named = await Promise.all(
    given.map(async ({ token: own, ...result }) => {
      const { callId, approvalId: asked } = await verified(parts, sessionId, own);
      if (asked !== undefined) throw new RequestError('bad_request', `A token is for an approval, not for a result.`);
      return { ...result, callId } as ClientToolResult;
    }),
  );
  return addToolOutputs(caller, sessionId, named);
}

/** What a token is for. While the call waits, it must wait with the arguments that the token was issued for. */
async function verified(parts: ServerParts, id: string, token: string) {
  const tokens = tokensOf(parts);
  const grant = await tokens.verify(token, id);
  const pending = await pendingOf(parts, id);
  const isOpen = pending.some(({ callId, approvalId }) => callId === grant.callId && approvalId === grant.approvalId);
  // Of one that is over, a repeated request is told what the first one was.
  if (isOpen) await tokens.callOf({ id, pending }, token);
  return grant;
}

const pendingOf = async ({ states }: ServerParts, sessionId: string): Promise<readonly PendingCall[]> =>
  pendingCalls(await states.of(sessionId));
