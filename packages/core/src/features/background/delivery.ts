import type { UserContent } from '../../messages/content.ts';
import type { TaskState } from './task.ts';

/** What the model reads at once instead of the call's result. */
export const startedText = ({ taskId, toolName }: Pick<TaskState, 'taskId' | 'toolName'>): string =>
  `${toolName} runs in the background as ${taskId}. You will be told when it has ended.`;

/** Names a task after its call, so that every process gives it the same id. */
export const taskIdOf = (callId: string): string => `task_${callId}`;

/** The id of the message that tells the model of a task's end. */
export const deliveryId = (taskId: string): string => `${taskId}_result`;

/** What the model is told of a task that has ended. */
export function deliveryOf({ taskId, toolName, status, message, content }: TaskState): readonly UserContent[] {
  const why = message === null ? '' : ` ${message}`;
  const result = content.length === 0 ? '' : ' Its result:';
  return [{ type: 'text', text: `[Background task ${taskId} (${toolName}): ${status}.${why}${result}]` }, ...content];
}

/** What is said of tasks that nobody works on any more. */
export const INTERRUPTED = 'interrupted: the process that ran it is gone, and what it has done is unknown.';

export const BEGUN_AGAIN = 'The process that ran it is gone, and it was begun again.';
