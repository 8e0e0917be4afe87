import { TreadleError } from '../../errors.ts';
import { defineTool } from '../../tools/define/define.ts';
import { hasEnded, type TaskControl, type TaskSnapshot } from '../../tools/task-control.ts';
import type { Tool, ToolContext, ToolResult } from '../../tools/tool.ts';
import { TASK_OUTPUT, TASK_STOP } from './task.ts';

const TASK_LIST = 'task_list';

const LONGEST_WAIT_MS = 600_000;

const taskId = { type: 'string', description: 'The id that the call in the background returned.' } as const;

/** `task_output`, `task_list` and `task_stop`. */
export const taskTools = (): Tool[] => [outputTool(), listTool(), stopTool()];

function outputTool(): Tool {
  return defineTool({
    name: TASK_OUTPUT,
    label: 'Read a background task',
    description:
      'Shows how far a background task is and what it has put out. With wait_ms it waits for the end of the task for so ' +
      'long. There is no need to ask again and again: you are told when a task has ended.',
    inputSchema: {
      type: 'object',
      properties: {
        task_id: taskId,
        wait_ms: { type: 'integer', minimum: 0, maximum: LONGEST_WAIT_MS, description: 'Milliseconds. Default 0.' },
      },
      required: ['task_id'],
      additionalProperties: false,
    },
    readOnly: true,
    async execute({ task_id: id, wait_ms: waitMs = 0 }, context) {
      const tasks = controlOf(context);
      const task = waitMs === 0 ? await tasks.read(id) : await waited(context, tasks, id, waitMs);
      return task ? shown(task) : unknownTask(tasks, id);
    },
  });
}

/** The task when it has ended, or when so much time has passed. */
async function waited(
  { signal }: ToolContext,
  tasks: TaskControl,
  id: string,
  timeoutMs: number,
): Promise<TaskSnapshot | null> {
  let last = await tasks.read(id);
  if (last === null) return null;
  for await (const task of tasks.poll(id, { signal, timeoutMs })) last = task;
  return last;
}

function shown(task: TaskSnapshot): ToolResult {
  const ended = hasEnded(task.status);
  const why = task.message === null ? '' : ` ${task.message}`;
  const doing = !ended && task.progress !== undefined ? ` It says: ${task.progress}` : '';
  const heading = `${task.taskId} (${task.toolName}): ${task.status}.${why}${doing}`;
  const label = task.content.length === 0 ? 'There is no output.' : ended ? 'Its result:' : 'Its output so far:';
  return {
    content: [{ type: 'text', text: `${heading}\n${label}` }, ...task.content],
    // An end that is told here is not told again: the log knows by this.
    details: { taskId: task.taskId, status: task.status, ...(ended ? { taskEnd: true } : {}) },
  };
}

function listTool(): Tool {
  return defineTool({
    name: TASK_LIST,
    label: 'List background tasks',
    description: 'Lists the background tasks of this session, and how far they are.',
    readOnly: true,
    execute(_, context) {
      const tasks = controlOf(context).list();
      const lines = tasks.map((task) => {
        const why = task.message === null ? '' : ` (${task.message})`;
        return `${task.taskId}  ${task.status}  ${task.toolName}${why}`;
      });
      return {
        content: lines.length === 0 ? 'There are no background tasks.' : lines.join('\n'),
        details: { tasks: tasks.map(({ taskId: id, toolName, status }) => ({ taskId: id, toolName, status })) },
      };
    },
  });
}

function stopTool(): Tool {
  return defineTool({
    name: TASK_STOP,
    label: 'Stop a background task',
    description: 'Ends a background task and all it started.',
    inputSchema: {
      type: 'object',
      properties: { task_id: taskId },
      required: ['task_id'],
      additionalProperties: false,
    },
    // A task that has ended stays as it is, so that stopping it again changes nothing.
    replay: 'safe',
    async execute({ task_id: id }, context) {
      const tasks = controlOf(context);
      if ((await tasks.read(id)) === null) return unknownTask(tasks, id);
      return shown(await tasks.stop(id, 'It was stopped by task_stop.'));
    },
  });
}

function controlOf({ tasks, toolName }: ToolContext): TaskControl {
  if (tasks) return tasks;
  throw new TreadleError('internal', `${toolName} needs the background tasks of a session, and this process has none.`);
}

function unknownTask(tasks: TaskControl, id: string): ToolResult {
  const known = tasks.list().map(({ taskId: each }) => each);
  const which = known.length === 0 ? 'There are none.' : `There are: ${known.join(', ')}.`;
  return { content: `There is no background task ${JSON.stringify(id)}. ${which}`, isError: true };
}
