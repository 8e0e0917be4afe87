// A command in the background: the model starts a server, goes on at once, looks at what it has printed, and ends it.
// Nothing of it is left when the session is closed.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { scriptedModel } from '@treadle/testing';
import { bashTool } from '@treadle/tools';

const folder = mkdtempSync(join(tmpdir(), 'treadle-'));
const taskOf = ({ messages }: ModelRequest): string => /task_\w+/.exec(JSON.stringify(messages))?.[0] ?? '';

const model = scriptedModel([
  {
    text: 'I start the server.',
    toolCalls: [
      { name: 'bash', arguments: { command: 'echo listening on 8080; exec sleep 600', run_in_background: true } },
    ],
  },
  // A second is enough for it to say something; it goes on running.
  (request) => ({ toolCalls: [{ name: 'task_output', arguments: { task_id: taskOf(request), wait_ms: 1000 } }] }),
  (request) => ({ text: 'It listens.', toolCalls: [{ name: 'task_stop', arguments: { task_id: taskOf(request) } }] }),
  'It has been ended again.',
]);
const agent = defineAgent({
  model,
  tools: [bashTool({ root: folder, sandbox: 'off' })],
  permissions: { mode: 'bypass', allowBypass: true },
  background: true,
});
const session = await createSession(agent);

for await (const event of session.prompt('Does the server start?')) {
  if (event.type === 'task_updated') console.log('task:', event.status);
  if (event.type === 'tool_ended' && event.toolName === 'task_output') {
    console.log(event.content.map((block) => (block.type === 'text' ? block.text.replace(/task_\w+/, 'it') : '')));
  }
}
console.log(session.tasks.list().map(({ toolName, status, message }) => `${toolName} ${status}: ${message}`));
await session.close();
rmSync(folder, { recursive: true });

/* Output:
task: pending
task: running
[ 'it (bash): running.\nIts output so far:', 'listening on 8080\n' ]
task: killed
[ 'bash killed: It was stopped by task_stop.' ]
*/
