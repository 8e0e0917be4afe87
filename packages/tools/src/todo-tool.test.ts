import { createSession, defineAgent, memoryJournal } from '@treadle/core';
import { todoFold, type TodoItem } from '@treadle/core/projections';
import { logOf, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

import { todoTool } from './todo-tool.ts';

const item = (content: string, status: TodoItem['status']): TodoItem & { readonly [key: string]: string } => ({
  content,
  status,
  activeForm: `${content}…`,
});

describe('todo', () => {
  it('replaces the whole list with each call, which the log then has', async () => {
    const journal = memoryJournal();
    const model = scriptedModel([
      { toolCalls: [{ name: 'todo', arguments: { todos: [item('Look', 'in_progress'), item('Fix', 'pending')] } }] },
      { toolCalls: [{ name: 'todo', arguments: { todos: [item('Look', 'completed'), item('Fix', 'in_progress')] } }] },
      'Half done.',
    ]);
    const session = await createSession(defineAgent({ model, tools: [todoTool()] }), { journal });
    const { messages } = await session.prompt('Fix it.').result;
    const results = messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
    expect(results).toEqual([
      { type: 'text', text: 'Noted: 0 of 2 done.' },
      { type: 'text', text: 'Noted: 1 of 2 done.' },
    ]);
    const list = todoFold();
    for (const event of await logOf(journal, session.id)) list.take(event);
    expect(list.items).toEqual([item('Look', 'completed'), item('Fix', 'in_progress')]);
  });

  it('is cleared by an empty list', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'todo', arguments: { todos: [] } }] }, 'Done.']);
    const session = await createSession(defineAgent({ model, tools: [todoTool()] }));
    const { messages } = await session.prompt('Go.').result;
    expect(messages.find(({ role }) => role === 'tool')).toMatchObject({
      content: [{ text: 'The list is empty now.' }],
    });
  });

  it('is refused, with the place, when an item is not whole', async () => {
    const todos = [item('Look', 'pending'), { content: '', status: 'done', activeForm: 'x' }];
    const model = scriptedModel([{ toolCalls: [{ name: 'todo', arguments: { todos } }] }, 'Sorry.']);
    const session = await createSession(defineAgent({ model, tools: [todoTool()] }));
    const { messages } = await session.prompt('Go.').result;
    const [block] = messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
    expect(block?.type === 'text' && block.text).toMatch(/\/todos\/1\/content.*\n.*\/todos\/1\/status/);
  });
});
