import { TreadleError, type ToolResultContent } from '@treadle/core';
import type { TaskState } from '@treadle/core/features';
import type { SessionState } from '@treadle/core/kernel';
import { hasEnded } from '@treadle/core/tools';
import type { ServerParts } from '../parts.ts';

export const hasOpenTasks = (tasks: SessionState['tasks']): boolean =>
  [...(tasks?.open ?? [])].some((taskId) => !hasEnded(tasks?.all.get(taskId)?.status ?? 'completed'));

/** A background task, as its session's log has it. What it has put out so far is told by streams, as `task_progress`. */
export const taskInfo = (task: TaskState) => {
  const { taskId, toolName, callId, runId, status, createdAt, endedAt, message } = task;
  return { taskId, toolName, callId, runId, status, createdAt, endedAt, message };
};

/** A task's result once it has ended. */
export async function taskResult(
  { journal }: ServerParts,
  sessionId: string,
  { endedSeq }: TaskState,
): Promise<readonly ToolResultContent[]> {
  if (endedSeq === 0) return [];
  for await (const event of journal.read(sessionId, endedSeq))
    return event.type === 'input_received' && event.input.type === 'task_ended' ? event.input.content : [];
  return [];
}

/** @throws TreadleError `task_not_found` */
export async function taskOf({ states }: ServerParts, sessionId: string, taskId = ''): Promise<TaskState> {
  const { tasks } = await states.of(sessionId);
  const task = tasks?.all.get(taskId);
  if (task) return task;
  throw new TreadleError('task_not_found', `There is no background task ${taskId} in this session.`);
}
