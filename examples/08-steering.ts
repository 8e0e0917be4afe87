// Speaking to a run while it works, from any process: steering reaches the model with its next call, a follow-up when the
// run would end, and a cancellation ends the processes that its tools have started.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { bashTool } from '@treadle/tools';

const folder = mkdtempSync(join(tmpdir(), 'treadle-'));
const bash = (command: string) => ({ toolCalls: [{ name: 'bash', arguments: { command } }] });
const model = scriptedModel([
  bash('echo "once upon a time" > book.txt'),
  bash('echo "THE END" >> book.txt'), // It has read the steering by now.
  'The book is written.',
  bash('wc -w < book.txt'),
  'It has six words.',
  bash('echo "going to bed"; sleep 1000'),
]);
const agent = defineAgent({ model, tools: [bashTool({ root: folder })], permissions: { allow: ['bash'] } });
const session = await createSession(agent);

let calls = 0;
for await (const event of session.prompt('Write a book.')) {
  if (event.type === 'tool_started' && ++calls === 1) {
    await session.steer('Come to the end, in capitals.'); // It is in the log when this resolves.
    await session.followUp('How many words has it?');
  }
  if (event.type === 'message_added' && event.message.role !== 'extension') {
    const { role, content } = event.message;
    for (const block of content) if (block.type === 'text') console.log(role, '>', block.text);
  }
}
console.log(readFileSync(join(folder, 'book.txt'), 'utf8').trim());

const run = session.prompt('Now sleep for a while.');
for await (const event of run) {
  if (event.type !== 'tool_update') continue;
  console.log('bash >', JSON.stringify(event.content));
  await run.abort('That is long enough.');
}
const { status, message } = await run.result;
console.log(status, '>', message);
rmSync(folder, { recursive: true });

/* Output:
user > Write a book.
user > Come to the end, in capitals.
assistant > The book is written.
user > How many words has it?
assistant > It has six words.
once upon a time
THE END
bash > [{"type":"text","text":"going to bed\n"}]
aborted > That is long enough.
*/
