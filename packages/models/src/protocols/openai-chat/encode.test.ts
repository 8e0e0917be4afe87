import type { ModelMessage } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { describe, expect, it } from 'vitest';
import { bodyText } from '../../test-support/body.ts';
import { assistant, bodyOf, call, request, result, user } from '../../test-support/messages.ts';
import { openaiChat } from './protocol.ts';
import type { OpenAIChatQuirks } from './quirks.ts';

interface Body {
  readonly messages: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}

const body = (input: ModelRequest, quirks?: OpenAIChatQuirks): Body => bodyOf(openaiChat(quirks), input) as Body;
const messagesOf = (...messages: readonly ModelMessage[]): Body['messages'] => body(request(messages)).messages;
const callIds = (message: Body['messages'][number] | undefined): string[] =>
  ((message?.['tool_calls'] ?? []) as { id: string }[]).map(({ id }) => id);
const tools = [{ name: 'search', description: 'Searches.', inputSchema: { type: 'object' } }];
const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const;

describe('a request', () => {
  it('has the wire’s path and fixed fields, and the instructions first', () => {
    const wire = openaiChat().createEncoder({ provider: 'own', modelId: 'model-1' })(
      request([user('Hi')], { system: 'Be brief.' }),
    );
    expect(wire.path).toBe('/chat/completions');
    expect(JSON.parse(bodyText(wire.body))).toEqual({
      model: 'model-1',
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
    });
  });

  it('carries limits, temperature, stop sequences, reasoning and tools', () => {
    const fields = { maxTokens: 10, temperature: 0, stopSequences: ['END'], thinking: 'low', tools } as const;
    expect(body(request([user('Hi')], fields))).toMatchObject({
      max_tokens: 10,
      temperature: 0,
      stop: ['END'],
      reasoning_effort: 'low',
      tools: [
        { type: 'function', function: { name: 'search', description: 'Searches.', parameters: { type: 'object' } } },
      ],
    });
    expect(body(request([user('Hi')], { thinking: 'off' }))).not.toHaveProperty('reasoning_effort');
  });

  it.each([
    ['auto', undefined],
    ['none', 'none'],
    ['required', 'required'],
    [{ name: 'search' }, { type: 'function', function: { name: 'search' } }],
  ] as const)('chooses tools by %j', (toolChoice, expected) => {
    expect(body(request([user('Hi')], { tools, toolChoice }))['tool_choice']).toEqual(expected);
  });

  it('has no tool choice without tools', () => {
    expect(body(request([user('Hi')], { toolChoice: 'none' }))).not.toHaveProperty('tool_choice');
  });

  it('lets extra fields win', () => {
    const providerOptions = { stream_options: null, seed: 7 };
    expect(body(request([user('Hi')], { providerOptions }))).toMatchObject({ stream_options: null, seed: 7 });
  });
});

describe('quirks', () => {
  const said = (quirks: OpenAIChatQuirks, input: ModelRequest): Body => body(input, quirks);

  it('name the role of the instructions and the field of the limit', () => {
    const input = request([user('Hi')], { system: 'S', maxTokens: 5 });
    const written = said({ systemRole: 'developer', maxTokensField: 'max_completion_tokens' }, input);
    expect(written.messages[0]).toEqual({ role: 'developer', content: 'S' });
    expect(written).toMatchObject({ max_completion_tokens: 5 });
    expect(written).not.toHaveProperty('max_tokens');
  });

  it('leave out what a server does not understand', () => {
    const written = said({ streamUsage: false, family: { efforts: [] } }, request([user('Hi')], { thinking: 'high' }));
    expect(written).not.toHaveProperty('stream_options');
    expect(written).not.toHaveProperty('reasoning_effort');
  });

  it('send a provider’s reasoning back where it wants it', () => {
    const message = assistant([{ type: 'thinking', text: 'why' }, 'that']);
    expect(said({ reasoningField: 'reasoning_content' }, request([user('a'), message])).messages[1]).toEqual({
      role: 'assistant',
      content: 'that',
      reasoning_content: 'why',
    });
    expect(said({}, request([user('a'), message])).messages[1]).toEqual({ role: 'assistant', content: 'that' });
  });

  it('say how any tool is demanded, what empty content is and what an id looks like', () => {
    const quirks: OpenAIChatQuirks = {
      requiredToolChoice: 'any',
      emptyContent: '',
      toolCallIdPattern: /^[a-zA-Z0-9]{9}$/,
    };
    const messages = [
      user('a'),
      assistant([call('call_1'), call('call_2')]),
      result('call_1', 'x'),
      result('call_2', 'y'),
    ];
    const written = said(quirks, request(messages, { tools, toolChoice: 'required' }));
    expect(written['tool_choice']).toBe('any');
    const made = callIds(written.messages[1]);
    expect(written.messages[1]?.['content']).toBe('');
    expect(made.map((id) => /^[a-zA-Z0-9]{9}$/.test(id))).toEqual([true, true]);
    expect(written.messages.slice(2).map((message) => message['tool_call_id'])).toEqual(made);
  });
});

describe('user messages', () => {
  it('are a text, or parts', () => {
    expect(messagesOf(user('a'), user('b', 'c'), user('', 'd'), user(''))).toEqual([
      { role: 'user', content: 'a' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'b' },
          { type: 'text', text: 'c' },
        ],
      },
      { role: 'user', content: 'd' },
    ]);
  });

  it('carry images and files', () => {
    const [message] = messagesOf(
      user(
        image,
        { type: 'image', mediaType: 'image/png', url: 'https://a/b.png' },
        { type: 'file', mediaType: 'image/png', data: 'AAAA' },
        { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'AAAA' },
        { type: 'file', mediaType: 'application/pdf', fileId: 'file_1', provider: 'own' },
        { type: 'file', mediaType: 'audio/wav', data: 'AAAA' },
        { type: 'file', mediaType: 'text/csv', name: 'a.csv', data: btoa('a,b') },
        { type: 'file', mediaType: 'application/pdf', fileId: 'file_1', provider: 'other', name: 'b.pdf' },
      ),
    );
    expect(message?.['content']).toEqual([
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'image_url', image_url: { url: 'https://a/b.png' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
      { type: 'file', file: { file_id: 'file_1' } },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { type: 'text', text: 'a.csv:\na,b' },
      { type: 'text', text: '[The file b.pdf of type application/pdf can not be shown to this model]' },
    ]);
  });
});

describe('assistant messages', () => {
  it('have null content beside calls without text', () => {
    const made = call('call_1', { arguments: { a: '“' } });
    expect(messagesOf(user('a'), assistant([made]), result('call_1', 'x')).slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'search', arguments: '{"a":"“"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'x' },
    ]);
  });

  it('join their text blocks', () => {
    expect(messagesOf(user('a'), assistant(['b', 'c']))[1]).toEqual({ role: 'assistant', content: 'bc' });
  });

  it('with nothing to send are left out', () => {
    expect(
      messagesOf(user('a'), assistant([{ type: 'thinking', text: 'why' }]), assistant([]), user('b')),
    ).toHaveLength(2);
  });

  it('send a call that is no JSON object without arguments, because some servers parse them', () => {
    const broken = assistant([
      call('c', { argumentsText: '{"a', problem: 'invalid_json' }),
      call('d', { problem: 'cut_off' }),
    ]);
    expect(messagesOf(user('a'), broken)[1]?.['tool_calls']).toMatchObject([
      { function: { arguments: '{}' } },
      { function: { arguments: '{}' } },
    ]);
  });

  it('return opaque parts to their provider only', () => {
    const details = [{ type: 'reasoning.text', text: 'why', signature: 'c2ln' }];
    const content = [
      { type: 'thinking', text: 'why', opaque: { reasoning_details: details } },
      call('c', { providerCallId: 'p:0', opaque: { extra_content: { signature: 's' } } }),
    ] as const;
    expect(messagesOf(user('a'), assistant(content), result('c', 'x'))[1]).toEqual({
      role: 'assistant',
      content: null,
      reasoning_details: details,
      tool_calls: [
        {
          id: 'p:0',
          type: 'function',
          function: { name: 'search', arguments: '{}' },
          extra_content: { signature: 's' },
        },
      ],
    });
    expect(messagesOf(user('a'), assistant(content, 'other'), result('c', 'x'))[1]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'search', arguments: '{}' } }],
    });
  });

  it('shorten ids that are too long, without mixing them up', () => {
    const long = ['a', 'b'].map((start) => start + 'x'.repeat(60));
    const messages = messagesOf(
      user('a'),
      assistant(long.map((id) => call(id))),
      ...long.map((id) => result(id, id[0] ?? '')),
    );
    const ids = callIds(messages[1]);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id.length).toBeLessThanOrEqual(40);
    expect(messages.slice(2).map((message) => [message['tool_call_id'], message['content']])).toEqual([
      [ids[0], 'a'],
      [ids[1], 'b'],
    ]);
  });
});

describe('tool results', () => {
  it('with images are followed by a user message that has them, after the last result', () => {
    const messages = messagesOf(
      user('a'),
      assistant([call('c'), call('d')]),
      result('c', 'seen', image),
      result('d', 'y'),
      assistant(['b']),
    );
    expect(messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c', content: 'seen\n[1 attached in the next message]' },
      { role: 'tool', tool_call_id: 'd', content: 'y' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Attached to the result of search:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
      { role: 'assistant', content: 'b' },
    ]);
  });

  it('that are missing are answered as interrupted, before anything else is said', () => {
    const messages = messagesOf(
      user('a'),
      assistant([call('c'), call('d')]),
      result('d', 'x'),
      user('b'),
      assistant([call('e')]),
    );
    expect(messages.map((message) => message['tool_call_id'] ?? message['role'])).toEqual([
      'user',
      'assistant',
      'd',
      'c',
      'user',
      'assistant',
      'e',
    ]);
    expect(messages[3]?.['content']).toContain('interrupted');
  });

  it('without a call are left out', () => {
    expect(messagesOf(user('a'), result('c', 'x'), assistant(['b']))).toHaveLength(2);
  });

  it('without content say so when they are errors', () => {
    const failed = { ...result('c'), isError: true };
    expect(messagesOf(user('a'), assistant([call('c')]), failed)[2]?.['content']).toBe('The tool failed.');
  });
});
