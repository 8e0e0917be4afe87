// A conversation that outgrows the model's window: older messages leave what the model is sent, a summary takes their
// place, and the model can read back what was removed. The log keeps everything.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent, summarising } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { readFileTool } from '@treadle/tools';

const folder = mkdtempSync(join(tmpdir(), 'treadle-'));
const files = ['1.log', '2.log', '3.log', '4.log', '5.log'];
for (const file of files) writeFileSync(join(folder, file), `${'all is well\n'.repeat(250)}the code of ${file} is 7\n`);

// A real model would understand what it reads. This one reads the files, and then asks for what the third one said, by the
// handle that it finds in the note where the file was.
const read = files.map((path) => ({ toolCalls: [{ name: 'read_file', arguments: { path } }], usage: null }));
const model = scriptedModel(({ messages, toolChoice }) => {
  if (toolChoice === 'none') return 'The logs from 1.log on were read. All was well, and each ends with a code.';
  const next = read.shift();
  if (next !== undefined) return next;
  const handle = /\{\\"handle\\":\\"(.+?)\\"\}/.exec(JSON.stringify(messages))?.[1] ?? 'none';
  const last = messages.at(-1);
  if (last?.role === 'tool' && last.toolName === 'recall') return 'The code was 7.';
  return { toolCalls: [{ name: 'recall', arguments: { handle, search: 'the code of 3' } }] };
});

const agent = defineAgent({
  model,
  tools: [readFileTool({ root: folder })],
  // Real models know their window, and `context: {}` is enough.
  context: { window: 6000, strategy: summarising({ keepRecentTurns: 1 }) },
});
const session = await createSession(agent);
for await (const event of session.prompt('Read the logs. What was the code of the third one?')) {
  if (event.type === 'compacted') console.log(event.trigger, event.messagesBefore, 'messages to', event.messagesAfter);
  if (event.type === 'tool_ended' && event.toolName === 'recall') console.log(JSON.stringify(event.content));
  if (event.type === 'run_ended') console.log(event.status);
}
console.log(session.messages.map((message) => (message.role === 'user' ? message.origin : message.role)).join());
rmSync(folder, { recursive: true });

/* Output:
auto 11 messages to 4
[{"type":"text","text":"770:  251\tthe code of 3.log is 7"}]
completed
prompt,compaction,assistant,tool,assistant,tool,assistant
*/
