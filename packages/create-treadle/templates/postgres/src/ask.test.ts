import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { postgresJournal } from '@treadle/store/postgres';
import { scriptedModel } from '@treadle/testing';
import { createAgent } from './agent.ts';
import { ask } from './ask.ts';
import { openDatabase } from './database.ts';

// A database of the tests' own, whatever DATABASE_URL says.
delete process.env.DATABASE_URL;
const folder = await mkdtemp(join(tmpdir(), 'agent-'));
const database = await openDatabase(folder);

after(async () => {
  await database.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Asks as a process of its own would: with a new connection. */
async function askAnew(prompt: string, reply: string): Promise<string> {
  const journal = postgresJournal({ connection: database.url });
  try {
    return await ask(createAgent(scriptedModel([reply]), import.meta.dirname), journal, prompt);
  } finally {
    await journal.close();
  }
}

test('a later process goes on with the session', async () => {
  assert.match(await askAnew('I like blue.', 'Noted.'), /^Noted\.\n\n\(1 prompts in this session\)$/);
  assert.match(await askAnew('What do I like?', 'Blue.'), /^Blue\.\n\n\(2 prompts in this session\)$/);
});
