import { crc32 } from 'node:zlib';
import type { JsonObject } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { eventStreamMessage, fakeProvider, validateBedrockRequest } from '../index.ts';
import type { FakeProvider, ProviderTurn } from '../index.ts';

const BODY = { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] };

const ask = (provider: FakeProvider, body: object = BODY, path = 'converse-stream'): Promise<Response> =>
  fetch(`${provider.bedrockBaseUrl}/model/a.model%3A0/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
    body: JSON.stringify(body),
  });

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: JsonObject;
}

/** A reader of the format that shares nothing with its writer. Text headers only. */
function messagesIn(bytes: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0; at < bytes.length;) {
    const total = bytes.readUInt32BE(at);
    const message = bytes.subarray(at, at + total);
    expect(message.readUInt32BE(8)).toBe(crc32(message.subarray(0, 8)));
    expect(message.readUInt32BE(total - 4)).toBe(crc32(message.subarray(0, total - 4)));
    const end = 12 + message.readUInt32BE(4);
    const headers: Record<string, string> = {};
    for (let position = 12; position < end;) {
      const name = message.subarray(position + 1, position + 1 + message.readUInt8(position)).toString();
      position += 1 + name.length;
      expect(message.readUInt8(position)).toBe(7);
      const length = message.readUInt16BE(position + 1);
      headers[name] = message.subarray(position + 3, position + 3 + length).toString();
      position += 3 + length;
    }
    messages.push({ headers, payload: JSON.parse(message.subarray(end, total - 4).toString()) as JsonObject });
    at += total;
  }
  return messages;
}

async function streamed(turn: ProviderTurn | string): Promise<Message[]> {
  await using provider = await fakeProvider([turn], { chunkSize: 100 });
  const response = await ask(provider);
  expect(response.headers.get('content-type')).toBe('application/vnd.amazon.eventstream');
  return messagesIn(Buffer.from(await response.arrayBuffer()));
}

describe('fakeProvider speaking Bedrock', () => {
  it('streams a turn in the service’s messages, padded as it does', async () => {
    const messages = await streamed({
      content: [
        { type: 'thinking', text: 'Hm', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'AAEC' },
        { type: 'text', text: 'Grüße' },
        { type: 'tool_call', name: 'add', arguments: { a: 1 } },
      ],
    });
    expect(
      messages.map(({ headers, payload: { p, ...data } }) => {
        expect(typeof p).toBe('string');
        return { [headers[':event-type'] ?? '']: data };
      }),
    ).toEqual([
      { messageStart: { role: 'assistant' } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hm' } } } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { signature: 'c2ln' } } } },
      { contentBlockStop: { contentBlockIndex: 0 } },
      { contentBlockDelta: { contentBlockIndex: 1, delta: { reasoningContent: { redactedContent: 'AAEC' } } } },
      { contentBlockStop: { contentBlockIndex: 1 } },
      { contentBlockDelta: { contentBlockIndex: 2, delta: { text: 'Grüße' } } },
      { contentBlockStop: { contentBlockIndex: 2 } },
      { contentBlockStart: { contentBlockIndex: 3, start: { toolUse: { toolUseId: 'call_1_1', name: 'add' } } } },
      { contentBlockDelta: { contentBlockIndex: 3, delta: { toolUse: { input: '{"a":1}' } } } },
      { contentBlockStop: { contentBlockIndex: 3 } },
      { messageStop: { stopReason: 'tool_use' } },
      {
        metadata: {
          usage: {
            inputTokens: 10,
            outputTokens: 5,
            totalTokens: 15,
            cacheReadInputTokens: 0,
            cacheWriteInputTokens: 0,
          },
          metrics: { latencyMs: 1 },
        },
      },
    ]);
  });

  it('fails in the middle with an exception', async () => {
    const error = { kind: 'rate_limited', status: 429, message: 'Slow down', afterDeltas: 1 } as const;
    const last = (await streamed({ text: 'Hello', error })).at(-1);
    expect(last).toMatchObject({
      headers: { ':message-type': 'exception', ':exception-type': 'throttlingException' },
      payload: { message: 'Slow down' },
    });
  });

  it('answers in one piece where it is asked to', async () => {
    await using provider = await fakeProvider([{ text: 'Hi', toolCalls: [{ name: 'add' }] }]);
    expect(await (await ask(provider, BODY, 'converse')).json()).toMatchObject({
      output: { message: { content: [{ text: 'Hi' }, { toolUse: { name: 'add', input: {} } }] } },
      stopReason: 'tool_use',
    });
  });

  it('refuses what it can not take, and who does not say who they are', async () => {
    await using provider = await fakeProvider([]);
    const refused = await ask(provider, { messages: [] });
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { message: 'messages: at least one message is required' },
    ]);
    const nobody = await fetch(`${provider.bedrockBaseUrl}/model/m/converse-stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(BODY),
    });
    expect(nobody.status).toBe(400);
  });
});

describe('eventStreamMessage', () => {
  it('has its lengths, headers, payload and checksums where the format wants them', () => {
    const message = eventStreamMessage({ a: 'ü' }, '{"b":1}');
    expect(messagesIn(Buffer.from(message))).toEqual([{ headers: { a: 'ü' }, payload: { b: 1 } }]);
    expect(Buffer.from(message).toString('latin1')).toContain('\u0001a\u0007\u0000\u0002\u00c3\u00bc{"b":1}');
  });
});

describe('validateBedrockRequest', () => {
  const user = (...content: JsonObject[]): JsonObject => ({ role: 'user', content });
  const assistant = (...content: JsonObject[]): JsonObject => ({ role: 'assistant', content });
  const call = (toolUseId: string): JsonObject => ({ toolUse: { toolUseId, name: 'add', input: {} } });
  const result = (toolUseId: string): JsonObject => ({ toolResult: { toolUseId, content: [{ text: '3' }] } });
  const hi = user({ text: 'Hi' });
  const toolConfig = { tools: [{ toolSpec: { name: 'add', inputSchema: { json: { type: 'object' } } } }] };
  const pdf = (name: string): JsonObject => ({ document: { name, format: 'pdf', source: { bytes: 'AAAA' } } });
  const reasoning = (signature?: string): JsonObject => ({
    reasoningContent: { reasoningText: { text: 'Hm', ...(signature !== undefined && { signature }) } },
  });

  it('accepts a conversation with everything in it', () => {
    const body = {
      system: [{ text: 'S' }],
      messages: [
        user({ text: 'Hi' }, pdf('a b (2)'), { image: { format: 'png', source: { bytes: 'AAAA' } } }),
        assistant(reasoning('c2ln'), { text: 'Ok' }, call('a'), call('b')),
        user(result('b'), result('a'), { text: 'And?' }),
      ],
      toolConfig: { ...toolConfig, toolChoice: { tool: { name: 'add' } } },
      inferenceConfig: { maxTokens: 5, temperature: 0, stopSequences: ['x'] },
    };
    expect(validateBedrockRequest(body)).toEqual([]);
  });

  it.each<[string, JsonObject, RegExp]>([
    ['an unknown field', { messages: [hi], model: 'm' }, /model: is no field/],
    ['no messages', { messages: [] }, /at least one/],
    ['the assistant first', { messages: [assistant({ text: 'x' }), hi] }, /start with a user/],
    ['the assistant last', { messages: [hi, assistant({ text: 'x' })] }, /end with a user/],
    ['two of one role', { messages: [hi, hi] }, /alternate/],
    ['blank text', { messages: [user({ text: ' ' })] }, /non-whitespace/],
    ['two members in a block', { messages: [user({ text: 'x', image: {} })] }, /exactly one/],
    ['half a character', { messages: [user({ text: 'a\ud83e' })] }, /surrogate/],
    ['an unanswered call', { messages: [hi, assistant(call('a')), hi], toolConfig }, /a has no toolResult/],
    ['a result without a call', { messages: [user(result('a'))], toolConfig }, /no toolUse of the id a/],
    ['two results', { messages: [hi, assistant(call('a')), user(result('a'), result('a'))], toolConfig }, /has more/],
    ['calls without tools', { messages: [hi, assistant(call('a')), user(result('a'))] }, /toolConfig: must be defined/],
    ['an illegal id', { messages: [hi, assistant(call('a b')), hi], toolConfig }, /toolUseId: must match/],
    ['unsigned reasoning', { messages: [hi, assistant(reasoning(), { text: 'x' }), hi] }, /needs the signature/],
    ['reasoning at the end', { messages: [hi, assistant(reasoning('s')), hi] }, /can not be reasoning/],
    ['a document alone', { messages: [user(pdf('a'))] }, /needs a text/],
    ['an illegal document name', { messages: [user({ text: 'x' }, pdf('a.pdf'))] }, /has only letters/],
    ['documents of one name', { messages: [user({ text: 'x' }, pdf('a'), pdf('a'))] }, /names must be unique/],
    ['an image format', { messages: [user({ image: { format: 'tiff', source: { bytes: 'AAAA' } } })] }, /format/],
    ['no bytes', { messages: [user({ image: { format: 'png', source: { bytes: '?' } } })] }, /base64/],
    ['no tools', { messages: [hi], toolConfig: { tools: [] } }, /must not be empty/],
    ['a choice of nothing', { messages: [hi], toolConfig: { ...toolConfig, toolChoice: { none: {} } } }, /exactly one/],
    [
      'an unknown choice',
      { messages: [hi], toolConfig: { ...toolConfig, toolChoice: { tool: { name: 'x' } } } },
      /name one/,
    ],
    ['an empty limit', { messages: [hi], inferenceConfig: { maxTokens: 0 } }, /positive integer/],
  ])('refuses %s', (_name, body, problem) => {
    expect(validateBedrockRequest(body).join('\n')).toMatch(problem);
  });
});
