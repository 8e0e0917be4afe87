import { createSession, defineAgent, openSession } from '@treadle/core';
import { logOf, scriptedModel } from '@treadle/testing';
import { sqliteJournal } from '../index.ts';

// Writes a journal and is killed, or reads one and tries to write to it; prints what came of it as JSON.

const [, , what, path = ''] = process.argv;
const journal = sqliteJournal({ path });
const agent = defineAgent({ model: scriptedModel(['Hello.']) });
const facts = (error: unknown): object => {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return { code, message };
};

if (what === 'write') {
  const session = await createSession(agent, { journal, id: 's1' });
  await session.prompt('Hi.').result;
  process.kill(process.pid, 'SIGKILL');
}

async function read(): Promise<object> {
  const { sessions } = await journal.list();
  const session = await openSession(agent, 's1', { journal });
  const texts = session.messages.flatMap((message) =>
    message.role === 'extension'
      ? []
      : message.content.map((block) => (block.type === 'text' ? block.text : block.type)),
  );
  return {
    sessions: sessions.map(({ sessionId }) => sessionId),
    events: (await logOf(journal, 's1')).map(({ type }) => type),
    messages: texts,
    written: await session.prompt('More.').result.catch(facts),
  };
}

process.stdout.write(JSON.stringify(await read().catch((error: unknown) => ({ failed: facts(error) }))));
