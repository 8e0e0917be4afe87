// A tool that the client runs: a browser, an editor, a phone. The run pauses, no process waits, and whoever connects later
// brings the result. Here the client is a process of its own that opens the session, works, and drives the run on.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent, defineTool, openSession } from '@treadle/core';
import { sqliteJournal } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';

const [, script = '', role = 'server', folder = mkdtempSync(join(tmpdir(), 'treadle-'))] = process.argv;

const openPage = defineTool({
  name: 'open_page',
  description: "Opens a page in the user's browser and says its title.",
  inputSchema: { type: 'object', properties: { page: { type: 'string' } }, required: ['page'] },
  runs: 'client', // It has no `execute`: that is the client's.
});
const model = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool'
    ? 'Your page says "Hello".'
    : { toolCalls: [{ name: 'open_page', arguments: { page: 'index.html' } }] },
);
const agent = defineAgent({ model, tools: [openPage] });
const journal = sqliteJournal({ path: join(folder, 'sessions.db') });

if (role === 'server') {
  writeFileSync(join(folder, 'index.html'), '<title>Hello</title>');
  const session = await createSession(agent, { id: 'page', journal });
  const { status, pending } = await session.prompt('What is on my page?').result;
  console.log('server:', status, JSON.stringify(pending.map((call) => [call.toolName, call.arguments])));

  const client = spawnSync(process.execPath, [...process.execArgv, script, 'client', folder], { encoding: 'utf8' });
  process.stdout.write(client.stdout + client.stderr);

  await session.refresh(); // Takes in what others have written to the log.
  console.log(
    'server:',
    session.status !== 'idle' ? 'the run is open' : 'the run is over',
    session.messages.length,
    'messages',
  );
  await journal.close();
  rmSync(folder, { recursive: true });
} else {
  const session = await openSession(agent, 'page', { journal });
  const { pending } = await session.resume().result; // Still paused: nobody has brought the result.
  const results = pending.map(async ({ callId, arguments: { page } }) => {
    const html = await readFile(join(folder, typeof page === 'string' ? page : ''), 'utf8');
    return { callId, content: /<title>(.*)<\/title>/.exec(html)?.[1] ?? 'It has no title.' };
  });
  const { status, text } = await session.addToolOutputs(await Promise.all(results)).result;
  console.log('client:', status, text);
  await journal.close();
}

/* Output:
server: paused [["open_page",{"page":"index.html"}]]
client: completed Your page says "Hello".
server: the run is over 4 messages
*/
