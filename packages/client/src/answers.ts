import type { ClientToolResult, JsonObject, PendingCall } from '@treadle/core';
import { createHttp, type ClientOptions } from './http.ts';

/** What whoever has an answer token is asked. */
export interface AskedByToken extends Omit<PendingCall, 'sessionId'> {
  /** In words, for a person; of approvals only. */
  readonly question?: string;
}

/** A yes or no, or the result of a client tool; where several are waited for together, each result with its token. */
export type TokenAnswer =
  | { readonly decision: 'approve' | 'reject'; readonly message?: string; readonly updatedInput?: JsonObject }
  | Omit<ClientToolResult, 'callId'>
  | { readonly results: readonly (Omit<ClientToolResult, 'callId'> & { readonly token: string })[] };

/**
 * What the call is that an answer token is for. `token` of the options is the answer token.
 *
 * @throws ClientError `invalid_token`, `token_expired`, `conflict` when it was answered.
 */
export const readAsked = (options: ClientOptions): Promise<AskedByToken> =>
  createHttp(options).json('GET', '/v1/answers');

/**
 * Answers the call that an answer token is for: the token is all that is needed, and allows nothing else. The first answer
 * counts.
 *
 * @throws ClientError `invalid_token`, `token_expired`, `conflict` when it was answered, `results_missing`.
 */
export async function answerWithToken(options: ClientOptions, answer: TokenAnswer): Promise<void> {
  await createHttp(options).json('POST', '/v1/answers', { body: answer, key: crypto.randomUUID() });
}
