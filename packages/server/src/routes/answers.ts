import { answerByToken, issueAnswerTokens, readAsked } from '../operations/answer-tokens.ts';
import * as schemas from '../operations/schemas.ts';
import { accepted, jsonResponse, type Route } from './serving/route.ts';

/** Questions that are answered by whoever has the token of the question, and no token of the server. */
export const ANSWER_ROUTES: readonly Route[] = [
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/answer-tokens',
    id: 'issueAnswerTokens',
    summary: 'Makes tokens, one for each call that waits: whoever has one may answer that call, and do nothing else.',
    body: schemas.answerTokens,
    success: { status: 200, description: '`tokens`, with the calls they are for and the times when they end.' },
    async handle({ parts, sessionId, body }) {
      return jsonResponse({ tokens: await issueAnswerTokens(parts, sessionId, body['callId']) });
    },
  },
  {
    method: 'get',
    path: '/v1/answers',
    id: 'readAsked',
    summary: 'Says what the holder of an answer token is asked. The bearer token is the answer token.',
    access: 'answer',
    success: { status: 200, description: 'The call that waits.' },
    problems: ['invalid_token', 'token_expired', 'conflict'],
    handle: async ({ parts, token }) => jsonResponse(await readAsked(parts, token)),
  },
  {
    method: 'post',
    path: '/v1/answers',
    id: 'answerByToken',
    summary: 'Answers the call of an answer token: a `decision`, or a result. The first answer counts.',
    access: 'answer',
    body: schemas.tokenAnswer,
    success: { status: 202, description: 'It is in the log, and the run goes on.' },
    problems: ['invalid_token', 'token_expired', 'conflict', 'results_missing', 'not_awaiting'],
    handle: async (call) => accepted(await answerByToken(call, call.token, call.body)),
  },
];
