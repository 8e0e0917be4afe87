// Three ways to write the same file, each in a copy of the folder. A judge who prefers what it reads first compares them in
// pairs, in both orders. The winner's files become the folder's; another one is adopted afterwards.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent, promoteBranch, runBranches } from '@treadle/core';
import { pairwiseJudge } from '@treadle/core/branches';
import type { ModelRequest } from '@treadle/core/model';
import { scriptedModel } from '@treadle/testing';
import { folderCopies, writeFileTool } from '@treadle/tools';

const base = mkdtempSync(join(tmpdir(), 'treadle-'));
const copies = folderCopies({ root: base, folder: `${base}.branches` });

const writer = (configId: string, content: string) => ({
  configId,
  agent: ({ folder }: { folder: string | null }) =>
    defineAgent({
      configId,
      model: scriptedModel([
        { toolCalls: [{ name: 'write_file', arguments: { path: 'greeting.txt', content } }] },
        `I wrote: ${content}`,
      ]),
      tools: [writeFileTool({ root: folder ?? base })],
      permissions: { mode: 'acceptEdits' },
    }),
});

// It names the first of two, unless only the other one is polite.
const judge = scriptedModel(({ messages }: ModelRequest) => {
  const [, first = '', second = ''] = JSON.stringify(messages).split('<answer number=');
  return `BEST: ${!first.includes('please') && second.includes('please') ? 2 : 1}`;
});

const session = await createSession(defineAgent({ model: scriptedModel([]) }));
const run = runBranches(session, {
  prompt: 'Write a greeting for the door.',
  branches: [writer('short', 'Hi.'), writer('polite', 'Come in, please.'), writer('rude', 'Go away.')],
  strategy: pairwiseJudge({ model: judge }),
  copies,
  onOutcome: ({ configId, status }) => console.log(`${configId}: ${status}`),
});
const greeting = (): string => readFileSync(join(base, 'greeting.txt'), 'utf8');
console.log((await run.result).text, '| in the folder:', greeting());

const [short] = await run.outcomes;
await promoteBranch(session, short?.sessionId ?? '', { copies });
console.log('After all:', greeting());
for (const folder of [base, `${base}.branches`]) rmSync(folder, { recursive: true });

/* Output:
…: completed
…: completed
…: completed
I wrote: Come in, please. | in the folder: Come in, please.
After all: Hi.
*/
