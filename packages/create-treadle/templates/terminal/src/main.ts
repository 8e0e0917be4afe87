import { createInterface } from 'node:readline/promises';
import { openLatest, sqliteJournal } from 'treadle';
import { createAgent } from './agent.ts';
import { follow } from './chat.ts';
import { model } from './model.ts';

const journal = sqliteJournal({ path: 'sessions.db' });
const session = await openLatest(createAgent(model(), process.cwd()), { journal });
const terminal = createInterface({ input: process.stdin, output: process.stdout });
const person = {
  ask: (question: string) => terminal.question(question),
  write: (text: string) => void process.stdout.write(text),
};

// What the last process left: a run that was cut off, or a question that nobody answered.
await follow(session, session.canResume ? session.resume() : null, person);

terminal.setPrompt('\n> ');
console.log('Ask me something, such as: What is in this folder?');
terminal.prompt();
for await (const prompt of terminal) {
  if (prompt.trim() !== '') await follow(session, session.prompt(prompt), person);
  terminal.prompt();
}
await journal.close();
