// What an agent remembers from one session to the next, in a full-text index in SQLite. It is asked before a run what fits
// the prompt, and told after the run what came of it. What it found is in the view, and not in the conversation.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent } from '@treadle/core';
import { sqliteMemory } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';

const folder = mkdtempSync(join(tmpdir(), 'treadle-'));
const memory = sqliteMemory({ path: join(folder, 'memory.db') });

// It answers from what it is shown, as a real model would.
const model = scriptedModel(({ messages }) => {
  const shown = messages.flatMap(({ role, content }) => (role === 'user' ? content : []));
  const facts = shown.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  return facts.includes('on Fridays') ? 'We deploy on Fridays.' : 'I do not know.';
});
const agent = defineAgent({ model, memory });

async function ask(prompt: string): Promise<void> {
  const session = await createSession(agent); // A new one each time: it begins with nothing.
  const { text, messages } = await session.prompt(prompt).result;
  const origins = session.messages.map((message) => (message.role === 'user' ? message.origin : message.role));
  console.log(`${prompt} ${text} (view: ${origins.join(', ')}; conversation: ${messages.length} messages)`);
}

await ask('When do we deploy?');
await ask('Please remember that we deploy on Fridays.');
await ask('When do we deploy?');
await ask('What is for lunch?');

await memory.close();
rmSync(folder, { recursive: true });

/* Output:
When do we deploy? I do not know. (view: prompt, assistant; conversation: 2 messages)
Please remember that we deploy on Fridays. We deploy on Fridays. (view: memory, prompt, assistant; conversation: 2 messages)
When do we deploy? We deploy on Fridays. (view: memory, prompt, assistant; conversation: 2 messages)
What is for lunch? I do not know. (view: prompt, assistant; conversation: 2 messages)
*/
