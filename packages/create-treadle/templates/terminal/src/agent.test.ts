import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSession } from 'treadle';
import { scriptedModel } from '@treadle/testing';
import { createAgent } from './agent.ts';
import { follow } from './chat.ts';

const email = { to: 'ada@example.com', subject: 'Hello', text: 'Hi!' };
const turns = [{ toolCalls: [{ name: 'send_email', arguments: email }] }, 'Done.'];

/** Runs a prompt with a person who gives the same answer to every question. Returns everything that was printed. */
async function chat(answer: string): Promise<string> {
  const model = scriptedModel(turns);
  const session = await createSession(createAgent(model, import.meta.dirname));
  let printed = '';
  const ask = (question: string) => {
    printed += question;
    return Promise.resolve(answer);
  };
  await follow(session, session.prompt('Write to Ada.'), { ask, write: (text) => (printed += text) });
  return printed;
}

test('an email is sent after a yes', async () => {
  const printed = await chat('y');
  assert.match(printed, /Run send_email .*ada@example\.com.*\? \(y\/n\)/);
  assert.match(printed, /\[send_email\]\n/);
  assert.match(printed, /Done\./);
});

test('no email is sent after a no', async () => {
  const printed = await chat('n');
  assert.doesNotMatch(printed, /\[send_email\]/);
  assert.match(printed, /Done\./);
});

test('arguments that do not fit the schema reach no person', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'send_email', arguments: { to: 'Ada' } }] }, 'Sorry.']);
  const session = await createSession(createAgent(model, import.meta.dirname));
  const { status, pending, text } = await session.prompt('Write to Ada.').result;
  assert.deepEqual({ status, pending, text }, { status: 'completed', pending: [], text: 'Sorry.' });
});
