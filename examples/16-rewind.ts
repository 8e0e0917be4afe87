// A session that keeps what its tools change and what is too big for its log, and goes back: files and conversation, to just
// before one of the user's messages.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createSession, defineAgent } from '@treadle/core';
import { fileBlobs, fileJournal } from '@treadle/store';
import { scriptedModel } from '@treadle/testing';
import { editFileTool, readFileTool, rewindSession } from '@treadle/tools';

const folder = mkdtempSync(join(tmpdir(), 'treadle-'));
const root = mkdtempSync(join(tmpdir(), 'treadle-'));
writeFileSync(join(root, 'greeting.txt'), 'Hello.\n');

const edit = (old_text: string, new_text: string) => ({
  toolCalls: [{ name: 'edit_file', arguments: { path: 'greeting.txt', old_text, new_text } }],
});
const read = { toolCalls: [{ name: 'read_file', arguments: { path: 'greeting.txt' } }] };
const model = scriptedModel([
  read,
  edit('Hello', 'Hello, world'),
  'Done.',
  edit('Hello, world', 'HELLO, WORLD'),
  'Louder.',
]);
const permissions = { mode: 'acceptEdits' } as const;
const agent = defineAgent({ model, tools: [readFileTool({ root }), editFileTool({ root })], permissions });
const journal = fileJournal({ folder: join(folder, 'sessions') });
const blobs = fileBlobs({ folder: join(folder, 'blobs') });
const session = await createSession(agent, { journal, blobs });
const shown = () => readFileSync(join(root, 'greeting.txt'), 'utf8').trim();

await session.prompt('Greet the world.').result;
await session.prompt('Shout.').result;
console.log(shown());

const back = { journal, blobs, sessionId: session.id, roots: [root] };
const dry = await rewindSession({ ...back, to: 2, dryRun: true });
console.log(`before "${dry.to.text}":`, dry.files.map(({ path, action }) => `${action} ${path}`).join());

const done = await rewindSession({ ...back, to: 2 });
console.log(shown(), done.sessionId === session.id);

await journal.close();
rmSync(folder, { recursive: true });
rmSync(root, { recursive: true });

/* Output:
HELLO, WORLD.
before "Shout.": restore greeting.txt
Hello, world. false
*/
