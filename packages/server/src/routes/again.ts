import { TreadleError } from '@treadle/core';
import { branch, replay, rerun, type Again } from '../operations/again.ts';
import { startOf } from '../operations/inputs.ts';
import { oneRun } from '../streams/scope.ts';
import { askOf } from './ask.ts';
import { jsonResponse, type RouteCall, type Route } from './serving/route.ts';
import * as schemas from './serving/schemas.ts';
import { openStream, wantsStream } from './stream.ts';

/** The run of a fork: its stream where that is asked for, else its name. */
async function begun(call: RouteCall, { sessionId, inputSeq, duplicate }: Again): Promise<Response> {
  if (wantsStream(call)) {
    const stream = { from: { seq: inputSeq - 1, message: null }, scope: oneRun({ inputSeq }) };
    return openStream({ ...call, path: { sessionId } }, stream);
  }
  const start = await startOf(call.parts, sessionId, inputSeq);
  if (start.status === 'rejected') throw new TreadleError('run_active', start.reason);
  return jsonResponse(
    { sessionId, inputSeq, duplicate, ...(start.status === 'waiting' ? {} : { runId: start.runId }) },
    202,
  );
}

const success = {
  status: 202,
  description:
    'The `sessionId` of the fork, and its `runId` once it has begun. With `accept: text/event-stream`, its stream.',
} as const;

/** Runs done again, or otherwise, in forks: the session itself stays as it is. */
export const AGAIN_ROUTES: readonly Route[] = [
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/rerun',
    id: 'rerun',
    summary: 'Does a run again, with the same prompt, in a fork from before it.',
    body: schemas.rerun,
    success,
    problems: ['nothing_to_continue', 'session_exists', 'idempotency_mismatch'],
    async handle(call) {
      const { parts, principal, key, body } = call;
      return begun(call, await rerun(parts, principal, askOf(call), body, key));
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/branch',
    id: 'branch',
    summary: 'Takes another path, in a fork: from an event, from where a run began, or from the end.',
    body: schemas.branch,
    success,
    problems: ['nothing_to_continue', 'ends_with_assistant', 'session_exists', 'idempotency_mismatch'],
    async handle(call) {
      const { parts, principal, key, body } = call;
      return begun(call, await branch(parts, principal, askOf(call), body, key));
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/replay',
    id: 'replay',
    summary: 'Plays runs again with the recorded results of their tools, and says what came out otherwise.',
    body: schemas.replay,
    success: { status: 200, description: 'The report, once it is over.' },
    problems: ['nothing_to_continue', 'idempotency_mismatch'],
    async handle(call) {
      const { parts, principal, body } = call;
      return jsonResponse(await replay(parts, principal, askOf(call), body));
    },
  },
];
