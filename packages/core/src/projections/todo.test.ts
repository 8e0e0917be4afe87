import { describe, expect, it } from 'vitest';

import type { DurableEvent } from '../events/events.ts';
import type { Message } from '../messages/message.ts';
import { UNKNOWN_USAGE } from '../model/usage.ts';
import { TODO_TOOL, todoFold, todoItems, todoReminder, type TodoItem } from './todo.ts';

const item = (content: string, status: TodoItem['status'] = 'pending'): TodoItem => ({
  content,
  status,
  activeForm: `doing ${content}`,
});

const user = (id: string): Message => ({ role: 'user', id, at: 1, origin: 'prompt', content: [] });

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

describe('todoReminder', () => {
  const open = [item('a', 'completed'), item('run the\n tests', 'in_progress')];
  const before = [user('u1'), call('c1', open), result('c1'), user('u2')];

  it('C8: brings open todos back when compaction removed the call that listed them', () => {
    const reminder = todoReminder(before, [user('summary'), user('u2')], 7);
    expect(reminder).toMatchObject({ role: 'user', origin: 'reminder', at: 7 });
    const [block] = reminder?.content ?? [];
    expect(block).toMatchObject({ type: 'text' });
    expect(block?.type === 'text' && block.text).toContain('- [completed] a\n- [in_progress] run the tests\n');
  });

  it('C8: keeps its message through further compactions, until a newer list stands in its place', () => {
    const reminder = todoReminder(before, [user('u2')], 7);
    const compacted = [user('u2'), ...(reminder ? [reminder] : []), user('u3')];
    expect(todoReminder(compacted, compacted.slice(1), 8)).toBeNull();
    expect(todoReminder(compacted, [user('u3')], 9)).toBe(reminder);
    const newer = [...compacted, call('c2', [item('new')]), result('c2')];
    expect(todoReminder(newer, [user('u3')], 10)?.id).not.toBe(reminder?.id);
    const finished = [...compacted, call('c2', [item('new', 'completed')]), result('c2')];
    expect(todoReminder(finished, [user('u3')], 10)).toBeNull();
  });

  it('adds nothing while the list is still in the view, is done, or never was', () => {
    expect(todoReminder(before, before.slice(1), 7)).toBeNull();
    expect(todoReminder([call('c', [item('a', 'completed')]), result('c')], [], 7)).toBeNull();
    expect(todoReminder([call('c', []), result('c')], [], 7)).toBeNull();
    expect(todoReminder([user('u')], [], 7)).toBeNull();
  });

  it('goes by the last call that succeeded', () => {
    const failed = [...before, call('c2', [item('rejected')]), result('c2', true)];
    const [block] = todoReminder(failed, [], 7)?.content ?? [];
    expect(block?.type === 'text' && block.text).toContain('run the tests');
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
