import { branch, replay, rerun, rewind, type Again } from '../operations/again.ts';
import { startOf } from '../operations/runs.ts';
import * as schemas from '../operations/schemas.ts';
import { jsonResponse, type Route, type RouteCall } from './serving/route.ts';
import { streamRun, wantsStream } from './stream.ts';

/** A run that an input starts: its stream where that is asked for, else its name. */
export async function begun(call: RouteCall, { sessionId, ...done }: Again): Promise<Response> {
  const { inputSeq } = done;
  if (wantsStream(call)) return streamRun(call, sessionId, inputSeq, { inputSeq });
  return jsonResponse({ sessionId, ...done, ...(await startOf(call.parts, sessionId, inputSeq)) }, 202);
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
    handle: async (call) => begun(call, await rerun(call, call.sessionId, call.body)),
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/branch',
    id: 'branch',
    summary: 'Takes another path, in a fork: from an event, from where a run began, or from the end.',
    body: schemas.branch,
    success,
    problems: ['nothing_to_continue', 'ends_with_assistant', 'session_exists', 'idempotency_mismatch'],
    handle: async (call) => begun(call, await branch(call, call.sessionId, call.body)),
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/rewind',
    id: 'rewindSession',
    summary: 'Takes the conversation back to before a message of the user, in a fork. Files stay as they are.',
    body: schemas.rewind,
    success: { status: 201, description: 'The `sessionId` of the fork, and the message (`to`) it stands before.' },
    problems: ['nothing_to_continue', 'session_exists', 'idempotency_mismatch'],
    async handle(call) {
      const { existed, ...made } = await rewind(call, call.sessionId, call.body);
      return jsonResponse(made, existed ? 200 : 201);
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
    handle: async (call) => jsonResponse(await replay(call, call.sessionId, call.body)),
  },
];
