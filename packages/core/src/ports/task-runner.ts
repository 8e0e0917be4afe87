import type { JsonObject, JsonValue } from '../json.ts';
import type { FileBlock, ToolResultContent } from '../messages/content.ts';
import type { NormalOutput } from '../tools/output.ts';
import type { TaskEnd } from '../tools/task-control.ts';

/** What is to be done in the background, as data: another machine could do it too. */
export interface TaskFacts {
  /** Unique in its session, and the same for every attempt. */
  readonly taskId: string;
  readonly sessionId: string;
  /** The run and the call that started it. */
  readonly runId: string;
  readonly callId: string;
  readonly toolName: string;
  /** As the model wrote them, and hooks left them. */
  readonly arguments: JsonObject;
  /** The same for every attempt, in any process. */
  readonly idempotencyKey: string;
  /** From 1; it grows when a task that was cut off is begun again. */
  readonly attempt: number;
  /** It may run only in the sandbox that its tool promised: see `ToolAccess.confined`. */
  readonly confined?: boolean;
}

/** How a task is told to stop, and tells how far it is. */
export interface TaskWatch {
  /** Calls `stop` when the task is to end; returns a function that forgets it. */
  onStop(stop: () => void): () => void;
  /** What it has put out so far: the newest replaces the one before. */
  update(output: NormalOutput): void;
  /** What it is doing, in words. */
  progress(text: string): void;
}

/** A call that is to run in the background. */
export interface TaskRequest extends TaskFacts {
  /** Does the work in this process; never rejects. A runner that has it done elsewhere doesn't call it. */
  execute(watch: TaskWatch): Promise<NormalOutput>;
}

/** What a task came to. */
export interface TaskOutcome {
  readonly status: TaskEnd;
  readonly content: readonly ToolResultContent[];
  /** Why it failed or was killed, in words. */
  readonly message?: string;
  readonly details?: JsonValue;
  readonly files?: readonly FileBlock[];
}

/** What a task has put out so far. */
export interface TaskOutput {
  readonly content: readonly ToolResultContent[];
  /** What it is doing, in words. */
  readonly progress?: string;
}

/** A task that somebody is at work on. */
export interface TaskHandle {
  /** What it came to; never rejects. */
  readonly ended: Promise<TaskOutcome>;
  /** Milliseconds between looks at it; the agent's `pollIntervalMs` when absent. */
  readonly pollIntervalMs?: number;
  read(): TaskOutput | Promise<TaskOutput>;
  /** Ends it: `ended` resolves soon, as `killed`. Does nothing after its end. */
  stop(reason: string): void;
  /** Calls `changed` when there is more to read; returns a function that ends it. A runner that can't tell may leave it out. */
  watch?(changed: () => void): () => void;
}

/**
 * Where background tasks are done: in this process ({@link inProcessTasks}), or elsewhere.
 *
 * A runner on another machine starts a task once per `idempotencyKey` and `attempt`, and finds it again with `attach`, so
 * that a process that comes back goes on waiting for it.
 */
export interface TaskRunner {
  /** Begins a task. Must not throw: what can't be begun is a handle that ends as `failed`. */
  start(request: TaskRequest): TaskHandle;
  /** The task that was begun earlier, by this process or another; null when this runner has nothing of it. */
  attach(facts: TaskFacts): Promise<TaskHandle | null>;
}
