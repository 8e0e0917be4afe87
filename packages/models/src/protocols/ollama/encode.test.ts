import type { ModelMessage } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { validateOllamaRequest } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { bodyText } from '../../test-support/body.ts';
import { assistant, bodyOf, call, request, result, user } from '../../test-support/messages.ts';
import { ollamaChat } from './protocol.ts';

interface Body {
  readonly messages: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}

const protocol = ollamaChat();
const body = (input: ModelRequest): Body => bodyOf(protocol, input) as Body;
const messagesOf = (...messages: readonly ModelMessage[]): Body['messages'] => {
  const written = body(request(messages));
  expect(validateOllamaRequest(written)).toEqual([]);
  return written.messages;
};
const tools = [{ name: 'search', description: 'Searches.', inputSchema: { type: 'object' } }];

describe('a request', () => {
  it('has the wire’s path and fixed fields', () => {
    const wire = protocol.createEncoder({ provider: 'own', modelId: 'qwen3:8b' })(
      request([user('Hi')], { system: 'S' }),
    );
    expect(wire.path).toBe('/api/chat');
    expect(JSON.parse(bodyText(wire.body))).toEqual({
      model: 'qwen3:8b',
      stream: true,
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: 'Hi' },
      ],
    });
  });

  it('has its limits in the options, where the caller’s win one by one', () => {
    const fields = { maxTokens: 10, temperature: 0, stopSequences: ['END'] };
    expect(body(request([user('Hi')], fields))['options']).toEqual({ num_predict: 10, temperature: 0, stop: ['END'] });
    const providerOptions = { options: { num_ctx: 4096, temperature: 1 }, keep_alive: '5m' };
    expect(body(request([user('Hi')], { ...fields, providerOptions }))).toMatchObject({
      options: { num_predict: 10, temperature: 1, stop: ['END'], num_ctx: 4096 },
      keep_alive: '5m',
    });
  });

  it('has the form of the reply as a schema, or as any JSON', () => {
    const format = { type: 'json_schema', name: 'answer', schema: { type: 'object' } } as const;
    expect(body(request([user('Hi')], { responseFormat: format }))['format']).toEqual({ type: 'object' });
    expect(body(request([user('Hi')], { responseFormat: { type: 'json_object' } }))['format']).toBe('json');
  });

  it('declares tools, and forbids them by leaving them out', () => {
    const declared = { name: 'search', description: 'Searches.', parameters: { type: 'object' } };
    expect(body(request([user('Hi')], { tools }))['tools']).toEqual([{ type: 'function', function: declared }]);
    expect(body(request([user('Hi')], { tools, toolChoice: 'none' }))).not.toHaveProperty('tools');
  });

  it.each([
    ['qwen3', undefined, undefined],
    ['qwen3', 'off', false],
    ['qwen3', 'minimal', true],
    ['qwen3', 'high', true],
    ['gpt-oss:20b', 'off', false],
    ['gpt-oss:20b', 'minimal', 'low'],
    ['gpt-oss:20b', 'medium', 'medium'],
  ] as const)('asks %s to think (%s) by %s', (modelId, thinking, think) => {
    const encode = protocol.createEncoder({ provider: 'own', modelId });
    const written = JSON.parse(
      bodyText(encode(request([user('Hi')], thinking === undefined ? {} : { thinking })).body),
    ) as Body;
    expect(written['think']).toBe(think);
  });
});

describe('messages', () => {
  it('carry calls with their arguments as objects, and results with the tool’s name', () => {
    const written = messagesOf(
      user('Go'),
      assistant(['Ok', call('c1', { providerCallId: 'call_1', arguments: { q: 1 } }), call('c2', { name: 'other' })]),
      result('c1', 'one'),
      result('c2', 'two'),
    );
    expect(written.slice(1)).toMatchObject([
      {
        role: 'assistant',
        content: 'Ok',
        tool_calls: [
          { id: 'call_1', function: { name: 'search', arguments: { q: 1 } } },
          { id: 'c2', function: { name: 'other', arguments: {} } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', tool_name: 'search', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: 'two' },
    ]);
  });

  it('answer calls without a result', () => {
    expect(messagesOf(user('Go'), assistant([call('c1')]), user('Well?'))[2]).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('interrupted') as string,
    });
  });

  it('give thinking back to the provider that made it only', () => {
    const thought = [{ type: 'thinking', text: 'Hm.' } as const, 'Hi'];
    expect(messagesOf(user('Go'), assistant(thought), user('More'))[1]).toMatchObject({ thinking: 'Hm.' });
    expect(JSON.stringify(messagesOf(user('Go'), assistant(thought, 'other'), user('More')))).not.toContain('Hm.');
  });

  it('carry images as base64, those of results in a message after the last of them', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
    expect(messagesOf(user('Look', image))).toEqual([{ role: 'user', content: 'Look', images: ['iVBORw0KGgo='] }]);
    const written = messagesOf(user('Go'), assistant([call('a'), call('b')]), result('a', image), result('b', 'two'));
    expect(written.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
    expect(written.at(-1)).toMatchObject({ images: ['iVBORw0KGgo='] });
  });

  it('say what they can not carry', () => {
    const url = { type: 'image', mediaType: 'image/png', url: 'https://a.example/x.png' } as const;
    const pdf = { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: '/w==' } as const;
    const note = { type: 'file', mediaType: 'text/plain', name: 'n.txt', data: btoa('hello') } as const;
    const [written] = messagesOf(user(url, pdf, note));
    expect(written?.['content']).toMatch(/image\/png can not be shown[^]*a\.pdf[^]*can not be shown[^]*n\.txt:\nhello/);
  });

  it('mark a failure without words', () => {
    const failed = { ...result('c1'), isError: true };
    expect(messagesOf(user('Go'), assistant([call('c1')]), failed)[2]).toMatchObject({ content: 'The tool failed.' });
  });
});
