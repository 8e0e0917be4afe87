import type { ToolResultContent } from '../messages/content.ts';

/** How far a background task is. The last three are ends. */
export type TaskStatus = 'pending' | 'running' | TaskEnd;
/** The status of a task that ended. */
export type TaskEnd = 'completed' | 'failed' | 'killed';

/** Whether a status is one of a task that ended. */
export const hasEnded = (status: TaskStatus): status is TaskEnd => status !== 'pending' && status !== 'running';

/** A background task as it is now. */
export interface TaskSnapshot {
  readonly taskId: string;
  readonly toolName: string;
  readonly callId: string;
  readonly runId: string;
  readonly status: TaskStatus;
  readonly createdAt: number;
  readonly endedAt: number | null;
  /** Why it was begun again, failed or was killed. */
  readonly message: string | null;
  /** What it has put out so far; its result, once it has ended. */
  readonly content: readonly ToolResultContent[];
  /** What it is doing, in words. */
  readonly progress?: string;
  /** Milliseconds between looks at it. */
  readonly pollIntervalMs: number;
}

/** How often a task is polled, and for how long. */
export interface PollOptions {
  /** Milliseconds between looks. Default: the task's own, else the agent's `pollIntervalMs`. */
  readonly intervalMs?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What can be done about a session's background tasks: for programs, and for the tools `task_output`, `task_list`, `task_stop`. */
export interface TaskControl {
  /** All of them, oldest first, without what they put out. */
  list(): readonly Omit<TaskSnapshot, 'content' | 'progress' | 'pollIntervalMs'>[];
  /** One of them, with what it has put out so far; null when there is none of this id. */
  read(taskId: string): Promise<TaskSnapshot | null>;
  /**
   * Looks at a task until it has ended: the snapshot now, then one each time its interval has passed, and its end. After
   * `timeoutMs`, or once `signal` is aborted, it looks no further; that ends the looking, and not the task.
   *
   * @throws TreadleError `task_not_found`.
   */
  poll(taskId: string, options?: PollOptions): AsyncIterable<TaskSnapshot>;
  /**
   * Ends a task that is pending or running; resolves with it once its end is in the log. One that has ended stays as it is.
   *
   * @throws TreadleError `task_not_found`, also for a task that another process is at work on.
   */
  stop(taskId: string, reason?: string): Promise<TaskSnapshot>;
}
