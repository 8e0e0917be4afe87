// The smallest agent: a model, tools that work in a folder, and a prompt. The demo model knows a few prompts and
// needs no key; `resolveModel('anthropic/claude-sonnet-5-5')` of @treadle/models is a real one.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent } from '@treadle/core';
import { builtInTools } from '@treadle/tools';
import { demoModel } from 'treadle/demo';

const folder = mkdtempSync(join(tmpdir(), 'treadle-'));
writeFileSync(join(folder, 'apple.txt'), 'red\n');
writeFileSync(join(folder, 'banana.txt'), 'yellow\n');
writeFileSync(join(folder, 'orange.txt'), 'the colour has its name\n');

const agent = defineAgent({
  model: demoModel(),
  tools: builtInTools({ root: folder }),
  permissions: { mode: 'acceptEdits' }, // Files in the folder may be written without asking anybody.
});

const session = await createSession(agent);
const first = await session.prompt('Create largest.md with the names of the two largest files').result;
console.log(first.status, 'after', first.turns, 'turns');
console.log(readFileSync(join(folder, 'largest.md'), 'utf8').trim());

// A session remembers what was said.
const second = await session.prompt('Which files mention "yellow"?').result;
console.log(second.text);

rmSync(folder, { recursive: true });

/* Output:
completed after 3 turns
- orange.txt
- banana.txt
"yellow" is in 1 file.

- banana.txt: line 1
*/
