import { wakeUp } from '../../features/background/plan.ts';
import { CLOSED_INPUT, driveHere, foldNews, goOnWith, hasWork, inTurn, start, type SessionParts } from '../runs.ts';
import { childSpentBy } from '../money.ts';
import { createTaskDesk, type TaskDesk } from '../../features/background/desk.ts';
import { hasEnded } from '../../tools/task-control.ts';
import { openTasks, type TaskState } from '../../features/background/task.ts';

/** The desk of a session; made when it is first needed, for most sessions need none. */
export function tasksOf(parts: SessionParts): TaskDesk {
  const { journal, state, clock } = parts;
  return (parts.tasks ??= createTaskDesk(parts, {
    post(taskId, attempt, outcome) {
      const input = { type: 'task_ended', taskId, ...outcome, ...childSpentBy(parts, taskId) } as const;
      return journal.post(state.sessionId, input, `task_ended:${taskId}:${attempt}`, clock.now());
    },
    ended: (taskId) => takeNote(parts, taskId),
    idle: () => void parts.hold.settle(),
  }));
}

/**
 * A task has ended, and the log has it. Whoever drives the session sees it there; when nobody does, it is noted here, and
 * starts a run where the agent wants that. Resolves when the state has it.
 */
async function takeNote(parts: SessionParts, taskId: string): Promise<void> {
  const { state, agent } = parts;
  const task = (): TaskState | undefined => state.tasks?.all.get(taskId);
  if (parts.active) await Promise.race([parts.active.ended, untilFolded(parts, task)]);
  if (parts.active || parts.closed) return;
  await inTurn(parts, async () => {
    await foldNews(parts);
    // A run that waits for somebody is told when it goes on, and what is to start a run is noted by that run.
    if (parts.active || hasWork(parts) || task()?.reported !== false) return;
    await driveHere(parts, () => Promise.resolve(), CLOSED_INPUT);
  });
  if (parts.active || parts.closed || state.run !== null || wakeUp(state, agent) === null) return;
  start(parts, (control) => goOnWith(parts, control));
}

function untilFolded({ hub }: SessionParts, task: () => TaskState | undefined): Promise<void> {
  const isFolded = (): boolean => hasEnded(task()?.status ?? 'completed');
  if (isFolded()) return Promise.resolve();
  return new Promise((resolve) => {
    const unsubscribe = hub.subscribe((event) => {
      if (event.type !== 'input_received' || !isFolded()) return;
      unsubscribe();
      resolve();
    });
  });
}

const isAtWork = ({ status, stopping }: TaskState): boolean => !hasEnded(status) && stopping === null;

/** Ends what runs in the background of a session that nobody drives; where somebody does, the same input ends both. */
export async function abortTasks(parts: SessionParts, reason: string | undefined): Promise<void> {
  const { state, post } = parts;
  if (parts.active || !state.tasks || !openTasks(state.tasks).some(isAtWork)) return;
  await post({ type: 'cancel', ...(reason === undefined ? {} : { reason }) });
  if (!parts.active) await inTurn(parts, () => driveHere(parts, () => Promise.resolve(), CLOSED_INPUT));
}

/** Nobody is here any more who could look after them. */
export async function closeTasks(parts: SessionParts): Promise<void> {
  while (parts.active) await parts.active.ended;
  parts.closed = true;
  if (!parts.tasks || !parts.state.tasks) return;
  const why = 'The session was closed.';
  const waiting = openTasks(parts.state.tasks).filter(({ status }) => status === 'pending');
  for (const { taskId } of waiting) await parts.tasks.control.stop(taskId, why);
  await parts.tasks.stopAll(why);
  await inTurn(parts, async () => {
    await foldNews(parts);
    const { tasks } = parts.state;
    const isNews = tasks !== null && openTasks(tasks).some(({ reported }) => !reported);
    if (isNews && parts.state.run === null) await driveHere(parts, () => Promise.resolve(), CLOSED_INPUT);
  });
}
