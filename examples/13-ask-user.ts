// A model that plans and asks: `todo` is a list that a user interface can show, folded out of the events, and `ask_user` puts
// questions to the user. The run pauses until somebody answers, in any process and as late as they like.

import { answerQuestions, createSession, defineAgent, userQuestions } from '@treadle/core';
import { todoFold } from '@treadle/core/projections';
import { scriptedModel } from '@treadle/testing';
import { askUserTool, todoTool } from '@treadle/tools';

const plan = (first: string, second: string) => ({
  name: 'todo',
  arguments: {
    todos: [
      { content: 'Choose a database', status: first, activeForm: 'Choosing a database' },
      { content: 'Set it up', status: second, activeForm: 'Setting it up' },
    ],
  },
});
const which = {
  question: 'Where should the data be?',
  header: 'Database',
  multiSelect: false,
  options: [
    { label: 'SQLite', description: 'One file on this machine.' },
    { label: 'Postgres', description: 'A server, for many machines.' },
  ],
};
const model = scriptedModel([
  { toolCalls: [plan('in_progress', 'pending')] },
  { toolCalls: [{ name: 'ask_user', arguments: { questions: [which] } }] },
  { toolCalls: [plan('completed', 'in_progress')] },
  'SQLite it is.',
]);

const session = await createSession(defineAgent({ model, tools: [todoTool(), askUserTool()] }));
const todos = todoFold();
session.subscribe((event) => {
  if (!('seq' in event) || !todos.take(event)) return;
  console.log(todos.items.map(({ status, content }) => `${content}: ${status}`).join(', '));
});

const { status, pending } = await session.prompt('Set up storage.').result;
for (const { question, options } of pending.flatMap((call) => userQuestions(call.arguments) ?? [])) {
  console.log(`${status}: ${question} (${options.map(({ label }) => label).join(' or ')})`);
}
const answers = pending.map((call) => answerQuestions(call, [{ selected: ['SQLite'], other: 'We are only two.' }]));
console.log((await session.addToolOutputs(answers).result).text);

/* Output:
Choose a database: in_progress, Set it up: pending
paused: Where should the data be? (SQLite or Postgres)
Choose a database: completed, Set it up: in_progress
SQLite it is.
*/
