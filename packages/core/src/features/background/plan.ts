import type { Agent } from '../../agent/agent.ts';
import type { DurableEventBody } from '../../events/events.ts';
import { BEGUN_AGAIN, deliveryId, deliveryOf, INTERRUPTED } from './delivery.ts';
import { hasEnded } from '../../tools/task-control.ts';
import { openTasks, type TaskState } from './task.ts';
import type { InboxEntry, SessionState } from '../../kernel/state.ts';
import type { Step } from '../../kernel/step.ts';

/** What happens next with background tasks; null when nothing does. Looks only at those that something is to come of. */
export function planTasks({ tasks }: SessionState, agent: Agent, now: number): Step | null {
  if (tasks === null) return null;
  const news: DurableEventBody[] = [];
  const stopping: TaskState[] = [];
  const waiting: TaskState[] = [];
  let running = 0;
  for (const task of openTasks(tasks)) {
    if (hasEnded(task.status)) {
      if (!task.reported) news.push(updated(task, task.status, now, task.message, { inputSeq: task.endedSeq }));
    } else if (task.stopping !== null) {
      if (task.status === 'running') stopping.push(task);
      else news.push(updated(task, 'killed', now, task.stopping));
    } else if (task.status === 'running') running += 1;
    else waiting.push(task);
  }
  if (news.length > 0) return { type: 'record', events: news };
  if (stopping.length > 0) return { type: 'stop_tasks', tasks: stopping };
  const next = waiting.slice(0, Math.max(0, mostRunning(agent) - running));
  return next.length > 0 ? { type: 'start_tasks', tasks: next } : null;
}

const mostRunning = ({ background }: Agent): number => background?.maxRunning ?? 0;

/** A step of a task, as an event. */
export function updated(
  { taskId, runId }: TaskState,
  status: TaskState['status'],
  at: number,
  message: string | null = null,
  more: { readonly attempt?: number; readonly inputSeq?: number } = {},
): DurableEventBody {
  return { type: 'task_updated', at, taskId, status, runId, ...(message === null ? {} : { message }), ...more };
}

/** What becomes of a task that nobody works on any more: its replay policy says. */
export function interrupted(task: TaskState, mayBeginAgain: boolean, now: number): DurableEventBody {
  const again = mayBeginAgain && task.stopping === null && (task.replay === 'safe' || task.status === 'pending');
  return again ? updated(task, 'pending', now, BEGUN_AGAIN) : updated(task, 'failed', now, INTERRUPTED);
}

const isUntold = (task: TaskState): boolean => hasEnded(task.status) && !task.delivered;

/** What tasks came to, for the model's next call: each once. */
export function taskResults({ tasks }: SessionState, runId: string, at: number): DurableEventBody[] {
  if (tasks === null) return [];
  return openTasks(tasks)
    .filter(isUntold)
    .flatMap((task): DurableEventBody[] => {
      const { taskId, status } = task;
      if (!hasEnded(status)) return [];
      const message = { role: 'user', id: deliveryId(taskId), at, origin: 'task', content: deliveryOf(task) } as const;
      return [{ type: 'message_added', at, runId, inView: true, message, notice: { type: 'task', taskId, status } }];
    });
}

/** Whether a run that would end waits. */
export const waitsForTasks = ({ tasks }: SessionState, { background }: Agent): boolean =>
  tasks !== null && background?.atEnd === 'wait' && openTasks(tasks).some(({ status }) => !hasEnded(status));

/** What starts a run of its own accord: a task that has ended and that nobody was told of. */
export function wakeUp({ tasks }: SessionState, { background }: Agent): InboxEntry | null {
  if (tasks === null || background?.wake !== true) return null;
  for (const task of openTasks(tasks)) {
    if (!isUntold(task) || task.woke || task.status === 'killed') continue;
    const input = { type: 'continue', continuation: { kind: 'default' } } as const;
    return { seq: task.endedSeq, at: task.endedAt ?? 0, input, cancelled: null };
  }
  return null;
}
