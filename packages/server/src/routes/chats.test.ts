import { randomUUID } from 'node:crypto';
import { defineTool, memoryJournal, type DurableEvent, type JsonObject } from '@treadle/core';
import { scriptedModel, type Turn } from '@treadle/testing';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { describe, expect, it } from 'vitest';
import { createChat } from '../test-support/chat.ts';
import { memoryBus } from '../test-support/memory-bus.ts';
import { startServer, type TestServer } from '../test-support/server.ts';

const chatOn = (server: TestServer, query = '', id = 'chat1') => {
  const headers = { authorization: `Bearer ${server.bearer}` };
  const prepareReconnectToStreamRequest = () => ({ api: `${server.url}/v1/ai-sdk/chat/${id}/stream`, headers });
  const api = `${server.url}/v1/ai-sdk/chat${query}`;
  return createChat(new DefaultChatTransport({ api, headers, prepareReconnectToStreamRequest }), id);
};

const lastText = (message: UIMessage | undefined): string | undefined =>
  message?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).at(-1);

async function eventsOf({ journal }: TestServer, sessionId = 'chat1'): Promise<DurableEvent[]> {
  const events: DurableEvent[] = [];
  for await (const event of journal.read(sessionId, 1)) events.push(event);
  return events;
}

const endsOf = async (server: TestServer): Promise<string[]> =>
  (await eventsOf(server)).flatMap((event) => (event.type === 'run_ended' ? [event.status] : []));

/** What the model is sent, as words. */
const wordsOf = ({
  messages,
}: {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}) =>
  messages.map(({ role, content }) => {
    const blocks = content as readonly { readonly type: string; readonly text?: string }[];
    return `${role}: ${blocks.map(({ text, type }) => text ?? type).join(' | ')}`;
  });

/** A model that stops in its first reply until it is let go on, and then says what it was told last. */
function slowModel() {
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  const model = scriptedModel(({ messages }): Turn => {
    asked += 1;
    if (asked === 1) return { text: 'One two three.', chunkSize: 4, waitAfter: { deltas: 1, until: gate.promise } };
    const last = messages.findLast(({ role }) => role === 'user')?.content.at(-1);
    return { text: `You said ${last?.type === 'text' ? last.text : 'nothing'}` };
  });
  return { model, finish: () => gate.resolve() };
}

const buy = defineTool({ name: 'buy', description: 'Buys.', approval: 'always', execute: () => 'Bought.' });
const locate = defineTool({
  name: 'locate',
  description: 'Where the page is.',
  runs: 'client',
  inputSchema: { type: 'object', properties: {} },
});

describe('a message of a chat page always gets in', () => {
  it('while a run works: it waits, and is answered after it', async () => {
    const { model, finish } = slowModel();
    const server = await startServer({ model });
    const chat = chatOn(server);
    const first = chat.sendMessage({ text: 'Count.' });
    await expect.poll(() => lastText(chat.lastMessage)).toBe('One ');
    await chat.stop();
    await first;
    const second = chat.sendMessage({ text: 'Never mind.' });
    await expect
      .poll(async () => (await eventsOf(server)).filter(({ type }) => type === 'input_received').length)
      .toBe(2);
    finish();
    await second;
    expect(chat.error).toBe(undefined);
    expect(lastText(chat.lastMessage)).toBe('You said Never mind.');
    expect(new Set(chat.messages.map(({ id }) => id)).size).toBe(4);
    expect(await endsOf(server)).toEqual(['completed', 'completed']);
  });

  it('while a run works, as steering where the page says so: the run takes it, in a message of its own', async () => {
    const { model, finish } = slowModel();
    const server = await startServer({ model });
    const chat = chatOn(server, '?whileRunning=steer');
    const first = chat.sendMessage({ text: 'Count.' });
    await expect.poll(() => lastText(chat.lastMessage)).toBe('One ');
    await chat.stop();
    await first;
    const second = chat.sendMessage({ text: 'Faster.' });
    await expect
      .poll(async () => (await eventsOf(server)).filter(({ type }) => type === 'input_received').length)
      .toBe(2);
    finish();
    await second;
    expect(chat.error).toBe(undefined);
    expect(chat.messages.map((message) => lastText(message))).toEqual([
      'Count.',
      'One ',
      'Faster.',
      'You said Faster.',
    ]);
    expect(await endsOf(server)).toEqual(['completed']);
  });

  it('while a run works, instead of the run where the page says so', async () => {
    const { model } = slowModel();
    const server = await startServer({ model });
    const chat = chatOn(server, '?whileRunning=cancel');
    const first = chat.sendMessage({ text: 'Count.' });
    await expect.poll(() => lastText(chat.lastMessage)).toBe('One ');
    await chat.stop();
    await first;
    await chat.sendMessage({ text: 'Stop that.' });
    expect(lastText(chat.lastMessage)).toBe('You said Stop that.');
    expect(await endsOf(server)).toEqual(['aborted', 'completed']);
  });

  it.each([
    ['an approval', 'buy'],
    ['a client tool', 'locate'],
  ])('while %s waits: that is declined, and the run goes on with the message', async (_, name) => {
    const model = scriptedModel([{ text: 'Let me see.', toolCalls: [{ name }] }, 'As you like.', 'Yes?']);
    const server = await startServer({ model, tools: [buy, locate] });
    const chat = chatOn(server);
    await chat.sendMessage({ text: 'An umbrella.' });
    await chat.sendMessage({ text: 'No, wait.' });
    expect(chat.error).toBe(undefined);
    expect(chat.status).toBe('ready');
    expect(chat.messages.map((message) => lastText(message))).toEqual([
      'An umbrella.',
      'Let me see.',
      'No, wait.',
      'As you like.',
    ]);
    expect(new Set(chat.messages.map(({ id }) => id)).size).toBe(4);
    const told = wordsOf({ messages: model.requests[1]?.messages ?? [] });
    expect(told.at(-1)).toBe('user: No, wait.');
    expect(await endsOf(server)).toEqual(['completed']);
    await chat.sendMessage({ text: 'Hello?' });
    expect(lastText(chat.lastMessage)).toBe('Yes?');
  });

  it('with an id that is known: it joins its reply, and runs once', async () => {
    const { model, finish } = slowModel();
    const server = await startServer({ model });
    const body = { id: 'chat1', messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Count.' }] }] };
    const replies = [1, 2].map(() => server.call('POST', '/v1/ai-sdk/chat', body));
    const statuses = (await Promise.all(replies)).map(({ status }) => status);
    finish();
    const texts = await Promise.all((await Promise.all(replies)).map((reply) => reply.text()));
    expect(statuses).toEqual([200, 200]);
    expect(texts[0]).toContain('"delta":"One "');
    expect(texts[1]?.replaceAll(/"(?:id|delta)":"[^"]*"/g, '')).toContain('[DONE]');
    const later = await (await server.call('POST', '/v1/ai-sdk/chat', body)).text();
    expect(later).toContain('One two three.');
    expect(await endsOf(server)).toEqual(['completed']);
  });
});

describe('the Stop of a chat page', () => {
  it('ends the run where the page asks for it, and the reply says what it cost', async () => {
    const { model } = slowModel();
    const server = await startServer({ model });
    const chat = chatOn(server, '?onClose=cancel');
    const sent = chat.sendMessage({ text: 'Count.' });
    await expect.poll(() => lastText(chat.lastMessage)).toBe('One ');
    await chat.stop();
    await sent;
    await expect.poll(() => endsOf(server)).toEqual(['aborted']);
    await chat.sendMessage({ text: 'Again.' });
    expect(lastText(chat.lastMessage)).toBe('You said Again.');
    expect(chat.lastMessage?.metadata).toMatchObject({ status: 'completed', turns: 1 });
    expect(chat.lastMessage?.metadata).toHaveProperty('usage');
    expect(chat.lastMessage?.metadata).toHaveProperty('cost');
  });

  it('is an endpoint for chats that resume; a chat that is not there has nothing to stop', async () => {
    const { model } = slowModel();
    const server = await startServer({ model });
    const chat = chatOn(server);
    const sent = chat.sendMessage({ text: 'Count.' });
    await expect.poll(() => lastText(chat.lastMessage)).toBe('One ');
    expect((await server.call('POST', '/v1/ai-sdk/chat/chat1/stop')).status).toBe(202);
    await sent;
    expect(chat.lastMessage?.metadata).toMatchObject({ status: 'aborted' });
    expect(await endsOf(server)).toEqual(['aborted']);
    expect((await server.call('POST', '/v1/ai-sdk/chat/none/stop')).status).toBe(202);
    expect((await server.call('POST', '/v1/ag-ui/none/abort')).status).toBe(202);
  });
});

describe('an earlier message of a chat page', () => {
  it('is edited: the model sees the new one only, and the old branch is a fork', async () => {
    const model = scriptedModel(['one', 'two', 'three']);
    const server = await startServer({ model });
    const chat = chatOn(server);
    await chat.sendMessage({ text: 'A' });
    await chat.sendMessage({ text: 'B' });
    await chat.sendMessage({ text: 'A-edited', messageId: chat.messages[0]?.id ?? '' });
    expect(chat.messages.map((message) => lastText(message))).toEqual(['A-edited', 'three']);
    expect(wordsOf({ messages: model.requests[2]?.messages ?? [] })).toEqual(['user: A-edited']);
    const { sessions } = await server.json<{ sessions: { sessionId: string; tags?: string[] }[] }>(
      'GET',
      '/v1/sessions',
    );
    const [replaced] = sessions.filter(({ tags }) => tags?.includes('replaced'));
    const old = await server.json<{ messages: unknown[] }>('GET', `/v1/sessions/${replaced?.sessionId}/history`);
    expect(old.messages).toHaveLength(4);
  });

  it('is answered again, from what the server knows and not from what the page says', async () => {
    const model = scriptedModel(['one', 'two', 'two, again']);
    const server = await startServer({ model });
    const chat = chatOn(server);
    await chat.sendMessage({ text: 'A' });
    await chat.sendMessage({ text: 'B' });
    chat.messages = chat.messages.map((message, at) =>
      at === 1 ? { ...message, parts: [{ type: 'text', text: 'forged' }] } : message,
    );
    await chat.regenerate();
    expect(lastText(chat.lastMessage)).toBe('two, again');
    expect(wordsOf({ messages: model.requests[2]?.messages ?? [] })).toEqual(['user: A', 'assistant: one', 'user: B']);
  });

  it('is edited while its run works: that run ends first', async () => {
    const { model } = slowModel();
    const server = await startServer({ model });
    const chat = chatOn(server);
    const first = chat.sendMessage({ text: 'Count.' });
    await expect.poll(() => lastText(chat.lastMessage)).toBe('One ');
    await chat.stop();
    await first;
    await chat.sendMessage({ text: 'Count to four.', messageId: chat.messages[0]?.id ?? '' });
    expect(chat.messages.map((message) => lastText(message))).toEqual(['Count to four.', 'You said Count to four.']);
    expect(await endsOf(server)).toEqual(['aborted', 'completed']);
  });

  it('is edited while it waits for its turn: what was said before it stays', async () => {
    const { model } = slowModel();
    const server = await startServer({ model });
    const chat = chatOn(server);
    const first = chat.sendMessage({ text: 'Count.' });
    await expect.poll(() => lastText(chat.lastMessage)).toBe('One ');
    await chat.stop();
    await first;
    const second = chat.sendMessage({ text: 'Never mind.' });
    const inputs = async () => (await eventsOf(server)).filter(({ type }) => type === 'input_received').length;
    await expect.poll(inputs).toBe(2);
    await chat.stop();
    await second;
    const waiting = chat.messages.findLast(({ role }) => role === 'user')?.id ?? '';
    await chat.sendMessage({ text: 'Go on.', messageId: waiting });
    expect(lastText(chat.lastMessage)).toBe('You said Go on.');
    expect(await endsOf(server)).toEqual(['aborted', 'aborted', 'completed']);
    const told = wordsOf({ messages: model.requests.at(-1)?.messages ?? [] });
    expect(told.filter((line) => line.startsWith('user'))).toEqual(['user: Count.', 'user: Go on.']);
  });

  it('that failed is tried again when it is sent again', async () => {
    const error = { kind: 'other', message: 'No.', retryable: false } as const;
    const server = await startServer({ model: scriptedModel([{ error }, 'Now it works.']) });
    const body = { id: 'chat1', messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }] };
    expect(await (await server.call('POST', '/v1/ai-sdk/chat', body)).text()).toContain('"error"');
    expect(await (await server.call('POST', '/v1/ai-sdk/chat', body)).text()).toContain('Now it works.');
  });
});

describe('a chat page that comes back', () => {
  it('gets the live text of a run that another server of the journal drives', async () => {
    const { model, finish } = slowModel();
    const [journal, bus] = [memoryJournal(), memoryBus()];
    const [here, there] = await Promise.all([1, 2].map(() => startServer({ model }, { journal, bus: bus.join() })));
    if (!here || !there) throw new Error('Two servers are needed.');
    const running = chatOn(here).sendMessage({ text: 'Count.' });
    await expect.poll(async () => (await eventsOf(here)).some(({ type }) => type === 'turn_started')).toBe(true);
    const chat = chatOn(there);
    const resumed = chat.resumeStream();
    await expect.poll(() => lastText(chat.lastMessage)).toBe('One ');
    finish();
    await Promise.all([running, resumed]);
    expect(lastText(chat.lastMessage)).toBe('One two three.');
  });

  it('gets 204 for a chat that is new, and for one whose run is over', async () => {
    const server = await startServer({ model: scriptedModel(['Hi.']) });
    expect((await server.call('GET', '/v1/ai-sdk/chat/chat1/stream')).status).toBe(204);
    await chatOn(server).sendMessage({ text: 'Hello.' });
    expect((await server.call('GET', '/v1/ai-sdk/chat/chat1/stream')).status).toBe(204);
  });

  it('gets the whole reply of a run that went on after an approval', async () => {
    const gate = Promise.withResolvers<void>();
    const slow: Turn = { text: 'It is yours.', chunkSize: 3, waitAfter: { deltas: 1, until: gate.promise } };
    const server = await startServer({
      model: scriptedModel([{ text: 'May I?', toolCalls: [{ name: 'buy' }] }, slow]),
      tools: [buy],
    });
    const first = chatOn(server);
    await first.sendMessage({ text: 'An umbrella.' });
    const part = first.lastMessage?.parts.find(({ type }) => type === 'tool-buy') as { approval?: { id: string } };
    await first.addToolApprovalResponse({ id: part.approval?.id ?? '', approved: true });
    const going = first.sendMessage();
    const second = chatOn(server);
    await expect.poll(async () => (await eventsOf(server)).some((event) => event.type === 'tool_ended')).toBe(true);
    const resumed = second.resumeStream();
    await expect
      .poll(() => second.lastMessage?.parts.some((one) => one.type === 'text' && one.text === 'May I?'))
      .toBe(true);
    gate.resolve();
    await Promise.all([going, resumed]);
    expect(lastText(second.lastMessage)).toBe('It is yours.');
    expect(second.lastMessage?.id).toBe(first.lastMessage?.id);
  });
});

it('tools of the agent are typed parts of a message, and others dynamic', async () => {
  const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'Seen.' });
  const turn: Turn = { toolCalls: [{ name: 'look' }, { name: 'invented' }] };
  const server = await startServer({ model: scriptedModel([turn, 'Done.']), tools: [look] });
  const chat = chatOn(server);
  await chat.sendMessage({ text: 'Look.' });
  const types = chat.lastMessage?.parts.map(({ type }) => type).filter((type) => type.includes('tool'));
  expect(types).toEqual(['tool-look', 'dynamic-tool']);
});

/** Requests of AG-UI as they go over the wire, and the events that come back. */
const agUi =
  (server: TestServer) =>
  async (messages: readonly object[], more: object = {}) => {
    const body = {
      threadId: 'chat1',
      runId: randomUUID(),
      messages,
      tools: [],
      context: [],
      protocolVersion: '1.0',
      ...more,
    };
    const response = await server.call('POST', '/v1/ag-ui', body);
    const text = await response.text();
    return text
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice(6)) as JsonObject & { readonly type: string });
  };

const user = (id: string, content: string) => ({ id, role: 'user', content });

describe('a thread of AG-UI', () => {
  it('of a client that names no version has nothing that the older schema refuses', async () => {
    const server = await startServer({ model: scriptedModel([{ toolCalls: [{ name: 'locate' }] }]), tools: [locate] });
    const run = agUi(server);
    const old = await run([user('u1', 'Where?')], { protocolVersion: undefined });
    expect(old[0]).not.toHaveProperty('protocolVersion');
    expect(old.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    expect(old.at(-1)).not.toHaveProperty('outcome');
    const again = await run([user('u1', 'Where?')]);
    expect(again.at(-1)?.['outcome']).toMatchObject({ type: 'success', pendingToolCallIds: [expect.any(String)] });
  });

  it('brings context to the model, once for as long as it says the same', async () => {
    const model = scriptedModel(['one', 'two', 'three']);
    const run = agUi(await startServer({ model }));
    const context = [{ description: 'The cart', value: '2 umbrellas' }];
    await run([user('u1', 'A')], { context });
    await run([user('u2', 'B')], { context });
    await run([user('u3', 'C')], { context: [{ description: 'The cart', value: 'empty' }] });
    const last = wordsOf({ messages: model.requests[2]?.messages ?? [] }).filter((line) => line.startsWith('user'));
    expect(last).toEqual([
      'user: A | # What the application says\n\n## The cart\n\n2 umbrellas',
      'user: B',
      'user: C | # What the application says\n\n## The cart\n\nempty',
    ]);
  });

  it('shares state with tools, and hands forwardedProps to them', async () => {
    const seen: unknown[] = [];
    const add = defineTool({
      name: 'add',
      description: 'Adds.',
      execute(_, { state, metadata }) {
        seen.push(state, metadata);
        return { content: 'Added.', state: { count: Number(state?.['count'] ?? 0) + 1 } };
      },
    });
    const call: Turn = { toolCalls: [{ name: 'add' }] };
    const server = await startServer({ model: scriptedModel([call, 'one', call, 'two']), tools: [add] });
    const run = agUi(server);
    const events = await run([user('u1', 'A')], { state: { count: 1, 'a/b': 'x' }, forwardedProps: { theme: 'dark' } });
    expect(seen).toEqual([{ count: 1, 'a/b': 'x' }, { forwardedProps: { theme: 'dark' } }]);
    const told = events.filter(({ type }) => type.startsWith('STATE'));
    expect(told).toEqual([
      { type: 'STATE_SNAPSHOT', snapshot: { count: 1, 'a/b': 'x' } },
      { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/count', value: 2 }] },
    ]);
    // A page that has no state yet gets the one that is there.
    const later = await run([user('u2', 'B')], { state: {} });
    expect(later.find(({ type }) => type === 'STATE_SNAPSHOT')).toMatchObject({ snapshot: { count: 2, 'a/b': 'x' } });
  });

  it('is joined in the middle by a client that has nothing to say', async () => {
    const { model, finish } = slowModel();
    const server = await startServer({ model });
    const run = agUi(server);
    const first = run([user('u1', 'Count.')]);
    await expect
      .poll(async () => (await eventsOf(server).catch(() => [])).some(({ type }) => type === 'turn_started'))
      .toBe(true);
    const second = run([]);
    await expect.poll(() => server.server.parts.connections.size).toBe(2);
    finish();
    const events = await second;
    expect(events[1]).toMatchObject({
      type: 'MESSAGES_SNAPSHOT',
      messages: [{ id: 'u1', role: 'user', content: 'Count.' }],
    });
    const text = (from: typeof events) =>
      from.flatMap(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? [delta as string] : [])).join('');
    expect(text(events)).toBe('One two three.');
    expect(text(await first)).toBe('One two three.');
    // Once it is over, the conversation and its end.
    const over = await run([]);
    expect(over.map(({ type }) => type)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
    expect((await run([user('u1', 'Count.')])).at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    expect(await endsOf(server)).toEqual(['completed']);
  });

  it('tells a tool’s failure as one in every snapshot: after a retry, and to whoever joins', async () => {
    const broken = defineTool({
      name: 'broken',
      description: 'Breaks.',
      execute: () => Promise.reject(new Error('No.')),
    });
    const failing = { kind: 'network', message: 'Gone.', retryable: true, afterDeltas: 1 } as const;
    const model = scriptedModel([
      { toolCalls: [{ name: 'broken' }] },
      { text: 'It is', error: failing },
      'It is broken.',
    ]);
    const retry = { initialDelayMs: 0, maxDelayMs: 0 };
    const server = await startServer({ model, tools: [broken], retry });
    const run = agUi(server);
    const failure = { role: 'tool', error: expect.stringContaining('No.') as string };
    const first = await run([user('u1', 'Go.')]);
    const joined = await run([]);
    for (const events of [first, joined]) {
      const snapshot = events.find(({ type }) => type === 'MESSAGES_SNAPSHOT') as { messages?: unknown } | undefined;
      expect(snapshot?.messages).toEqual(expect.arrayContaining([expect.objectContaining(failure)]));
    }
  });

  it('takes a message while a client tool waits, and the message that was never taken is said with the next', async () => {
    const model = scriptedModel([{ text: 'Hm.', toolCalls: [{ name: 'locate' }] }, 'As you like.']);
    const server = await startServer({ model, tools: [locate] });
    const run = agUi(server);
    await run([user('u1', 'Where?')]);
    const events = await run([
      user('u1', 'Where?'),
      { id: 'a', role: 'assistant', content: 'Hm.' },
      user('u2', 'Forget'),
      user('u3', 'it.'),
    ]);
    expect(events.some(({ type }) => type === 'TOOL_CALL_RESULT')).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } });
    expect(wordsOf({ messages: model.requests[1]?.messages ?? [] }).at(-1)).toBe('user: Forget | it.');
  });

  it('takes a message while an approval waits: that is declined, and the run goes on with the message', async () => {
    const model = scriptedModel([{ text: 'Let me see.', toolCalls: [{ name: 'buy' }] }, 'As you like.']);
    const run = agUi(await startServer({ model, tools: [buy] }));
    const first = await run([user('u1', 'An umbrella.')]);
    expect(first.at(-1)?.['outcome']).toMatchObject({ type: 'interrupt' });
    const events = await run([user('u1', 'An umbrella.'), user('u2', 'No, wait.')]);
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } });
    expect(wordsOf({ messages: model.requests[1]?.messages ?? [] }).at(-1)).toBe('user: No, wait.');
  });

  it('takes a message after its client has gone away in the middle of a reply', async () => {
    const { model, finish } = slowModel();
    const server = await startServer({ model });
    const run = agUi(server);
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${server.bearer}`, 'content-type': 'application/json' };
    const input = { threadId: 'chat1', runId: 'r1', messages: [user('u1', 'Count.')], tools: [], context: [] };
    const { signal } = gone;
    const left = await fetch(`${server.url}/v1/ag-ui`, {
      method: 'POST',
      headers,
      body: JSON.stringify(input),
      signal,
    });
    await left.body?.getReader().read();
    gone.abort();
    const events = run([user('u1', 'Count.'), user('u2', 'Never mind.')]);
    await expect
      .poll(async () => (await eventsOf(server)).filter(({ type }) => type === 'input_received').length)
      .toBe(2);
    finish();
    const text = (await events).flatMap(({ type, delta }) =>
      type === 'TEXT_MESSAGE_CONTENT' ? [delta as string] : [],
    );
    expect(text.join('')).toContain('You said Never mind.');
    expect(await endsOf(server)).toEqual(['completed', 'completed']);
  });
});
