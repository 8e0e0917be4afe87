import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { isJsonObject } from '@treadle/core/json';
import type { JsonObject } from '@treadle/core';

/** The extension by which servers of the newer protocol answer with a task. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Where a result says that it is a task's beginning, as far as the SDK sees it. */
const TASK_META = 'treadle/task';

/**
 * Has a transport's answers that begin a task pass through the SDK, which knows no such result and would refuse it: they come
 * out as results without content, with the task in their metadata.
 */
export function letTasksThrough(transport: Transport): void {
  let handler: Transport['onmessage'];
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => handler,
    set: (given: Transport['onmessage']) => {
      handler = given && ((message, extra) => given(withTask(message), extra));
    },
  });
}

function withTask<Message extends JSONRPCMessage>(message: Message): Message {
  const result = 'result' in message ? (message.result as unknown as JsonObject) : undefined;
  if (result?.['resultType'] !== 'task') return message;
  const meta = { [TASK_META]: result };
  return { ...message, result: { resultType: 'complete', content: [], _meta: meta } };
}

/** The id of the task that a result begins; null when it begins none. */
export function taskIn(result: unknown): string | null {
  const meta = (Object(result) as { readonly _meta?: unknown })._meta;
  const task = isJsonObject(meta) ? meta[TASK_META] : undefined;
  const id = task !== undefined && isJsonObject(task) ? task['taskId'] : undefined;
  return typeof id === 'string' ? id : null;
}
