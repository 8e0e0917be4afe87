import type { JsonObject, JsonValue } from '../json.ts';
import type { FileBlock, ToolResultContent } from '../messages/content.ts';
import type { TaskEnd, TaskStatus } from '../tools/task-control.ts';
import type { ReplayPolicy } from '../tools/tool.ts';

/** Input: a background task has ended. What it came to. */
export interface TaskEnded {
  readonly type: 'task_ended';
  readonly taskId: string;
  readonly status: TaskEnd;
  readonly content: readonly ToolResultContent[];
  /** Why it failed or was killed. */
  readonly message?: string;
  readonly details?: JsonValue;
  readonly files?: readonly FileBlock[];
  /** US dollars that its sub-agent spent of what is limited: they count against the `maxCost` of the run that started it. */
  readonly childSpent?: number;
}

/** Durable: a background task is a step further. */
export interface TaskUpdated {
  readonly type: 'task_updated';
  readonly at: number;
  readonly taskId: string;
  readonly status: TaskStatus;
  /** The run that started it. */
  readonly runId?: string;
  /** Why it was begun again, failed or was killed. */
  readonly message?: string;
  /** On the first of a task: what is to be done. */
  readonly task?: {
    readonly turnIndex: number;
    readonly callId: string;
    readonly toolName: string;
    readonly arguments: JsonObject;
    readonly idempotencyKey: string;
    readonly replay: ReplayPolicy;
    /** It runs only in the sandbox that its tool promised when it said that the call changes nothing. */
    readonly confined?: boolean;
  };
  /** On `running`: which attempt this is, from 1. */
  readonly attempt?: number;
  /** The input that brought its end. */
  readonly inputSeq?: number;
}

/** Live: a background task has more to show. */
export interface TaskProgress {
  readonly type: 'task_progress';
  readonly afterSeq: number;
  readonly taskId: string;
  readonly toolName: string;
  /** The run that started it, which may be over. */
  readonly runId: string;
  /** What it has put out so far: the newest replaces the one before. */
  readonly content: readonly ToolResultContent[];
  /** What it is doing, in words. */
  readonly text?: string;
  readonly elapsedMs: number;
}
