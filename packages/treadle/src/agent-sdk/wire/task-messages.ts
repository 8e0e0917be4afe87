import type { DurableEvent, JsonObject, JsonValue, TreadleEvent } from '@treadle/core';
import type { SessionInput } from '@treadle/core/events';
import { isJsonObject } from '@treadle/core/json';
import { hasEnded } from '@treadle/core/tools';

import { wireResult } from './content.ts';
import { wireName } from './tools.ts';

interface Task {
  readonly callId: string;
  readonly toolName: string;
  readonly description: string;
}

type TaskEnded = Extract<SessionInput, { readonly type: 'task_ended' }>;

const SYSTEM = { type: 'system' } as const;

/**
 * The messages about tasks: calls in the background, and sub-agents. A sub-agent that its run waits for is a task of the
 * name of its session.
 */
export function taskMessages() {
  const tasks = new Map<string, Task>();
  /** What tasks have come to of which the log doesn't say yet that they ended. */
  const outcomes = new Map<string, Pick<TaskEnded, 'content' | 'details'>>();

  function started(taskId: string, task: Task, kind: string): JsonObject {
    tasks.set(taskId, task);
    const { callId, description } = task;
    return { ...SYSTEM, subtype: 'task_started', task_id: taskId, tool_use_id: callId, description, task_type: kind };
  }

  function ended(
    taskId: string,
    status: 'completed' | 'failed' | 'killed',
    summary: JsonValue,
    details?: JsonValue,
  ): JsonObject[] {
    const task = tasks.get(taskId);
    if (!tasks.delete(taskId) || !task) return [];
    const { usage = {} } = isJsonObject(details) ? details : {};
    return [
      {
        ...SYSTEM,
        subtype: 'task_notification',
        task_id: taskId,
        tool_use_id: task.callId,
        status: status === 'killed' ? 'stopped' : status,
        output_file: '',
        summary: typeof summary === 'string' ? summary : task.description,
        ...(isJsonObject(usage) && Object.keys(usage).length > 0 ? { usage: taskUsage(usage) } : {}),
      },
    ];
  }

  return {
    take(event: TreadleEvent | DurableEvent): JsonObject[] {
      switch (event.type) {
        case 'task_updated': {
          const { taskId, task, status } = event;
          if (task) {
            const { callId, toolName, arguments: input } = task;
            return [started(taskId, { callId, toolName, description: describe(toolName, input) }, kindOf(toolName))];
          }
          if (hasEnded(status)) {
            const { content = [], details } = outcomes.get(taskId) ?? {};
            outcomes.delete(taskId);
            const summary = content.length > 0 ? wireResult(content) : (event.message ?? null);
            return ended(taskId, status, summary, details);
          }
          return [{ ...SYSTEM, subtype: 'task_updated', task_id: taskId, patch: { status } }];
        }
        case 'input_received': {
          if (event.input.type !== 'task_ended') return [];
          // The log has its end next.
          outcomes.set(event.input.taskId, event.input);
          return [];
        }
        case 'task_progress': {
          const { taskId, text, elapsedMs, toolName } = event;
          const task = tasks.get(taskId);
          return [
            {
              ...SYSTEM,
              subtype: 'task_progress',
              task_id: taskId,
              tool_use_id: task?.callId ?? '',
              description: text ?? task?.description ?? wireName(toolName),
              usage: { total_tokens: 0, tool_uses: 0, duration_ms: elapsedMs },
              last_tool_name: wireName(toolName),
            },
          ];
        }
        case 'tool_started': {
          const { childSessionId, callId, toolName, arguments: input } = event;
          if (childSessionId === undefined) return [];
          return [
            started(childSessionId, { callId, toolName, description: describe(toolName, input) }, kindOf('agent')),
          ];
        }
        case 'tool_ended': {
          const { details, content, isError } = event;
          const childId = isJsonObject(details) ? details['childSessionId'] : undefined;
          if (typeof childId !== 'string') return [];
          return ended(childId, isError ? 'failed' : 'completed', wireResult(content), details);
        }
        default:
          return [];
      }
    },
  };
}

const kindOf = (toolName: string): string => (toolName === 'agent' ? 'local_agent' : 'local_bash');

function describe(toolName: string, input: JsonObject): string {
  const { description, prompt, command } = input;
  for (const text of [description, command, prompt]) if (typeof text === 'string') return text.slice(0, 200);
  return wireName(toolName);
}

function taskUsage(usage: JsonObject): JsonObject {
  const numbers = ['input', 'output', 'cacheRead', 'cacheWrite'].map((name) => usage[name]);
  const total = numbers.reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0);
  return { total_tokens: total, tool_uses: 0, duration_ms: 0 };
}
