import { listTasks, readTask, stopTask } from '../operations/tasks.ts';
import { accepted, askOf, nothingToDo, sessionOf } from './ask.ts';
import { jsonResponse, type RouteCall, type Route } from './serving/route.ts';
import * as schemas from './serving/schemas.ts';

const taskOf = ({ path }: RouteCall): string => path['taskId'] ?? '';

/** What runs in the background of a session. */
export const TASK_ROUTES: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/sessions/{sessionId}/tasks',
    id: 'listTasks',
    summary: 'Lists the background tasks of a session, oldest first.',
    success: { status: 200, description: 'All of them, without what they put out.' },
    handle: async (call) => jsonResponse({ tasks: await listTasks(call.parts, sessionOf(call)) }),
  },
  {
    method: 'get',
    path: '/v1/sessions/{sessionId}/tasks/{taskId}',
    id: 'readTask',
    summary: 'Reads a background task, with its result once it has ended.',
    success: { status: 200, description: 'The task.' },
    problems: ['task_not_found'],
    handle: async (call) => jsonResponse(await readTask(call.parts, sessionOf(call), taskOf(call))),
  },
  {
    method: 'post',
    path: '/v1/sessions/{sessionId}/tasks/{taskId}/stop',
    id: 'stopTask',
    summary: 'Ends a background task. One that has ended stays as it is.',
    body: schemas.cancellation,
    success: { status: 202, description: 'It is in the log, where there was something to end.' },
    problems: ['task_not_found', 'idempotency_mismatch'],
    async handle(call) {
      const reason = call.body['reason'] as string | undefined;
      const done = await stopTask(call.parts, askOf(call), taskOf(call), reason);
      return done ? accepted(done) : nothingToDo();
    },
  },
];
