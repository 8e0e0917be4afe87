import { hasEnded } from '@treadle/core/tools';
import { post } from '../operations/post.ts';
import * as schemas from '../operations/schemas.ts';
import { taskInfo, taskOf, taskResult } from '../operations/tasks.ts';
import { accepted, jsonResponse, type Route } from './serving/route.ts';

/** What runs in the background of a session. */
export const TASK_ROUTES: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/sessions/{sessionId}/tasks',
    id: 'listTasks',
    summary: 'Lists the background tasks of a session, oldest first.',
    success: { status: 200, description: 'All of them, without what they put out.' },
    async handle({ parts, sessionId }) {
      const { tasks } = await parts.states.of(sessionId);
      return jsonResponse({ tasks: [...(tasks?.all.values() ?? [])].map(taskInfo) });
    },
  },
  {
    method: 'get',
    path: '/v1/sessions/{sessionId}/tasks/{taskId}',
    id: 'readTask',
    summary: 'Reads a background task, with its result once it has ended.',
    success: { status: 200, description: 'The task.' },
    problems: ['task_not_found'],
    async handle({ parts, sessionId, path }) {
      const task = await taskOf(parts, sessionId, path['taskId']);
      return jsonResponse({ ...taskInfo(task), content: await taskResult(parts, sessionId, task) });
    },
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
      const { parts, sessionId, path, body } = call;
      const { taskId, status } = await taskOf(parts, sessionId, path['taskId']);
      return accepted(hasEnded(status) ? null : await post(call, sessionId, { type: 'stop_task', taskId, ...body }));
    },
  },
];
