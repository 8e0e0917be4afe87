// Tools for a model that knows no tool calls: they are described to it in text, and its calls are read out of its text while
// it streams. To the loop it is a model like any other. Here it also ends the run itself, by a terminal tool.

import { createSession, defineAgent, defineTool } from '@treadle/core';
import { promptedTools } from '@treadle/models';
import { scriptedModel } from '@treadle/testing';

const files = new Map([['todo.txt', 'Water the plants.']]);
const read = defineTool({
  name: 'read',
  description: 'Reads a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  readOnly: true,
  execute: ({ path }) => files.get(path) ?? `There is no ${path}.`,
});

const call = (tool: string, args: object): string =>
  `<tool>${JSON.stringify({ server_name: 'local', tool_name: tool, arguments: args })}</tool>`;
const plain = scriptedModel([
  `I look it up.\n${call('read', { path: 'todo.txt' })}\nIt says that…`, // What comes behind a call is made up: it is dropped.
  `<tool><server_name>local</server_name><tool_name>read</tool_name><path>todo.txt</path></tool>`,
  'You should water the plants.', // No call: with this agent that is a slip, and the model is reminded.
  call('task_completion', { result: 'You should water the plants.' }),
]);

const agent = defineAgent({
  model: promptedTools(plain, { text: 'thinking' }),
  tools: [read],
  stopTools: true,
  requireToolCall: 'remind',
});
const session = await createSession(agent);
for await (const event of session.prompt('What is to be done?')) {
  if (event.type === 'message_added' && event.message.role === 'assistant') {
    for (const block of event.message.content)
      if (block.type === 'thinking') console.log('thinking:', block.text.trim());
  }
  if (event.type === 'tool_started') console.log('call:', event.toolName, JSON.stringify(event.arguments));
  if (event.type === 'tool_call_rejected') {
    const [why] = event.content;
    console.log('rejected:', event.reason, '>', why?.type === 'text' ? why.text : '');
  }
  if (event.type === 'run_ended') console.log(event.status);
}

/* Output:
thinking: I look it up.
call: read {"path":"todo.txt"}
rejected: invalid_xml > Not executed: the call could not be read as XML (<path> is not one of <server_name>, <tool_name> and <arguments>).
thinking: You should water the plants.
rejected: no_call > The reply called no tool.
call: task_completion {"result":"You should water the plants."}
completed
*/
