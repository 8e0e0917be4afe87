// A process is killed with SIGKILL in the middle of two tool calls. Another one goes on from the log, which is in SQLite:
// what only looks is run again, what charges money is not, and the model is told that nobody knows its effect.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent, defineTool, openSession } from '@treadle/core';
import { sqliteJournal } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';

const [, script = '', given] = process.argv;
const isDoomed = given !== undefined;
const folder = given ?? mkdtempSync(join(tmpdir(), 'treadle-'));
const world = join(folder, 'world.txt');
/** Changes the world. The process that will be killed never gets any further. */
async function happen(what: string): Promise<void> {
  appendFileSync(world, `${what}\n`);
  console.log('a tool works:', what);
  if (isDoomed) await new Promise(() => setInterval(() => {}, 60_000));
}

const look = defineTool({
  name: 'look',
  description: 'Looks up the price.',
  replay: 'safe', // It may run again, under the same idempotency key.
  execute: (_args, { idempotencyKey }) => happen(`looked (${idempotencyKey})`).then(() => '12 €'),
});
const charge = defineTool({
  name: 'charge',
  description: 'Charges the card.',
  replay: 'never', // The default. `ask` lets a person decide.
  execute: () => happen('charged').then(() => 'Charged.'),
});
// It looks at the conversation, so it goes on in whatever process it is asked.
const model = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool'
    ? 'I will check the account.'
    : { toolCalls: [{ name: 'look' }, { name: 'charge' }] },
);
const agent = defineAgent({ model, tools: [look, charge] });
const journal = sqliteJournal({ path: join(folder, 'sessions.db') });

if (isDoomed) {
  const session = await createSession(agent, { id: 'order', journal });
  await session.prompt('Buy the book.').result;
} else {
  const child = spawn(process.execPath, [...process.execArgv, script, folder]);
  const ended = once(child, 'close');
  let said = '';
  for await (const chunk of child.stdout) {
    said += String(chunk);
    if (said.includes('looked') && said.includes('charged')) child.kill('SIGKILL'); // Both tools are running.
  }
  console.log('The first process ended:', (await ended)[1]);
  const session = await openSession(agent, 'order', { journal });
  for await (const event of session.resume()) {
    const isResult = event.type === 'tool_ended' || event.type === 'tool_call_rejected';
    if (isResult) console.log(event.type, JSON.stringify(event.content));
    if (event.type === 'run_ended') console.log(event.status);
  }
  await journal.close();
  console.log(`What the world saw:\n${readFileSync(world, 'utf8').trim()}`);
  rmSync(folder, { recursive: true });
}

/* Output:
The first process ended: SIGKILL
tool_call_rejected [{"type":"text","text":"The process running this call died before its result was recorded. Whether it took effect is unknown. It was not run again. Check the state of things before you repeat it."}]
a tool works: looked (order/call_…)
tool_ended [{"type":"text","text":"12 €"}]
completed
What the world saw:
looked (order/call_…)
charged
looked (order/call_…)
*/
