import type { ToolResultContent } from '../../messages/content.ts';
import type { TaskFacts } from '../../ports/task-runner.ts';
import type { TaskStatus } from '../../tools/task-control.ts';
import type { ReplayPolicy } from '../../tools/tool.ts';

/** A background task as its session's log has it. */
export interface TaskState extends Omit<TaskFacts, 'attempt' | 'sessionId'> {
  attempt: number;
  readonly replay: ReplayPolicy;
  readonly turnIndex: number;
  /** The input that its run answers: whoever cancels that run ends the task. */
  readonly runInputSeq: number;
  status: TaskStatus;
  /** The event that has its end; 0 before. */
  endedSeq: number;
  /** When it began, and when it ended, in milliseconds since 1970. */
  readonly createdAt: number;
  endedAt: number | null;
  /** Why it was begun again, failed or was killed. */
  message: string | null;
  /** What the model hasn't been told yet. */
  content: readonly ToolResultContent[];
  /** Its end is in the log as a `task_updated`. */
  reported: boolean;
  /** The model has been told of its end, or never will be. */
  delivered: boolean;
  /** A run was started for it, or was refused. */
  woke: boolean;
  /** Why it is to stop. */
  stopping: string | null;
  /** US dollars that its sub-agent has spent of what is limited, and whether its run's account has them. */
  childSpent?: number;
  isPaid?: true;
  /** Of its run, which ended before it: what it had spent, and what it might spend where that isn't what its agent may. */
  account?: { readonly spent: number; readonly maxCost?: number | null };
}

/** The background tasks of a session. */
export interface TaskTable {
  readonly all: Map<string, TaskState>;
  /** Those that something is still to come of. */
  readonly open: Set<string>;
}

/** Those that something is still to come of, oldest first. */
export const openTasks = ({ all, open }: TaskTable): TaskState[] =>
  [...open].flatMap((taskId) => all.get(taskId) ?? []);

/** The tools with which a model looks after its background tasks. */
export const TASK_OUTPUT = 'task_output';

export const TASK_STOP = 'task_stop';

export const FORKED = 'forked: it belongs to the session that this one was forked from.';
