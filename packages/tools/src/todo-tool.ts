import { defineTool, type Tool } from '@treadle/core';
import { TODO_TOOL, todoItems } from '@treadle/core/projections';

/**
 * The tool `todo`: the model writes down what is to be done and how far it is. Each call replaces the whole list. It is
 * kept nowhere but in the log: `todoFold` of core reads it from there for a user interface, and no compaction takes the newest
 * list out of the view while something on it is open. Result `details`: `{ todos }`.
 */
export function todoTool(): Tool {
  return defineTool({
    name: TODO_TOOL,
    label: 'Todo list',
    description:
      'Keeps your todo list, which the user sees. Use it for work of three or more steps, and not for less. Give the ' +
      'whole list each time. Keep one item in_progress while you work on it, and mark it completed as soon as it is done, ' +
      'never before.',
    inputSchema: {
      type: 'object',
      properties: {
        todos: {
          type: 'array',
          maxItems: 100,
          description: 'All items, in the order in which they are to be done. Empty to clear the list.',
          items: {
            type: 'object',
            properties: {
              content: { type: 'string', minLength: 1, maxLength: 500, description: 'What to do: "Run the tests".' },
              status: { type: 'string', enum: ['pending', 'in_progress', 'completed'] },
              activeForm: {
                type: 'string',
                minLength: 1,
                maxLength: 500,
                description: 'The same while it is being done: "Running the tests".',
              },
            },
            required: ['content', 'status', 'activeForm'],
            additionalProperties: false,
          },
        },
      },
      required: ['todos'],
      additionalProperties: false,
    },
    readOnly: true,
    // Two lists of one turn must not change places.
    execution: 'sequential',
    execute(args) {
      const todos = todoItems(args) ?? [];
      const done = todos.filter(({ status }) => status === 'completed').length;
      return {
        content: todos.length === 0 ? 'The list is empty now.' : `Noted: ${done} of ${todos.length} done.`,
        details: { todos: todos.map(({ content, status, activeForm }) => ({ content, status, activeForm })) },
      };
    },
  });
}
