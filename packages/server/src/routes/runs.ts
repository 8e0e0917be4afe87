import { TreadleError, type ClientToolResult, type UserInput } from '@treadle/core';
import { answerApproval, addToolOutputs, type ApprovalRequest } from '../operations/answers.ts';
import { cancel, followUp, startOf, startRun, steer } from '../operations/inputs.ts';
import type { Accepted } from '../operations/post.ts';
import { oneRun } from '../streams/scope.ts';
import { accepted, askOf, nothingToDo } from './ask.ts';
import { jsonResponse, type RouteCall, type Route } from './serving/route.ts';
import * as schemas from './serving/schemas.ts';
import { openStream, wantsStream } from './stream.ts';

/** A run that goes on after an input, streamed from there when the client asks for it. */
function streamed(call: RouteCall, done: Accepted): Response {
  if (!wantsStream(call)) return accepted(done);
  const { inputSeq } = done;
  return openStream(call, { from: { seq: inputSeq - 1, message: null }, scope: oneRun({ answeredBy: inputSeq }) });
}

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
      const ask = askOf(call);
      const done = await startRun(call.parts, ask, call.body);
      const { inputSeq } = done;
      if (wantsStream(call)) {
        return openStream(call, { from: { seq: inputSeq - 1, message: null }, scope: oneRun({ inputSeq }) });
      }
      const start = await startOf(call.parts, ask.sessionId, inputSeq);
      if (start.status === 'rejected') throw new TreadleError('run_active', start.reason);
      return jsonResponse({ ...done, ...(start.status === 'waiting' ? {} : { runId: start.runId }) }, 202);
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/steering',
    id: 'steer',
    summary: 'Queues a message for the model’s next call.',
    body: schemas.message,
    success: { status: 202, description: 'It is in the log.' },
    problems: ['empty_prompt', 'idempotency_mismatch'],
    handle: async (call) => accepted(await steer(call.parts, askOf(call), call.body['input'] as UserInput)),
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/follow-ups',
    id: 'followUp',
    summary: 'Queues a message for when the run would end.',
    body: schemas.message,
    success: { status: 202, description: 'It is in the log.' },
    problems: ['empty_prompt', 'idempotency_mismatch'],
    handle: async (call) => accepted(await followUp(call.parts, askOf(call), call.body['input'] as UserInput)),
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/cancel',
    id: 'cancel',
    summary: 'Ends the open run, prompts that wait and background tasks. Where nothing is open it does nothing.',
    body: schemas.cancellation,
    success: { status: 202, description: 'It is in the log, where there was something to cancel.' },
    async handle(call) {
      const done = await cancel(call.parts, askOf(call), call.body['reason'] as string | undefined);
      return done ? accepted(done) : nothingToDo();
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
      return streamed(call, await addToolOutputs(call.parts, askOf(call), results));
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
      const answer = call.body as unknown as ApprovalRequest;
      return streamed(call, await answerApproval(call.parts, askOf(call), call.path['approvalId'] ?? '', answer));
    },
  },
];
