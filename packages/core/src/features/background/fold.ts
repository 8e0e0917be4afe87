import type { EventOf, Fold } from '../../kernel/fold.ts';
import { isJsonObject } from '../../json.ts';
import { FORKED, TASK_OUTPUT, TASK_STOP, openTasks, type TaskState, type TaskTable } from './task.ts';
import { hasEnded, type TaskEnd } from '../../tools/task-control.ts';
import type { RunState, SessionState } from '../../kernel/state.ts';

type Ended = Extract<EventOf<'input_received'>['input'], { type: 'task_ended' }>;

export const tasksFold: Fold = {
  before(state, event) {
    if (event.type === 'run_ended' && event.inputSeq === undefined && state.tasks && state.run)
      runEnded(state.tasks, state.run);
  },
  after(state, event) {
    if (event.type === 'task_updated') return taskUpdated(state, event);
    if (event.type === 'input_received') return inputReceived(state, event);
    const { tasks } = state;
    if (tasks === null) return;
    if (event.type === 'session_created') tasksForked(tasks, event);
    else if (event.type === 'input_rejected') wakingRefused(tasks, event.inputSeq);
    else if (event.type === 'run_started') tasksWoke(tasks);
    else if (event.type === 'tool_ended') taskRead(tasks, event);
    else if (event.type === 'message_added' && event.notice?.type === 'task') taskDelivered(tasks, event.notice.taskId);
  },
};

function inputReceived(state: SessionState, { seq, at, input }: EventOf<'input_received'>): void {
  if (input.type === 'stop_task') stopTask(state.tasks, input);
  else if (input.type === 'task_ended') taskEnded(state, { seq, at, input });
  else if (state.tasks === null) return;
  else if (input.type === 'cancel') cancelTasks(state.tasks, input.inputSeq, input.reason ?? null);
  else if (input.type === 'import' && state.run === null) forgetResults(state.tasks);
}

/** A task begins, or the loop has noted what became of it. */
function taskUpdated(state: SessionState, event: EventOf<'task_updated'>): void {
  const { taskId, status, at, seq, message = null } = event;
  if (event.task) return begin(state, event, event.task);
  const task = state.tasks?.all.get(taskId);
  if (!state.tasks || !task) return;
  // What came while it was being begun stands: an end is an end.
  if (hasEnded(task.status)) task.reported ||= task.status === status;
  else if (hasEnded(status)) {
    end(task, { status, at, seq, message, content: [] });
    task.reported = true;
  } else {
    task.status = status;
    task.attempt = event.attempt ?? task.attempt;
    task.message = message ?? task.message;
  }
  closeIfDone(state.tasks, task);
}

function begin(
  state: SessionState,
  event: EventOf<'task_updated'>,
  task: NonNullable<EventOf<'task_updated'>['task']>,
): void {
  const { taskId, at, runId = '' } = event;
  state.tasks ??= { all: new Map(), open: new Set() };
  const begun: TaskState = {
    taskId,
    runId,
    ...task,
    attempt: 0,
    runInputSeq: state.run?.inputSeq ?? 0,
    status: 'pending',
    endedSeq: 0,
    createdAt: at,
    endedAt: null,
    message: null,
    content: [],
    reported: false,
    delivered: false,
    woke: false,
    stopping: null,
  };
  state.tasks.all.set(taskId, begun);
  state.tasks.open.add(taskId);
}

/** The first end counts: a runner that was given up may still say something. */
function taskEnded(
  { tasks, run }: Pick<SessionState, 'tasks' | 'run'>,
  { seq, at, input }: { readonly seq: number; readonly at: number; readonly input: Ended },
): void {
  const task = tasks?.all.get(input.taskId);
  if (!tasks || !task || hasEnded(task.status)) return;
  end(task, { status: input.status, at, seq, message: input.message ?? null, content: input.content });
  if (input.childSpent === undefined) return;
  task.childSpent = input.childSpent;
  if (run?.runId !== task.runId) return;
  run.limits.spent += input.childSpent;
  task.isPaid = true;
}

/** A run ends, and what it has begun goes on: with what is left of its money. */
function runEnded(tasks: TaskTable, { runId, limits: { spent, own } }: RunState): void {
  const maxCost = own?.maxCost;
  for (const task of openTasks(tasks)) {
    if (task.runId !== runId || hasEnded(task.status) || (spent === 0 && maxCost === undefined)) continue;
    task.account = { spent, ...(maxCost === undefined ? {} : { maxCost }) };
  }
}

function end(
  task: TaskState,
  ended: {
    readonly status: TaskEnd;
    readonly at: number;
    readonly seq: number;
    readonly message: string | null;
  } & Pick<TaskState, 'content'>,
): void {
  task.status = ended.status;
  task.endedAt = ended.at;
  task.endedSeq = ended.seq;
  task.message = ended.message;
  task.content = task.delivered ? [] : ended.content;
  task.stopping = null;
}

/** Whoever cancels ends what was begun: all of it, or what one run began. */
function cancelTasks(tasks: TaskTable, runInputSeq: number | undefined, reason: string | null): void {
  for (const task of openTasks(tasks)) {
    if (runInputSeq !== undefined && runInputSeq !== task.runInputSeq) continue;
    if (hasEnded(task.status)) task.woke = true;
    else task.stopping = reason ?? 'It was cancelled.';
  }
}

/** One task is to end. What has ended stays as it is. */
function stopTask(
  tasks: TaskTable | null,
  { taskId, reason = 'It was stopped.' }: { readonly taskId: string; readonly reason?: string },
): void {
  const task = tasks?.all.get(taskId);
  if (task && !hasEnded(task.status)) task.stopping ??= reason;
}

/** A run begins: what has ended by then wakes nobody any more. */
function tasksWoke(tasks: TaskTable): void {
  for (const task of openTasks(tasks)) if (hasEnded(task.status)) task.woke = true;
}

/** A run that a task would have started was refused: it isn't tried again. */
function wakingRefused(tasks: TaskTable, inputSeq: number): void {
  if (openTasks(tasks).some(({ endedSeq }) => endedSeq === inputSeq)) tasksWoke(tasks);
}

/** The conversation they belong to is gone. */
function forgetResults(tasks: TaskTable): void {
  for (const { taskId, status } of openTasks(tasks)) if (hasEnded(status)) taskDelivered(tasks, taskId);
}

/** The model has been told of its end. */
function taskDelivered(tasks: TaskTable, taskId: string): void {
  const task = tasks.all.get(taskId);
  if (!task) return;
  task.delivered = true;
  task.content = [];
  closeIfDone(tasks, task);
}

/** A result that shows a task's end is how the model is told of it. */
function taskRead(tasks: TaskTable, { toolName, details }: EventOf<'tool_ended'>): void {
  if (toolName !== TASK_OUTPUT && toolName !== TASK_STOP) return;
  if (!isJsonObject(details) || details['taskEnd'] !== true) return;
  const { taskId } = details;
  if (typeof taskId === 'string') taskDelivered(tasks, taskId);
}

/** The work belongs to the other session. */
function tasksForked(tasks: TaskTable, { seq, at }: EventOf<'session_created'>): void {
  for (const task of openTasks(tasks)) {
    if (!hasEnded(task.status)) end(task, { status: 'failed', at, seq, message: FORKED, content: [] });
  }
}

function closeIfDone({ open }: TaskTable, task: TaskState): void {
  if (hasEnded(task.status) && task.reported && task.delivered) open.delete(task.taskId);
}
