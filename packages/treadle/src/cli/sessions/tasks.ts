import type { Journal } from '@treadle/core';
import { initialState, reduce, type SessionState } from '@treadle/core/kernel';
import type { TaskEnd, TaskStatus } from '@treadle/core/tools';

import type { CommandContext } from '../context.ts';
import { duration } from '../output/figures.ts';
import { plainLine, plainText } from '../asking/plain-text.ts';
import { UsageError } from '../usage-error.ts';

/** What `sessions tasks` is to do. */
export interface TasksRequest {
  /** A task, or the beginning of its id; absent for all of them. */
  readonly task: string | undefined;
  readonly stop: boolean;
  readonly json: boolean;
}

/** A background task, as it is told of. */
interface TaskFacts {
  readonly taskId: string;
  readonly toolName: string;
  readonly status: TaskStatus;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly message: string | null;
}

const ENDS: ReadonlySet<TaskStatus> = new Set<TaskEnd>(['completed', 'failed', 'killed']);

/** Lists the background tasks of a session, shows what one has come to, or ends one. */
export async function sessionTasks(
  { out, note, io }: CommandContext,
  journal: Journal,
  sessionId: string,
  { task: wanted, stop, json }: TasksRequest,
): Promise<void> {
  const state = await stateOf(journal, sessionId);
  const all = [...(state.tasks?.all.values() ?? [])].map(factsOf);
  if (wanted === undefined) {
    if (json) out.print(`${JSON.stringify({ sessionId, tasks: all })}\n`);
    else for (const task of all) out.print(`${row(task, io.now())}\n`);
    if (all.length === 0 && !json) note('Nothing of this session has run in the background.');
    return;
  }
  const task = taskOf(all, wanted);
  if (stop) return stopTask({ note }, journal, sessionId, task, io.now());
  const output = await outputOf(journal, sessionId, state.tasks?.all.get(task.taskId)?.endedSeq ?? 0);
  if (json) out.print(`${JSON.stringify({ sessionId, ...task, output })}\n`);
  else if (output !== null) out.print(`${plainText(output.trimEnd())}\n`);
  else note(`${task.taskId} is ${task.status}: what it has put out so far is with the process that runs it.`);
}

async function stateOf(journal: Journal, sessionId: string): Promise<SessionState> {
  const state = initialState(sessionId);
  for await (const event of journal.read(sessionId, 1)) reduce(state, event);
  return state;
}

const factsOf = ({ taskId, toolName, status, createdAt, endedAt, message }: TaskFacts): TaskFacts => ({
  taskId,
  toolName,
  status,
  createdAt,
  endedAt,
  message,
});

/** @throws UsageError unless there is exactly one. */
function taskOf(all: readonly TaskFacts[], wanted: string): TaskFacts {
  const found = all.filter(({ taskId }) => taskId.startsWith(wanted));
  const exact = found.find(({ taskId }) => taskId === wanted) ?? (found.length === 1 ? found[0] : undefined);
  if (exact) return exact;
  const there = all.length === 0 ? 'There are none.' : `There are: ${all.map(({ taskId }) => taskId).join(', ')}.`;
  throw new UsageError(`No background task ${plainLine(wanted, 80)} in this session. ${there}`);
}

/** Whoever runs the session ends the task; where nobody does, the next one does. */
async function stopTask(
  { note }: Pick<CommandContext, 'note'>,
  journal: Journal,
  sessionId: string,
  { taskId, status }: TaskFacts,
  now: number,
): Promise<void> {
  if (ENDS.has(status)) {
    note(`${taskId} has ended already: ${status}.`);
    return;
  }
  await journal.post(
    sessionId,
    { type: 'stop_task', taskId, reason: 'It was stopped from the command line.' },
    `stop:${taskId}`,
    now,
  );
  note(`${taskId} is told to stop.`);
}

/** What a task came to, out of the event that has its end; null while it runs. */
async function outputOf(journal: Journal, sessionId: string, endedSeq: number): Promise<string | null> {
  if (endedSeq === 0) return null;
  for await (const event of journal.read(sessionId, endedSeq)) {
    const input = event.type === 'input_received' && event.input.type === 'task_ended' ? event.input : null;
    return (input?.content ?? []).map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
  }
  return null;
}

/** Tab-separated, as the sessions are: id, status, tool, how long it has run, and why it ended. */
function row({ taskId, status, toolName, createdAt, endedAt, message }: TaskFacts, now: number): string {
  const ran = duration(Math.max(0, (endedAt ?? now) - createdAt));
  return [taskId, status, plainLine(toolName, 40), ran, plainLine(message ?? '', 200)].join('\t').trimEnd();
}
