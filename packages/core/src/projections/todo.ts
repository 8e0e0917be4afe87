import type { DurableEvent } from '../events/events.ts';
import { isJsonObject, type JsonValue } from '../json.ts';
import type { Message } from '../messages/message.ts';

/** The name of the tool whose calls carry a todo list. */
export const TODO_TOOL = 'todo';

/** The state of an item of a task list. */
export type TodoStatus = 'pending' | 'in_progress' | 'completed';

/** One thing that is to be done. */
export interface TodoItem {
  /** What is to be done: "Run the tests". */
  readonly content: string;
  readonly status: TodoStatus;
  /** The same while it is being done: "Running the tests". */
  readonly activeForm: string;
}

const STATUSES: readonly unknown[] = ['pending', 'in_progress', 'completed'] satisfies TodoStatus[];

const isItem = (value: unknown): value is JsonValue & TodoItem =>
  isJsonObject(value) &&
  typeof value['content'] === 'string' &&
  typeof value['activeForm'] === 'string' &&
  STATUSES.includes(value['status']);

/** The list in the arguments or the `details` of a todo call; null when there is none in them. */
export function todoItems(value: JsonValue | undefined): readonly TodoItem[] | null {
  if (!isJsonObject(value)) return null;
  const { todos } = value;
  return Array.isArray(todos) && todos.every(isItem) ? todos : null;
}

/** Folds a session's events into its todo list. */
export interface TodoFold {
  /** True when the event changed the list. */
  take(event: DurableEvent): boolean;
  readonly items: readonly TodoItem[];
}

/**
 * Starts the fold of a session's todo list: what the last successful `todo` call said. Importing a conversation brings its
 * list, or none. Feed it the session's events from the first on.
 *
 * @example
 * ```ts
 * import { createSession, defineAgent } from '@treadle/core';
 * import { todoFold } from '@treadle/core/projections';
 * import { scriptedModel } from '@treadle/testing';
 * import { todoTool } from '@treadle/tools';
 *
 * const todos = [{ content: 'Run the tests', status: 'in_progress', activeForm: 'Running the tests' }];
 * const model = scriptedModel([{ toolCalls: [{ name: 'todo', arguments: { todos } }] }, 'On it.']);
 * const session = await createSession(defineAgent({ model, tools: [todoTool()] }));
 *
 * const list = todoFold();
 * for await (const event of session.prompt('Check my change.')) {
 *   if ('seq' in event && list.take(event)) console.log(list.items[0]?.activeForm); // Running the tests
 * }
 * ```
 */
export function todoFold(): TodoFold {
  let items: readonly TodoItem[] = [];
  return {
    get items() {
      return items;
    },
    take(event) {
      const found = listOf(event);
      if (found === null) return false;
      items = found;
      return true;
    },
  };
}

function listOf(event: DurableEvent): readonly TodoItem[] | null {
  if (event.type === 'tool_ended' && event.toolName === TODO_TOOL && !event.isError) return todoItems(event.details);
  if (event.type !== 'input_received' || event.input.type !== 'import') return null;
  return newestList(event.input.messages) ?? [];
}

/** The list of the newest successful todo call among messages. */
function newestList(messages: readonly Message[]): readonly TodoItem[] | null {
  const succeeded = new Set<string>();
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    if (message?.role === 'tool' && message.toolName === TODO_TOOL && !message.isError) succeeded.add(message.callId);
    if (message?.role !== 'assistant' || succeeded.size === 0) continue;
    for (const block of message.content.toReversed()) {
      if (block.type !== 'tool_call' || !succeeded.has(block.callId)) continue;
      const items = todoItems(block.arguments);
      if (items) return items;
    }
  }
  return null;
}
