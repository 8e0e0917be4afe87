import { postgresJournal } from '@treadle/store/postgres';
import { createAgent } from './agent.ts';
import { ask } from './ask.ts';
import { openDatabase } from './database.ts';
import { model } from './model.ts';

const prompt = process.argv[2] ?? 'What is in this folder?';
const database = await openDatabase('.postgres');
const journal = postgresJournal({ connection: database.url });
try {
  console.log(await ask(createAgent(model(), process.cwd()), journal, prompt));
} finally {
  await journal.close();
  await database.stop();
}
