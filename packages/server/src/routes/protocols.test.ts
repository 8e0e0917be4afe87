import { randomUUID } from 'node:crypto';
import { HttpAgent } from '@ag-ui/client';
import { defineTool, memoryJournal } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { DefaultChatTransport, getToolName, isStaticToolUIPart, type UIMessage } from 'ai';
import { describe, expect, it } from 'vitest';
import { createChat } from '../test-support/chat.ts';
import { conversationAgent } from '../test-support/conversation.ts';
import { startServer, type TestServer } from '../test-support/server.ts';

const FINAL_ANSWER = 'Bought. Back\\slash, and a line:\nFare well. 🧵';

const authorization = ({ bearer }: TestServer) => ({ authorization: `Bearer ${bearer}` });

const chatOn = (server: TestServer, id: string) =>
  createChat(new DefaultChatTransport({ api: `${server.url}/v1/ai-sdk/chat`, headers: authorization(server) }), id);

const lastText = (message: UIMessage | undefined): string | undefined =>
  message?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).at(-1);

/** The call of a tool in a message, with its approval. */
function callOf(message: UIMessage | undefined, tool: string) {
  for (const part of message?.parts ?? []) if (isStaticToolUIPart(part) && getToolName(part) === tool) return part;
  throw new Error(`No call of ${tool}.`);
}

describe('a chat of the AI SDK', () => {
  it('runs tools in the browser, asks for approval and goes on in the same message', async () => {
    const server = await startServer(conversationAgent());
    const chat = chatOn(server, 'chat1');
    await chat.sendMessage({ text: 'An umbrella?' });
    const { toolCallId } = callOf(chat.lastMessage, 'locate');
    await chat.addToolOutput({ tool: 'locate', toolCallId, output: '59.9, 10.7' });
    await chat.sendMessage();
    const { approval } = callOf(chat.lastMessage, 'buy');
    await chat.addToolApprovalResponse({ id: approval?.id ?? '', approved: true });
    await chat.sendMessage();
    expect(chat.error).toBe(undefined);
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(lastText(chat.lastMessage)).toBe(FINAL_ANSWER);
    expect(callOf(chat.lastMessage, 'buy')).toMatchObject({ state: 'output-available', output: 'one umbrella' });
    expect(await server.json('GET', '/v1/sessions/chat1')).toMatchObject({ status: 'idle' });
  });

  it('tells the model of a person’s no', async () => {
    const server = await startServer(conversationAgent());
    const chat = chatOn(server, 'chat1');
    await chat.sendMessage({ text: 'An umbrella?' });
    const { toolCallId } = callOf(chat.lastMessage, 'locate');
    await chat.addToolOutput({ tool: 'locate', toolCallId, output: 'here' });
    await chat.sendMessage();
    const { approval } = callOf(chat.lastMessage, 'buy');
    await chat.addToolApprovalResponse({ id: approval?.id ?? '', approved: false, reason: 'Too dear.' });
    await chat.sendMessage();
    expect(callOf(chat.lastMessage, 'buy').state).toBe('output-denied');
    expect(lastText(chat.lastMessage)).toBe(FINAL_ANSWER);
  });

  it('goes on with a conversation that only the client has, and makes a reply again', async () => {
    const model = scriptedModel(({ messages }) => `${messages.length} messages.`);
    const server = await startServer({ model });
    const chat = chatOn(server, 'chat1');
    chat.messages = [
      { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] },
      { id: 'a', role: 'assistant', parts: [{ type: 'text', text: 'Hello.' }] },
    ];
    await chat.sendMessage({ text: 'How many?' });
    expect(lastText(chat.lastMessage)).toBe('3 messages.');
    await chat.regenerate();
    expect(lastText(chat.lastMessage)).toBe('3 messages.');
    await chat.sendMessage({ text: 'And now?' });
    expect(lastText(chat.lastMessage)).toBe('5 messages.');
    expect(chat.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
  });

  it('resumes the stream of a run that is under way, and has nothing to resume when none is', async () => {
    let finish = (): void => {};
    const until = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const server = await startServer({
      model: scriptedModel([{ text: 'One two three.', chunkSize: 4, waitAfter: { deltas: 1, until } }]),
    });
    const first = chatOn(server, 'chat1');
    const sent = first.sendMessage({ text: 'Count.' });
    await expect.poll(() => lastText(first.lastMessage)).toBe('One ');
    const second = chatOn(server, 'chat1');
    const resumed = second.resumeStream();
    await expect.poll(() => lastText(second.lastMessage)).toBe('One ');
    finish();
    await Promise.all([sent, resumed]);
    expect(lastText(first.lastMessage)).toBe('One two three.');
    expect(lastText(second.lastMessage)).toBe('One two three.');
    const third = chatOn(server, 'chat1');
    await third.resumeStream();
    expect(third.messages).toEqual([]);
  });
});

describe('an agent of AG-UI', () => {
  it('runs tools in the browser, is interrupted for an approval, and resumes', async () => {
    const server = await startServer(conversationAgent());
    const agent = new HttpAgent({ url: `${server.url}/v1/ag-ui`, threadId: 'thread1', headers: authorization(server) });
    agent.addMessage({ id: randomUUID(), role: 'user', content: 'An umbrella?' });
    const outcomes: { type?: string; pendingToolCallIds?: string[]; interrupts?: { id: string }[] }[] = [];
    const subscriber = {
      onRunFinishedEvent: ({ event }: { readonly event: { readonly outcome?: object | undefined } }) => {
        outcomes.push(event.outcome ?? {});
      },
    };
    await agent.runAgent({}, subscriber);
    for (const toolCallId of outcomes[0]?.pendingToolCallIds ?? [])
      agent.addMessage({ id: randomUUID(), role: 'tool', toolCallId, content: '59.9, 10.7' });
    await agent.runAgent({}, subscriber);
    const resume = (outcomes[1]?.interrupts ?? []).map(({ id }) => ({
      interruptId: id,
      status: 'resolved' as const,
      payload: { approved: true },
    }));
    await agent.runAgent({ resume }, subscriber);
    expect(outcomes.map(({ type }) => type)).toEqual(['success', 'interrupt', 'success']);
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: FINAL_ANSWER });
  });
});

describe('tools that a client of AG-UI offers', () => {
  const colour = {
    name: 'set_colour',
    description: 'Colours the page.',
    parameters: { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] },
  };
  const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen by the server' });
  const scripted = () =>
    scriptedModel(({ messages, tools }) => {
      const results = messages.filter(({ role }) => role === 'tool').length;
      if (results > 0) return 'It is red.';
      return tools.some(({ name }) => name === 'set_colour')
        ? { toolCalls: [{ name: 'look' }, { name: 'set_colour', arguments: { colour: 'red' } }] }
        : 'I have no such tool.';
    });
  const clientOf = (server: TestServer) =>
    new HttpAgent({
      url: `${server.url}/v1/ag-ui`,
      threadId: 'thread1',
      headers: authorization(server),
      initialMessages: [{ id: randomUUID(), role: 'user', content: 'Make it red.' }],
    });

  it('are called in the browser, and their results taken by any process', async () => {
    const journal = memoryJournal();
    const options = { journal, offeredTools: true } as const;
    const here = await startServer({ model: scripted(), tools: [look] }, { ...options, owner: 'here' });
    const client = clientOf(here);
    // Under the name of the server's own tool nothing of the client's is called.
    await client.runAgent({ tools: [colour, { ...colour, name: 'look', description: 'Mine.' }] });
    const [said] = client.messages.flatMap((message) =>
      message.role === 'assistant'
        ? [(message.toolCalls ?? []).map(({ id, function: { name } }) => ({ id, name }))]
        : [],
    );
    expect(said?.map(({ name }) => name)).toEqual(['look', 'set_colour']);
    const answered = client.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
    expect(answered).toEqual(['seen by the server']);
    client.addMessage({ id: randomUUID(), role: 'tool', toolCallId: said?.[1]?.id ?? '', content: 'done' });

    const there = await startServer({ model: scripted(), tools: [look] }, { ...options, owner: 'there' });
    const second = new HttpAgent({
      url: `${there.url}/v1/ag-ui`,
      threadId: 'thread1',
      headers: authorization(there),
      initialMessages: client.messages,
    });
    await second.runAgent({ tools: [colour] });
    expect(second.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'It is red.' });
  });

  it('are passed over by a server that takes none, and those that it does not accept', async () => {
    const strict = await startServer({ model: scripted(), tools: [look] });
    const first = clientOf(strict);
    await first.runAgent({ tools: [colour] });
    expect(first.messages.at(-1)).toMatchObject({ content: 'I have no such tool.' });
    const choosy = await startServer(
      { model: scripted(), tools: [look] },
      { offeredTools: { accept: ({ name }) => name.startsWith('ui_') } },
    );
    const second = clientOf(choosy);
    await second.runAgent({ tools: [colour] });
    expect(second.messages.at(-1)).toMatchObject({ content: 'I have no such tool.' });
  });

  it('are refused when they are too many, too big, or no tools', async () => {
    const server = await startServer(
      { model: scripted(), tools: [look] },
      { offeredTools: { maxTools: 2, maxBytes: 1000 } },
    );
    const post = async (...tools: readonly object[]) => {
      const messages = [{ id: 'u', role: 'user', content: 'Make it red.' }];
      const response = await server.call('POST', '/v1/ag-ui', { threadId: 'thread1', runId: 'r', messages, tools });
      return ((await response.json()) as { code: string }).code;
    };
    expect(await post(colour, { ...colour, name: 'a' }, { ...colour, name: 'b' })).toBe('bad_request');
    expect(await post({ ...colour, description: 'x'.repeat(1000) })).toBe('too_large');
    expect(await post({ ...colour, parameters: { $ref: 'https://elsewhere.test/schema' } })).toBe('invalid_definition');
    expect(await post(colour, colour)).toBe('invalid_definition');
  });
});

it('a token sees only the conversations that are its own', async () => {
  const server = await startServer(
    { model: scriptedModel(['Hello.']) },
    { tokens: [{ name: 'ann', token: 'token-of-ann-0123456789', sessions: ['ann-*'] }] },
  );
  const post = (path: string, body: unknown) =>
    server.call('POST', path, body, { authorization: 'Bearer token-of-ann-0123456789' });
  const message = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] };
  const other = await post('/v1/ai-sdk/chat', { id: 'bob-1', messages: [message] });
  expect(other.status).toBe(404);
  const own = await post('/v1/ai-sdk/chat', { id: 'ann-1', messages: [message] });
  expect(own.status).toBe(200);
  expect(await own.text()).toContain('Hello.');
  const ui = { threadId: 'bob-1', runId: 'r', messages: [{ id: 'u', role: 'user', content: 'Hi.' }] };
  expect((await post('/v1/ag-ui', ui)).status).toBe(404);
});
