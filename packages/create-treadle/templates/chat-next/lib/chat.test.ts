import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scriptedModel } from '@treadle/testing';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import { memoryJournal } from 'treadle';
import { createAgent } from './agent.ts';
import { createChat } from './chat.ts';

const email = { to: 'ada@example.com', subject: 'Hello', text: 'Hi!' };

/** What `useChat` gets for a prompt, as the last state of its message. */
async function ask(token?: string): Promise<UIMessage | undefined> {
  const model = scriptedModel([{ toolCalls: [{ name: 'send_email', arguments: email }] }, 'Done.']);
  const chat = createChat(createAgent(model, import.meta.dirname), memoryJournal());
  const transport = new DefaultChatTransport({
    api: 'http://localhost/v1/ai-sdk/chat',
    headers: { authorization: `Bearer ${token ?? chat.token}` },
    fetch: async (url, init) => chat.server.fetch(new Request(url, init)),
  });
  const prompt: UIMessage = { id: '1', role: 'user', parts: [{ type: 'text', text: 'Write to Ada.' }] };
  const stream = await transport.sendMessages({
    chatId: 'a-chat',
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
    messages: [prompt],
  });
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return last;
}

test('the page is asked before an email is sent', async () => {
  const message = await ask();
  const call = message?.parts.find((part) => part.type === 'tool-send_email' || part.type === 'dynamic-tool');
  assert.equal(call && 'state' in call ? call.state : undefined, 'approval-requested');
});

test('nobody reaches the agent without the token of the page', async () => {
  await assert.rejects(ask('another-token-of-somebody'));
});
