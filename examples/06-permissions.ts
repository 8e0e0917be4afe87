// What runs without asking, what is denied, and what a person is asked: by a mode, by rules, and by a run that pauses. The
// answer may come from any process, on any day; here it also says what needn't be asked again.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { scriptedModel } from '@treadle/testing';
import { builtInTools } from '@treadle/tools';

const folder = mkdtempSync(join(tmpdir(), 'treadle-'));
const write = (path: string) => ({ name: 'write_file', arguments: { path, content: 'Hello.\n' } });
const bash = (command: string) => ({ name: 'bash', arguments: { command } });

const agent = defineAgent({
  model: scriptedModel([
    { toolCalls: [write('notes.md'), write('.env'), bash('ls | sort'), bash('node -p 42')] },
    { toolCalls: [bash('node -p 43'), bash('git push --force')] },
    'Two of six are not done.',
  ]),
  tools: builtInTools({ root: folder }),
  permissions: {
    mode: 'acceptEdits', // Files in the folder may be changed, and commands that only look may run.
    deny: [{ rule: 'write_file(.env*)', match: ['.env', '.env.local'], noMatch: ['env.md'] }, 'bash(git push:*)'],
  },
});

const session = await createSession(agent);
session.subscribe((event) => {
  if (event.type === 'decision_made' && isJsonObject(event.decision))
    console.log('decision:', event.decision['reason']);
  if (event.type === 'tool_ended') console.log('ran:', JSON.stringify(event.content));
});

const { status, pending } = await session.prompt('Do this and that.').result;
console.log(status, JSON.stringify(pending.map((call) => call.arguments)), readdirSync(folder));

const [question] = pending;
if (question?.type !== 'approval') throw new Error('Nobody was asked.');
const run = session.approve(question, {
  updatedPermissions: [{ type: 'addRules', behavior: 'allow', rules: ['bash(node -p:*)'], destination: 'session' }],
});
const answered = await run.result;
console.log(answered.status, JSON.stringify(answered.permissionDenials.map((denial) => denial.arguments)));
rmSync(folder, { recursive: true });

/* Output:
decision: The mode acceptEdits allows it
ran: [{"type":"text","text":"Created notes.md: 7 bytes."}]
decision: The rule write_file(.env*) denies it
decision: The mode acceptEdits allows it
ran: [{"type":"text","text":"exit code 0\nstdout:\nnotes.md\nstderr: (empty)"}]
paused [{"command":"node -p 42"}] [ 'notes.md' ]
decision: It was allowed when asked
ran: [{"type":"text","text":"exit code 0\nstdout:\n42\nstderr: (empty)"}]
decision: The rule bash(node -p:*) allows it
ran: [{"type":"text","text":"exit code 0\nstdout:\n43\nstderr: (empty)"}]
decision: The rule bash(git push:*) denies it
completed [{"path":".env","content":"Hello.\n"},{"command":"git push --force"}]
*/
