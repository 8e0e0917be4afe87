// The smallest agent: a model, tools that work in a folder, and a prompt. The offline model is a set of rules that needs
// no key and no network; `resolveModel('anthropic/claude-sonnet-4-5')` of @treadle/models is a real one.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent } from '@treadle/core';
import { offlineModel } from '@treadle/models/offline';
import { builtInTools } from '@treadle/tools';

const folder = mkdtempSync(join(tmpdir(), 'treadle-'));
writeFileSync(join(folder, 'apple.txt'), 'red\n');
writeFileSync(join(folder, 'banana.txt'), 'yellow\n');
writeFileSync(join(folder, 'orange.txt'), 'the colour has its name\n');

const agent = defineAgent({
  model: offlineModel(),
  tools: builtInTools({ root: folder }),
  permissions: { mode: 'acceptEdits' }, // Files in the folder may be written without asking anybody.
});

const session = await createSession(agent);
const first = await session.prompt('Create largest.md with the names of the two largest files').result;
console.log(first.end, 'after', first.turns, 'turns');
console.log(readFileSync(join(folder, 'largest.md'), 'utf8').trim());

// A session remembers what was said.
const second = await session.prompt('Which files mention "yellow"?').result;
console.log(second.finalAnswer);

rmSync(folder, { recursive: true });

/* Output:
completed after 4 turns
- orange.txt
- banana.txt
"yellow" is on 1 line in 1 file of this folder.
- banana.txt (1 line)

— Treadle's offline model (rule-based, no language model)
*/
