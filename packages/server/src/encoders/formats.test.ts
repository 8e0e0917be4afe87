import { randomUUID } from 'node:crypto';
import { HttpAgent, type Message } from '@ag-ui/client';
import { DefaultChatTransport, getToolName, isStaticToolUIPart } from 'ai';
import { EventSource } from 'eventsource';
import { expect, it } from 'vitest';
import { createChat } from '../test-support/chat.ts';
import { playConversation } from '../test-support/conversation.ts';
import { streamServer } from '../test-support/stream-server.ts';
import { agUiFormat, type AgUiRequest } from './ag-ui.ts';
import { aiSdkFormat } from './ai-sdk.ts';
import { encodeAll, type StreamFormat } from './encoder.ts';
import { nativeFormat } from './native.ts';

const request: AgUiRequest = { threadId: 't1', runId: 'r1', messages: [{ id: 'u1', role: 'user', content: 'Hi.' }] };

it.each<[name: string, format: StreamFormat]>([
  ['native', nativeFormat],
  ['ag-ui', agUiFormat(request)],
  ['ai-sdk', aiSdkFormat({ isTool: () => true })],
])('%s writes a conversation with everything in it as its golden file says', async (name, format) => {
  const { sessionId, runId, drives } = await playConversation();
  const streams = drives.map(({ events }) =>
    encodeAll(format, { sessionId, runId, resumed: false }, events, { reason: 'finished' })
      .map(({ data }) => data)
      .join('\n'),
  );
  await expect(`${streams.join('\n\n')}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
});

const FINAL_ANSWER = 'Bought. Back\\slash, and a line:\nFare well. 🧵';

it('ai-sdk: the AI SDK’s own chat has the same text, calls, results and usage, in one message', async () => {
  const conversation = await playConversation();
  await using server = await streamServer(conversation, () => aiSdkFormat({ isTool: () => true }));
  const chat = createChat(new DefaultChatTransport({ api: server.url }));

  await chat.sendMessage({ text: 'An umbrella?' });
  await chat.addToolOutput({ tool: 'locate', toolCallId: 'call_3', output: '59.9, 10.7' });
  await chat.sendMessage();
  await chat.addToolApprovalResponse({ id: 'permission_call_4', approved: true });
  await chat.sendMessage();

  expect(chat.error).toBe(undefined);
  expect(chat.status).toBe('ready');
  expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
  const [, reply] = chat.messages;
  const discarded = reply?.parts.flatMap((part) =>
    part.type === 'data-discarded' ? (part.data as { readonly parts: readonly string[] }).parts : [],
  );
  const kept = reply?.parts.filter(
    (part) => part.type === 'text' && !discarded?.some((id) => id === part.providerMetadata?.['treadle']?.['part']),
  );
  expect(kept?.map((part) => (part.type === 'text' ? part.text : ''))).toEqual([
    'Let me look <now> & say "so".',
    'May I?',
    FINAL_ANSWER,
  ]);
  expect(reply?.parts.find((part) => part.type === 'reasoning')).toMatchObject({
    text: 'Two cities.\nBoth at once, and where the browser is: none of the three needs another.',
  });
  const calls = reply?.parts.flatMap((part) =>
    isStaticToolUIPart(part) ? [[getToolName(part), part.state, part.input, part.output ?? part.errorText]] : [],
  );
  expect(calls).toEqual([
    ['weather', 'output-available', { city: 'Oslo' }, 'rain'],
    [
      'weather',
      'output-error',
      { city: ']]></content-block-tool_result>' },
      "weather failed: There is no city ']]></content-block-tool_result>'.",
    ],
    ['locate', 'output-available', { precise: true }, '59.9, 10.7'],
    ['buy', 'output-available', { item: 'umbrella' }, 'one umbrella'],
    [
      'reader',
      'output-available',
      { prompt: 'What is in the manual?' },
      expect.objectContaining({ text: expect.stringContaining('How to open it.') as unknown }),
    ],
  ]);
  const { usage } = conversation.drives[2].result;
  expect(reply?.metadata).toMatchObject({ status: 'completed', usage });
});

it('ag-ui: its own HttpAgent has the same text, calls, results and usage', async () => {
  const conversation = await playConversation();
  await using server = await streamServer(conversation, (body) => agUiFormat(body as AgUiRequest));
  const agent = new HttpAgent({ url: server.url, threadId: 't1' });
  agent.addMessage({ id: randomUUID(), role: 'user', content: 'An umbrella?' });

  const outcomes: unknown[] = [];
  const usages: unknown[] = [];
  const onRunFinishedEvent = ({
    event,
  }: {
    readonly event: { readonly outcome?: unknown; readonly usage?: unknown };
  }) => {
    outcomes.push(event.outcome);
    usages.push(event.usage);
  };
  await agent.runAgent({}, { onRunFinishedEvent });
  agent.addMessage({ id: randomUUID(), role: 'tool', toolCallId: 'call_3', content: '59.9, 10.7' });
  await agent.runAgent({}, { onRunFinishedEvent });
  const resume = [{ interruptId: 'permission_call_4', status: 'resolved' as const, payload: { approved: true } }];
  await agent.runAgent({ resume }, { onRunFinishedEvent });

  expect(outcomes).toEqual([
    { type: 'success', pendingToolCallIds: ['call_3'] },
    { type: 'interrupt', interrupts: [expect.objectContaining({ id: 'permission_call_4', toolCallId: 'call_4' })] },
    { type: 'success' },
  ]);
  const { usage } = conversation.drives[2].result;
  expect(usages[2]).toEqual([expect.objectContaining({ inputTokens: usage.input, outputTokens: usage.output })]);
  const own = agent.messages.filter((message) => !('subagentRunId' in message));
  expect(own.flatMap(textsOf)).toEqual(['Let me look <now> & say "so".', 'May I?', FINAL_ANSWER]);
  expect(agent.messages.filter((message) => !own.includes(message)).flatMap(textsOf)).toEqual(['How to open it.']);
  expect(agent.messages.flatMap((message) => (message.role === 'reasoning' ? [message.content] : []))).toEqual([
    'Two cities.\nBoth at once, and where the browser is: none of the three needs another.',
  ]);
  const calls = agent.messages.flatMap((message) =>
    message.role === 'assistant' ? (message.toolCalls ?? []).map(({ function: called }) => called) : [],
  );
  expect(calls.map(({ name, arguments: args }) => [name, JSON.parse(args) as unknown])).toEqual([
    ['weather', { city: 'Oslo' }],
    ['weather', { city: ']]></content-block-tool_result>' }],
    ['locate', { precise: true }],
    ['buy', { item: 'umbrella' }],
    ['reader', { prompt: 'What is in the manual?' }],
  ]);
  const results = agent.messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
  expect(results.toSorted()).toEqual(['call_1', 'call_2', 'call_3', 'call_4', 'call_5']);
});

const textsOf = (message: Message): string[] =>
  message.role === 'assistant' && typeof message.content === 'string' && message.content !== ''
    ? [message.content]
    : [];

it('native: an EventSource gets every event as it was', async () => {
  const conversation = await playConversation();
  await using server = await streamServer(conversation, () => nativeFormat);
  const events: unknown[] = [];
  const source = new EventSource(server.url);
  await new Promise<void>((resolve) => {
    source.addEventListener('message', ({ data }) => events.push(JSON.parse(data as string)));
    source.addEventListener('error', () => resolve());
  });
  source.close();
  // The parsed value of arguments is for those who are in the same process.
  const told = conversation.drives[0].events.map((event) => ({ ...event, partial: undefined }));
  expect(events).toEqual(JSON.parse(JSON.stringify(told)));
});
