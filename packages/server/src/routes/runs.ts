import type { ClientToolResult, UserInput } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import { userMessage } from '@treadle/core/session';
import { addToolOutputs, answerApproval } from '../operations/answers.ts';
import { post, type Accepted } from '../operations/post.ts';
import { cancelOpen, startRun } from '../operations/runs.ts';
import * as schemas from '../operations/schemas.ts';
import { begun } from './again.ts';
import { accepted, type Route, type RouteCall } from './serving/route.ts';
import { streamRun, wantsStream } from './stream.ts';

/** A run that goes on after an input, streamed from there when the client asks for it. */
function goesOn(call: RouteCall, done: Accepted): Response {
  const { inputSeq } = done;
  return wantsStream(call) ? streamRun(call, call.sessionId, inputSeq, { answeredBy: inputSeq }) : accepted(done);
}

/** A message that waits until the run takes it. */
const queued = (type: 'steering' | 'follow_up', path: string, id: string, summary: string): Route => ({
  method: 'post',
  path,
  id,
  summary,
  body: schemas.message,
  success: { status: 202, description: 'It is in the log.' },
  problems: ['empty_prompt', 'idempotency_mismatch'],
  async handle(call) {
    const input: SessionInput = { type, message: userMessage(call.body['input'] as UserInput) };
    return accepted(await post(call, call.sessionId, input));
  },
});

export const RUN_ROUTES: readonly Route[] = [
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/runs',
    id: 'startRun',
    summary: 'Starts a run. With `accept: text/event-stream` the response is its stream, up to its end or its pause.',
    body: schemas.run,
    success: { status: 202, description: 'The prompt is in the log; `runId` names the run once it has begun.' },
    problems: ['run_active', 'empty_prompt', 'nothing_to_continue', 'ends_with_assistant', 'idempotency_mismatch'],
    async handle(call) {
      const { sessionId } = call;
      return begun(call, { sessionId, ...(await startRun(call, sessionId, call.body)) });
    },
  },
  queued('steering', '/v1/sessions/{sessionId}/steering', 'steer', 'Queues a message for the model’s next call.'),
  queued(
    'follow_up',
    '/v1/sessions/{sessionId}/follow-ups',
    'followUp',
    'Queues a message for when the run would end.',
  ),
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/cancel',
    id: 'cancel',
    summary: 'Ends the open run, prompts that wait and background tasks. Where nothing is open it does nothing.',
    body: schemas.cancellation,
    success: { status: 202, description: 'It is in the log, where there was something to cancel.' },
    async handle(call) {
      return accepted(await cancelOpen(call, call.sessionId, call.body));
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/tool-results',
    id: 'addToolOutputs',
    summary: 'Gives a paused run the results of its client tools: all that it waits for.',
    body: schemas.toolResults,
    success: { status: 202, description: 'They are in the log, and the run goes on.' },
    problems: ['not_awaiting', 'results_missing', 'results_unknown', 'results_duplicate', 'conflict'],
    async handle(call) {
      const results = call.body['results'] as unknown as readonly ClientToolResult[];
      return goesOn(call, await addToolOutputs(call, call.sessionId, results));
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/approvals/{approvalId}',
    id: 'answerApproval',
    summary: 'Answers a question that a run asks. The first answer counts.',
    body: schemas.approval,
    success: { status: 202, description: 'It is in the log, and the run goes on.' },
    problems: ['not_awaiting', 'conflict'],
    async handle(call) {
      const { sessionId, path, body } = call;
      const answer = body as schemas.ApprovalRequest;
      return goesOn(call, await answerApproval(call, sessionId, path['approvalId'] ?? '', answer));
    },
  },
];
