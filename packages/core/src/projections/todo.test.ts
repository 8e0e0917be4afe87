import { describe, expect, it } from 'vitest';

import type { DurableEvent } from '../events/events.ts';
import type { Message } from '../messages/message.ts';
import { UNKNOWN_USAGE } from '../model/usage.ts';
import { TODO_TOOL, todoFold, todoItems, type TodoItem } from './todo.ts';

const item = (content: string, status: TodoItem['status'] = 'pending'): TodoItem => ({
  content,
  status,
  activeForm: `doing ${content}`,
});

const call = (callId: string, todos: readonly TodoItem[]): Message => ({
  role: 'assistant',
  id: `message_${callId}`,
  at: 1,
  provider: 'p',
  model: 'm',
  content: [{ type: 'tool_call', callId, name: TODO_TOOL, arguments: { todos: todos.map((one) => ({ ...one })) } }],
  stopReason: 'tool_use',
  usage: UNKNOWN_USAGE,
  cost: null,
});

const result = (callId: string, isError = false): Message => ({
  role: 'tool',
  id: `result_${callId}`,
  at: 1,
  callId,
  toolName: TODO_TOOL,
  content: [{ type: 'text', text: 'Noted.' }],
  isError,
});

const ended = (seq: number, todos: unknown, over: { toolName?: string; isError?: boolean } = {}): DurableEvent => ({
  type: 'tool_ended',
  seq,
  at: 1,
  runId: 'r',
  turnIndex: 0,
  callId: `call_${seq}`,
  toolName: TODO_TOOL,
  content: [],
  isError: false,
  details: { todos } as never,
  durationMs: 0,
  ...over,
});

const imported = (seq: number, messages: readonly Message[]): DurableEvent => ({
  type: 'input_received',
  seq,
  at: 1,
  key: `k${seq}`,
  input: { type: 'import', messages },
});

describe('todoFold', () => {
  it('is the list of the last call that succeeded', () => {
    const list = todoFold();
    expect(list.items).toEqual([]);
    expect(list.take(ended(1, [item('a')]))).toBe(true);
    expect(list.take(ended(2, [item('a', 'completed'), item('b')]))).toBe(true);
    expect(list.take(ended(3, [item('wrong')], { isError: true }))).toBe(false);
    expect(list.items).toEqual([item('a', 'completed'), item('b')]);
  });

  it("leaves other tools' results and lists of another shape alone", () => {
    const list = todoFold();
    list.take(ended(1, [item('a')]));
    for (const todos of ['a', [{ content: 'a' }], [{ ...item('a'), status: 'done' }], null])
      expect(list.take(ended(2, todos))).toBe(false);
    expect(list.take(ended(3, [item('b')], { toolName: 'other' }))).toBe(false);
    expect(list.items).toEqual([item('a')]);
  });

  it('starts anew with an imported conversation, from the list in it', () => {
    const list = todoFold();
    list.take(ended(1, [item('old')]));
    list.take(imported(2, [call('c', [item('brought')]), result('c')]));
    expect(list.items).toEqual([item('brought')]);
    expect(list.take(imported(3, []))).toBe(true);
    expect(list.items).toEqual([]);
  });
});

describe('todoItems', () => {
  it('reads a list of whole items, and nothing else', () => {
    expect(todoItems({ todos: [] })).toEqual([]);
    expect(todoItems({ todos: [{ ...item('a') }] })).toEqual([item('a')]);
    for (const value of [undefined, null, 'x', [], {}, { todos: {} }, { todos: [null] }])
      expect(todoItems(value)).toBeNull();
  });
});
