import type { NormalOutput } from '../../tools/output.ts';
import type { TaskHandle, TaskOutcome, TaskOutput, TaskRunner } from '../../ports/task-runner.ts';

/**
 * Does background tasks in this process: they live as long as it does. What was running when the process died is cut off,
 * and its replay policy says what comes of it.
 */
export function inProcessTasks(): TaskRunner {
  const running = new Map<string, TaskHandle>();
  return {
    start(request) {
      const key = `${request.sessionId}/${request.taskId}`;
      const stops = new Set<() => void>();
      const watchers = new Set<() => void>();
      let stopped: string | null = null;
      let output: TaskOutput = { content: [] };
      const changed = (next: TaskOutput): void => {
        output = next;
        for (const watcher of watchers) watcher();
      };
      const work = request.execute({
        onStop(stop) {
          if (stopped !== null) stop();
          stops.add(stop);
          return () => stops.delete(stop);
        },
        update: ({ content }) => changed({ ...output, content }),
        progress: (text) => changed({ ...output, progress: text }),
      });
      const handle: TaskHandle = {
        ended: work.then((result) => {
          running.delete(key);
          return outcomeOf(result, stopped);
        }),
        read: () => output,
        stop(reason) {
          if (stopped !== null) return;
          stopped = reason;
          for (const stop of stops) stop();
        },
        watch(listener) {
          const own = (): void => listener();
          watchers.add(own);
          return () => watchers.delete(own);
        },
      };
      running.set(key, handle);
      return handle;
    },
    attach: ({ sessionId, taskId }) => Promise.resolve(running.get(`${sessionId}/${taskId}`) ?? null),
  };
}

function outcomeOf({ content, isError, details, files }: NormalOutput, stopped: string | null): TaskOutcome {
  const more = { ...(details === undefined ? {} : { details }), ...(files === undefined ? {} : { files }) };
  if (stopped !== null) return { status: 'killed', message: stopped, content, ...more };
  return { status: isError ? 'failed' : 'completed', content, ...more };
}
