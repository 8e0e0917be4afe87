// What a run may use: turns, and dollars. The purse is a file that two processes draw on at the same time, and the most a
// call can cost is set aside before it is made. A run that has reached a limit goes on when there is room again.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent, defineTool } from '@treadle/core';
import { sqliteLedger } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';

const [, script = '', given] = process.argv;
const folder = given ?? mkdtempSync(join(tmpdir(), 'treadle-'));
const ledger = sqliteLedger({ path: join(folder, 'ledger.db'), limit: 1 });

const look = defineTool({
  name: 'look',
  description: 'Looks at a page.',
  inputSchema: { type: 'object', properties: { page: { type: 'integer' } }, required: ['page'] },
  readOnly: true,
  execute: ({ page }) => `Nothing on page ${page}.`,
});
// It turns pages for ever. A reply has 5 tokens, at 5 cents each: 25 cents for a call.
const model = scriptedModel(
  ({ toolChoice }, page) =>
    toolChoice === 'none' ? 'Nothing on two pages.' : { toolCalls: [{ name: 'look', arguments: { page } }] },
  { cost: ({ output }) => (output ?? 0) * 0.05 },
);
const definition = { model, tools: [look], maxTokens: 5 };

if (given !== undefined) {
  const agent = defineAgent({ ...definition, budget: { ledger, minOutputTokens: 5 } });
  const { status } = await (await createSession(agent)).prompt('Find it.').result;
  console.log(status, model.requests.length);
} else {
  const careful = defineAgent({ ...definition, limits: { maxTurns: 2 }, wrapUp: true });
  const { status, message, text } = await (await createSession(careful)).prompt('Find it.').result;
  console.log(`${status}: ${message}. It says: ${text}`);

  const spenders = [1, 2].map(() => spawn(process.execPath, [...process.execArgv, script, folder]));
  const said = await Promise.all(spenders.map(({ stdout }) => textOf(stdout)));
  const ends = said.map((line) => line.replace(/ \d+\n/, ''));
  const calls = said.map((line) => Number(/\d+/.exec(line)?.[0]));
  console.log(`Two processes: ${ends.join(', ')}; ${calls.reduce((sum, count) => sum + count)} calls`);
  console.log(await ledger.balance());

  await ledger.raise(1.25);
  const agent = defineAgent({ ...definition, budget: { ledger, minOutputTokens: 5 } });
  const more = await (await createSession(agent)).prompt('Is there one more?').result;
  console.log(more.status, more.turns, 'turns:', more.message);
}
await ledger.close();
if (given === undefined) rmSync(folder, { recursive: true });

/* Output:
turn_limit: turn limit reached (2 of 2 turns). It says: Nothing on two pages.
Two processes: budget_limit, budget_limit; 4 calls
{ limit: 1, spent: 1, reserved: 0, remaining: 0 }
budget_limit 2 turns: budget reached ($1.25 of $1.25); the next call could cost $0.2500
*/
