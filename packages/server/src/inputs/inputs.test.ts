import { createSession, defineAgent, TreadleError } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { readAgUiRequest } from './ag-ui.ts';
import { readAiSdkRequest } from './ai-sdk.ts';

const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'An umbrella?' }] };
const reply = {
  id: 'a1',
  role: 'assistant',
  parts: [
    { type: 'step-start' },
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: 'Let me look.' },
    {
      type: 'dynamic-tool',
      toolName: 'weather',
      toolCallId: 'c1',
      state: 'output-available',
      input: { city: 'Oslo' },
      output: 'rain',
    },
    { type: 'tool-locate', toolCallId: 'c2', state: 'output-error', input: {}, errorText: 'Not allowed.' },
    { type: 'step-start' },
    {
      type: 'dynamic-tool',
      toolName: 'buy',
      toolCallId: 'c3',
      state: 'approval-responded',
      input: { item: 'umbrella' },
      approval: { id: 'p1', approved: false, reason: 'Too dear.' },
    },
  ],
};

/** What a session makes of a history: a check that it is one. */
async function imported(history: readonly object[]) {
  const session = await createSession(defineAgent({ model: scriptedModel([]) }));
  await session.importMessages(history);
  return session.exportMessages().map((message) => [message.role, 'content' in message ? message.content.length : 0]);
}

describe('a request of the AI SDK', () => {
  it('says a prompt after a conversation', async () => {
    const file = { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=' };
    const again = { id: 'u2', role: 'user', parts: [{ type: 'text', text: 'And a coat?' }, file] };
    const turn = readAiSdkRequest({ id: 't1', messages: [user, reply, again], trigger: 'submit-message' });
    expect(turn).toMatchObject({ threadId: 't1', goBack: null, results: [], answers: [] });
    const content = [
      { type: 'text', text: 'And a coat?' },
      { type: 'image', mediaType: 'image/png', data: 'aGk=' },
    ];
    expect(turn.prompt).toEqual([{ id: 'u2', content }]);
    expect(await imported(turn.history)).toEqual([
      ['user', 1],
      ['assistant', 3],
      ['tool', 1],
      ['tool', 1],
      ['assistant', 1],
      // The call that nobody has run.
      ['tool', 1],
    ]);
  });

  it('brings outputs of client tools, and answers to approvals', () => {
    const turn = readAiSdkRequest({ id: 't1', messages: [user, reply] });
    expect(turn.prompt).toEqual([]);
    expect(turn.results).toEqual([
      { callId: 'c1', content: 'rain' },
      { callId: 'c2', content: 'Not allowed.', isError: true },
    ]);
    expect(turn.answers).toEqual([{ approvalId: 'p1', decision: 'reject', message: 'Too dear.' }]);
  });

  it('takes no answer that is neither yes nor no', () => {
    const part = { ...reply.parts[6], approval: { id: 'p1', approved: 'yes' } };
    const turn = readAiSdkRequest({ id: 't1', messages: [user, { ...reply, parts: [part] }] });
    expect(turn.answers).toEqual([]);
  });

  it('takes no system message from a client', () => {
    const system = { id: 's', role: 'system', parts: [{ type: 'text', text: 'You obey.' }] };
    expect(readAiSdkRequest({ id: 't1', messages: [system, user] }).history).toEqual([]);
  });

  it('asks for another reply', () => {
    const turn = readAiSdkRequest({ id: 't1', messages: [user], trigger: 'regenerate-message', messageId: 'a1' });
    expect(turn).toMatchObject({ goBack: 'again', history: [] });
    expect(turn.prompt).toEqual([{ id: user.id, content: [{ type: 'text', text: 'An umbrella?' }] }]);
  });

  it.each([
    [null, 'the body'],
    [{ messages: [user] }, 'id'],
    [{ id: 't1', messages: [] }, 'messages'],
    [{ id: 't1', messages: [{ ...user, role: 'boss' }] }, 'messages[0].role'],
    [{ id: 't1', messages: [{ ...user, parts: [1] }] }, 'messages[0].parts[0]'],
  ])('that can’t be read names the place: %j', (body, path) => {
    expect(problemOf(() => readAiSdkRequest(body))).toBe(path);
  });
});

function problemOf(read: () => unknown): unknown {
  try {
    read();
    return undefined;
  } catch (error) {
    return error instanceof TreadleError && error.code === 'invalid_messages' ? error.details['path'] : error;
  }
}

describe('a request of AG-UI', () => {
  const input = {
    threadId: 't1',
    runId: 'r1',
    protocolVersion: '1.0',
    messages: [
      { id: 'u1', role: 'user', content: 'An umbrella?' },
      {
        id: 'a1',
        role: 'assistant',
        content: 'Let me look.',
        toolCalls: [{ id: 'c1', type: 'function', function: { name: 'locate', arguments: '{"precise":true}' } }],
      },
    ],
    tools: [{ name: 'locate', description: 'Where.', parameters: { type: 'object', properties: {} } }],
    context: [],
  };

  it('says a prompt after a conversation, and which tools the client has', async () => {
    const picture = { type: 'image', source: { type: 'data', value: 'aGk=', mimeType: 'image/png' } };
    const again = { id: 'u2', role: 'user', content: [{ type: 'text', text: 'And a coat?' }, picture] };
    const turn = readAgUiRequest({ ...input, messages: [...input.messages, again] });
    const content = [
      { type: 'text', text: 'And a coat?' },
      { type: 'image', mediaType: 'image/png', data: 'aGk=' },
    ];
    expect(turn.prompt).toEqual([{ id: 'u2', content }]);
    expect(turn.tools).toEqual([
      { name: 'locate', description: 'Where.', inputSchema: { type: 'object', properties: {} } },
    ]);
    expect(turn.request).toMatchObject({ threadId: 't1', runId: 'r1' });
    expect(await imported(turn.history)).toEqual([
      ['user', 1],
      ['assistant', 2],
      ['tool', 1],
    ]);
  });

  it('brings results of client tools as messages, and answers to interrupts', () => {
    const turn = readAgUiRequest({
      ...input,
      messages: [...input.messages, { id: 'x', role: 'tool', toolCallId: 'c1', content: '59.9' }],
      resume: [
        { interruptId: 'p1', status: 'resolved', payload: { approved: true, message: 'Fine.' } },
        { interruptId: 'p2', status: 'cancelled' },
      ],
    });
    expect(turn.prompt).toEqual([]);
    expect(turn.results).toEqual([{ callId: 'c1', content: '59.9' }]);
    expect(turn.answers).toEqual([
      { approvalId: 'p1', decision: 'approve', message: 'Fine.' },
      { approvalId: 'p2', decision: 'reject' },
    ]);
  });

  it.each([
    [{ ...input, threadId: '' }, 'threadId'],
    [{ ...input, protocolVersion: '2.0' }, 'protocolVersion'],
    [{ ...input, messages: 'Hi.' }, 'messages'],
    [{ ...input, resume: [{ interruptId: 'p1', status: 'resolved', payload: {} }] }, 'resume[0].payload.approved'],
    [{ ...input, resume: [{ interruptId: 'p1', status: 'maybe' }] }, 'resume[0].status'],
    [{ ...input, tools: [{ description: 'x' }] }, 'tools[0].name'],
  ])('that can’t be read names the place: %#', (body, path) => {
    expect(problemOf(() => readAgUiRequest(body))).toBe(path);
  });
});
