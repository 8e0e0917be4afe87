import { TreadleError, type ToolResultContent } from '@treadle/core';
import type { TaskState } from '@treadle/core/features';
import type { SessionState } from '@treadle/core/kernel';
import { hasEnded, type TaskSnapshot } from '@treadle/core/tools';
import type { ServerParts } from '../parts.ts';
import { post, type Accepted, type Ask } from './post.ts';

/** A background task, as its session's log has it. What it has put out so far is told by streams, as `task_progress`. */
export type TaskInfo = Pick<
  TaskSnapshot,
  'taskId' | 'toolName' | 'callId' | 'runId' | 'status' | 'createdAt' | 'endedAt' | 'message'
>;

export const hasOpenTasks = (tasks: SessionState['tasks']): boolean =>
  [...(tasks?.open ?? [])].some((taskId) => !hasEnded(tasks?.all.get(taskId)?.status ?? 'completed'));

const infoOf = (task: TaskState): TaskInfo => {
  const { taskId, toolName, callId, runId, status, createdAt, endedAt, message } = task;
  return { taskId, toolName, callId, runId, status, createdAt, endedAt, message };
};

/** All background tasks of a session, oldest first. */
export async function listTasks({ states }: ServerParts, sessionId: string): Promise<TaskInfo[]> {
  const { tasks } = await states.of(sessionId);
  return [...(tasks?.all.values() ?? [])].map(infoOf);
}

/** One of them, with its result once it has ended. @throws TreadleError `task_not_found` */
export async function readTask(
  parts: ServerParts,
  sessionId: string,
  taskId: string,
): Promise<TaskInfo & { readonly content: readonly ToolResultContent[] }> {
  const task = await taskOf(parts, sessionId, taskId);
  const { endedSeq } = task;
  const info = infoOf(task);
  if (endedSeq > 0) {
    for await (const event of parts.journal.read(sessionId, endedSeq)) {
      const input = event.type === 'input_received' ? event.input : null;
      return { ...info, content: input?.type === 'task_ended' ? input.content : [] };
    }
  }
  return { ...info, content: [] };
}

/** Has a background task ended. One that has ended stays as it is. @throws TreadleError `task_not_found` */
export async function stopTask(
  parts: ServerParts,
  ask: Ask,
  taskId: string,
  reason: string | undefined,
): Promise<Accepted | null> {
  const { status } = await taskOf(parts, ask.sessionId, taskId);
  if (hasEnded(status)) return null;
  return post(parts, ask, { type: 'stop_task', taskId, ...(reason === undefined ? {} : { reason }) });
}

async function taskOf({ states }: ServerParts, sessionId: string, taskId: string): Promise<TaskState> {
  const { tasks } = await states.of(sessionId);
  const task = tasks?.all.get(taskId);
  if (task) return task;
  throw new TreadleError('task_not_found', `There is no background task ${taskId} in this session.`);
}
