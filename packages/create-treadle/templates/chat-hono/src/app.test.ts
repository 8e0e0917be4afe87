import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@treadle/client';
import { scriptedModel } from '@treadle/testing';
import { memoryJournal } from 'treadle';
import { createAgent } from './agent.ts';
import { createApp } from './app.ts';

const email = { to: 'ada@example.com', subject: 'Hello', text: 'Hi!' };

/** The page of an app, and a client with the page's token that reaches the app without a socket. */
async function open() {
  const model = scriptedModel([{ toolCalls: [{ name: 'send_email', arguments: email }] }, 'Done.']);
  const { app } = createApp(createAgent(model, import.meta.dirname), memoryJournal());
  const page = await (await app.request('http://localhost/')).text();
  const token = /name="token" content="([^"]+)"/.exec(page)?.[1] ?? '';
  const fetch = async (url: string | URL | Request, init?: RequestInit) => app.request(new Request(url, init));
  return { app, page, client: createClient({ url: 'http://localhost', token, fetch }) };
}

test('the page asks before it sends an email', async () => {
  const { client } = await open();
  const asked: string[] = [];
  const session = await client.createSession();
  const { status, text } = await session.run('Write to Ada.', {
    approve: (call) => {
      asked.push(call.toolName);
      return { decision: 'approve' };
    },
  });
  assert.deepEqual({ status, text, asked }, { status: 'completed', text: 'Done.', asked: ['send_email'] });
});

test('the page finds its modules', async () => {
  const { app, page } = await open();
  for (const [, path] of page.matchAll(/"(\/(?:node_modules|public)\/[^"]+)"/g)) {
    assert.equal((await app.request(`http://localhost${path}`)).status, 200, path);
  }
});

test('nobody reaches the agent without the token of the page', async () => {
  const { app } = await open();
  const response = await app.request('http://localhost/v1/sessions', { method: 'POST' });
  assert.equal(response.status, 401);
});
