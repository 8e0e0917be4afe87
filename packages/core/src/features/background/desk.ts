import { errorText, TreadleError } from '../../errors.ts';
import type { Agent } from '../../agent/agent.ts';
import type { Journal } from '../../journal/journal.ts';
import type { SessionState } from '../../kernel/state.ts';
import type { Hub } from '../../kernel/watching/hub.ts';
import type { Clock } from '../../ports/clock.ts';
import { inProcessTasks } from './in-process.ts';
import { pause, within } from '../../timed-call.ts';
import { normalOutput } from '../../tools/output.ts';
import { hasEnded, type PollOptions, type TaskControl, type TaskSnapshot } from '../../tools/task-control.ts';
import type { TaskState } from './task.ts';
import type { TaskFacts, TaskHandle, TaskOutcome, TaskOutput, TaskRequest } from '../../ports/task-runner.ts';

/** The background tasks that this process looks after for one session. */
export interface TaskDesk {
  readonly control: TaskControl;
  /** Whether it is at work on a task, or has its end and is writing it down. */
  isHere(taskId: string): boolean;
  /** False when it is here, or about to be begun by another; else it is reserved until `free`. */
  reserve(taskId: string): boolean;
  free(taskId: string): void;
  start(request: TaskRequest): void;
  /** Looks for a task that was begun earlier. `unknown` when nobody could tell in time. */
  attach(facts: TaskFacts): Promise<'here' | 'gone' | 'unknown'>;
  /** Ends a task; resolves once its end is in the log, and after five seconds at the latest. */
  stop(taskId: string, reason: string): Promise<void>;
  /** Ends all of them. */
  stopAll(reason: string): Promise<void>;
  /** Whether any of them is here. */
  readonly isBusy: boolean;
  /** Ends all of them, and tells nobody: another process has the session. */
  abandon(): void;
}

/** What a desk needs of its session. */
interface Ports {
  readonly agent: Agent;
  readonly clock: Clock;
  readonly hub: Hub;
  readonly journal: Journal;
  readonly state: SessionState;
}

interface Reports {
  /** Writes down what a task came to. */
  readonly post: (taskId: string, attempt: number, outcome: TaskOutcome) => Promise<unknown>;
  /** The end of a task is in the log; resolves when the session's state has it. */
  readonly ended: (taskId: string) => Promise<unknown>;
  /** Nothing is here any more. */
  readonly idle: () => void;
}

interface Entry {
  readonly handle: TaskHandle;
  /** Resolves when its end is in the log, or can't be written. */
  readonly over: Promise<void>;
}

const STOP_MS = 5000;
const ATTACH_MS = 10_000;

export function createTaskDesk(parts: Ports, { post, ended, idle }: Reports): TaskDesk {
  const { agent, clock } = parts;
  const runner = (agent.background?.runner ?? inProcessTasks)();
  const entries = new Map<string, Entry>();
  const reserved = new Set<string>();
  const abandoned = new WeakSet<TaskHandle>();

  function follow(facts: TaskFacts, handle: TaskHandle): void {
    const { taskId, attempt } = facts;
    const unwatch = handle.watch?.(() => void tell(parts, facts, handle));
    const over = handle.ended
      .then(plainOutcome)
      .catch((error: unknown): TaskOutcome => ({ status: 'failed', message: errorText(error), content: [] }))
      .then(async (outcome) => {
        unwatch?.();
        if (!abandoned.has(handle)) await post(taskId, attempt, outcome);
      })
      .catch((error: unknown) => warn(parts, taskId, error));
    entries.set(taskId, { handle, over });
    // Kept until the state has its end: until then it would look as if nobody worked on it.
    const forget = (): void => {
      if (entries.get(taskId)?.handle === handle) entries.delete(taskId);
      if (entries.size === 0) idle();
    };
    void over.then(() => abandoned.has(handle) || ended(taskId)).then(forget, forget);
  }

  async function stop(taskId: string, reason: string): Promise<void> {
    const entry = entries.get(taskId);
    if (!entry) return;
    entry.handle.stop(reason);
    await within(clock, STOP_MS, entry.over, undefined);
  }

  return {
    control: controlOf(parts, entries, { stop, post, ended }),
    isHere: (taskId) => entries.has(taskId),
    reserve(taskId) {
      if (entries.has(taskId) || reserved.has(taskId)) return false;
      reserved.add(taskId);
      return true;
    },
    free: (taskId) => void reserved.delete(taskId),
    start(request) {
      try {
        follow(request, runner.start(request));
      } catch (error) {
        const message = `It could not be begun: ${errorText(error)}`;
        follow(request, failedHandle({ status: 'failed', message, content: [] }));
      }
    },
    async attach(facts) {
      const found = runner.attach(facts).then(
        (handle) => handle ?? ('gone' as const),
        () => 'unknown' as const,
      );
      const handle = await within(clock, ATTACH_MS, found, 'unknown' as const);
      if (typeof handle === 'string') return handle;
      follow(facts, handle);
      return 'here';
    },
    stop,
    get isBusy() {
      return entries.size > 0;
    },
    abandon() {
      for (const { handle } of entries.values()) {
        abandoned.add(handle);
        handle.stop('Another process has taken the session over.');
      }
      entries.clear();
    },
    async stopAll(reason) {
      await Promise.all([...entries.keys()].map((taskId) => stop(taskId, reason)));
    },
  };
}

const failedHandle = (outcome: TaskOutcome): TaskHandle => ({
  ended: Promise.resolve(outcome),
  read: () => ({ content: [] }),
  stop: () => {},
});

function warn({ hub, state }: Ports, taskId: string, error: unknown): void {
  const message = `The end of ${taskId} could not be written down: ${errorText(error)}`;
  hub.emit({ type: 'warning', afterSeq: state.seq, code: 'task_end_lost', message });
}

/** A runner may be anybody's, and what it says goes into the log. */
function plainOutcome({ status, content, message, details, files }: TaskOutcome): TaskOutcome {
  const { isError: _, ...output } = normalOutput({ content: content ?? '', details, files }, Number.POSITIVE_INFINITY);
  return { status, ...output, ...(message === undefined ? {} : { message }) };
}

/** Tells watchers what there is to read by now. What can't be read is read when the task has ended. */
async function tell(
  { hub, clock, state }: Ports,
  { taskId, toolName, runId }: TaskFacts,
  handle: TaskHandle,
): Promise<void> {
  if (!hub.isObserved()) return;
  const read = await Promise.resolve(handle)
    .then((task) => task.read())
    .catch(() => null);
  if (read === null) return;
  const { content } = normalOutput({ content: read.content }, Number.POSITIVE_INFINITY);
  const { progress } = read;
  const since = state.tasks?.all.get(taskId)?.createdAt ?? clock.now();
  const text = progress === undefined ? {} : { text: progress };
  const elapsedMs = clock.now() - since;
  hub.emit({ type: 'task_progress', afterSeq: state.seq, taskId, toolName, runId, content, ...text, elapsedMs });
}

function controlOf(
  parts: Ports,
  entries: ReadonlyMap<string, Entry>,
  { stop, post, ended }: Omit<Reports, 'idle'> & Pick<TaskDesk, 'stop'>,
): TaskControl {
  const { agent, clock, state } = parts;
  const stateOf = (taskId: string): TaskState => {
    const task = state.tasks?.all.get(taskId);
    if (task) return task;
    throw new TreadleError('task_not_found', `There is no background task ${taskId} in this session.`);
  };
  const mustRead = async (taskId: string): Promise<TaskSnapshot> => {
    const task = stateOf(taskId);
    const handle = entries.get(taskId)?.handle;
    const output = hasEnded(task.status) ? outcomeAt(parts, task.endedSeq) : handle?.read();
    const { content, progress } = (await output) ?? { content: [] };
    const pollIntervalMs = handle?.pollIntervalMs ?? agent.background?.pollIntervalMs ?? 1000;
    return { ...factsOf(task), content, ...(progress === undefined ? {} : { progress }), pollIntervalMs };
  };
  async function* poll(
    taskId: string,
    { intervalMs, timeoutMs, signal }: PollOptions = {},
  ): AsyncGenerator<TaskSnapshot> {
    const until = timeoutMs === undefined ? Infinity : clock.now() + timeoutMs;
    while (signal?.aborted !== true) {
      const task = await mustRead(taskId);
      yield task;
      const left = until - clock.now();
      if (hasEnded(task.status) || left <= 0) return;
      const over = entries.get(taskId)?.over.then(() => ended(taskId));
      await pause(clock, Math.min(intervalMs ?? task.pollIntervalMs, left), { signal, over });
    }
  }

  return {
    list: () => [...(state.tasks?.all.values() ?? [])].map(factsOf),
    read: async (taskId) => (state.tasks?.all.has(taskId) === true ? mustRead(taskId) : null),
    poll,
    async stop(taskId, reason = 'It was stopped.') {
      const task = stateOf(taskId);
      if (!hasEnded(task.status)) {
        if (entries.has(taskId)) await stop(taskId, reason);
        else if (task.status === 'pending') await post(taskId, 0, { status: 'killed', message: reason, content: [] });
        else throw new TreadleError('task_not_found', `The background task ${taskId} isn't run by this process.`);
        await ended(taskId);
      }
      return mustRead(taskId);
    },
  };
}

/** What a task came to, from the event that has its end. */
async function outcomeAt({ journal, state }: Ports, seq: number): Promise<TaskOutput> {
  for await (const event of journal.read(state.sessionId, seq)) {
    const input = event.type === 'input_received' ? event.input : null;
    return { content: input?.type === 'task_ended' ? input.content : [] };
  }
  return { content: [] };
}

const factsOf = (task: TaskState): Omit<TaskSnapshot, 'content' | 'progress' | 'pollIntervalMs'> => {
  const { taskId, toolName, callId, runId, status, createdAt, endedAt, message } = task;
  return { taskId, toolName, callId, runId, status, createdAt, endedAt, message };
};
