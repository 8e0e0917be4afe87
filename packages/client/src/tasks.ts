import type { ToolResultContent } from '@treadle/core';
import type { TaskSnapshot } from '@treadle/core/tools';
import type { Http } from './http.ts';

/** A background task, as its session's log has it. What it puts out meanwhile is in streams, as `task_progress`. */
export type TaskInfo = Pick<
  TaskSnapshot,
  'taskId' | 'toolName' | 'callId' | 'runId' | 'status' | 'createdAt' | 'endedAt' | 'message'
>;

/** What runs in the background of a session. */
export interface ClientTasks {
  /** All of them, oldest first. */
  list(): Promise<readonly TaskInfo[]>;
  /** One of them, with its result once it has ended. @throws ClientError `task_not_found` */
  read(taskId: string): Promise<TaskInfo & { readonly content: readonly ToolResultContent[] }>;
  /** Has it ended. One that has ended stays as it is. @throws ClientError `task_not_found` */
  stop(taskId: string, reason?: string): Promise<void>;
}

export function clientTasks(http: Http, at: string, newKey: () => string): ClientTasks {
  const pathOf = (taskId: string): string => `${at}/tasks/${encodeURIComponent(taskId)}`;
  return {
    list: async () => (await http.json<{ tasks: TaskInfo[] }>('GET', `${at}/tasks`)).tasks,
    read: (taskId) => http.json('GET', pathOf(taskId)),
    async stop(taskId, reason) {
      const body = reason === undefined ? {} : { reason };
      await http.json('POST', `${pathOf(taskId)}/stop`, { body, key: newKey() });
    },
  };
}
