import type { ModelMessage } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { describe, expect, it } from 'vitest';
import { bodyText } from '../../test-support/body.ts';
import { assistant, bodyOf, call, request, result, user } from '../../test-support/messages.ts';
import { anthropicMessages } from './protocol.ts';
import type { AnthropicQuirks } from './quirks.ts';

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: readonly Record<string, unknown>[] }[];
  readonly [field: string]: unknown;
}

const protocol = anthropicMessages();
/** Without cache marks, which have a test file of their own. */
const body = (input: ModelRequest): Body => bodyOf(protocol, { cache: 'off', ...input }) as Body;
const messagesOf = (...messages: readonly ModelMessage[]): Body['messages'] => body(request(messages)).messages;
const text = (value: string): object => ({ type: 'text', text: value });
const INTERRUPTED = { type: 'tool_result', is_error: true };

describe('a request', () => {
  it('has the wire’s path, headers and fixed fields', () => {
    const wire = protocol.createEncoder({ provider: 'own', modelId: 'model-1' })(
      request([user('Hi')], { system: 'Be brief.', cache: 'off' }),
    );
    expect(wire.path).toBe('/messages');
    expect(wire.headers).toMatchObject({ 'anthropic-version': '2023-06-01', 'content-type': 'application/json' });
    expect(JSON.parse(bodyText(wire.body))).toEqual({
      model: 'model-1',
      stream: true,
      system: [text('Be brief.')],
      messages: [{ role: 'user', content: [text('Hi')] }],
      max_tokens: 8192,
    });
  });

  it('asks for as much output as the model can give, where its limit is known', () => {
    const asked = (own: AnthropicQuirks, outputLimit?: number): unknown => {
      const target = { provider: 'own', modelId: 'model-1', ...(outputLimit === undefined ? {} : { outputLimit }) };
      const wire = anthropicMessages(own).createEncoder(target)(request([user('Hi')]));
      return (JSON.parse(bodyText(wire.body)) as Body)['max_tokens'];
    };
    expect(asked({}, 128_000)).toBe(128_000);
    expect(asked({})).toBe(8192);
    expect(asked({ maxTokens: 500 }, 128_000)).toBe(500);
  });

  it('leaves out what is empty', () => {
    expect(Object.keys(body(request([user('Hi')], { system: ' ', stopSequences: [] })))).toEqual([
      'model',
      'stream',
      'messages',
      'max_tokens',
    ]);
  });

  it('carries limits, temperature, stop sequences and the container', () => {
    const fields = { maxTokens: 10, temperature: 0.5, stopSequences: ['END'], containerId: 'container_1' };
    expect(body(request([user('Hi')], fields))).toMatchObject({
      max_tokens: 10,
      temperature: 0.5,
      stop_sequences: ['END'],
      container: 'container_1',
    });
  });

  it('takes the container of a new session from `providerOptions`, and then the one that the provider named', () => {
    const providerOptions = { container: 'container_9' };
    expect(body(request([user('Hi')], { providerOptions, containerId: 'container_1' }))).toMatchObject({
      container: 'container_1',
    });
    expect(body(request([user('Hi')], { providerOptions }))).toMatchObject({
      container: 'container_9',
    });
  });

  it('names the betas it was made with in one header', () => {
    const made = anthropicMessages({ betas: ['a-1', 'b-2', 'a-1'] });
    const { headers } = made.createEncoder({ provider: 'own', modelId: 'm' })(request([user('Hi')]));
    expect(headers['anthropic-beta']).toBe('a-1,b-2');
    expect(protocol.createEncoder({ provider: 'own', modelId: 'm' })(request([user('Hi')])).headers).not.toHaveProperty(
      'anthropic-beta',
    );
  });

  it('lets extra fields win', () => {
    const input = request([user('Hi')], {
      maxTokens: 10,
      providerOptions: { max_tokens: 20, metadata: { user_id: 'u' } },
    });
    expect(body(input)).toMatchObject({ max_tokens: 20, metadata: { user_id: 'u' } });
  });

  it('replaces halves of characters, which strict servers refuse', () => {
    const wire = protocol.createEncoder({ provider: 'own', modelId: 'm' })(
      request([user('a\ud83eb 🦊 \\ud83e')], { cache: 'off' }),
    );
    expect(bodyText(wire.body)).not.toMatch(/[^\\]\\ud83e/);
    expect((JSON.parse(bodyText(wire.body)) as Body).messages[0]?.content).toEqual([text('a\uFFFDb 🦊 \\ud83e')]);
  });
});

describe('tools', () => {
  const tools = [{ name: 'search', description: 'Searches.', inputSchema: { type: 'object' } }];

  it('are declared with their schema', () => {
    expect(body(request([user('Hi')], { tools }))['tools']).toEqual([
      { name: 'search', description: 'Searches.', input_schema: { type: 'object' } },
    ]);
  });

  it('of the provider are passed through, those of others are not', () => {
    const definition = { type: 'web_search_20250305', name: 'web_search' };
    const providerTools = [
      { name: 'web_search', provider: 'own', definition },
      { name: 'other', provider: 'somebody', definition: {} },
    ];
    expect(body(request([user('Hi')], { providerTools }))['tools']).toEqual([definition]);
  });

  it.each([
    ['auto', undefined],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    [{ name: 'search' }, { type: 'tool', name: 'search' }],
  ] as const)('are chosen by %j', (toolChoice, expected) => {
    expect(body(request([user('Hi')], { tools, toolChoice }))['tool_choice']).toEqual(expected);
  });

  it('have no choice when there are none', () => {
    expect(body(request([user('Hi')], { toolChoice: 'none' }))).not.toHaveProperty('tool_choice');
  });
});

describe('thinking', () => {
  const tools = [{ name: 'search', description: '', inputSchema: { type: 'object' } }];

  it.each([
    ['minimal', 1024],
    ['low', 1024],
    ['medium', 2048],
    ['high', 8192],
  ] as const)('%s has a budget of %i tokens', (thinking, budget) => {
    expect(body(request([user('Hi')], { thinking, maxTokens: 10_000 }))).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: budget },
      max_tokens: 10_000,
    });
  });

  it('raises the limit above its budget, and takes no temperature', () => {
    const written = body(request([user('Hi')], { thinking: 'high', maxTokens: 100, temperature: 0 }));
    expect(written).toMatchObject({ max_tokens: 8292 });
    expect(written).not.toHaveProperty('temperature');
  });

  it('is left out when off, and when a tool is forced', () => {
    expect(body(request([user('Hi')], { thinking: 'off' }))).not.toHaveProperty('thinking');
    expect(body(request([user('Hi')], { thinking: 'high', tools, toolChoice: 'required' }))).not.toHaveProperty(
      'thinking',
    );
  });

  it('is left out in the middle of calls that another provider reasoned about', () => {
    const foreign = assistant([{ type: 'thinking', text: 'Hm', signature: 's' }, call('c')], 'other');
    const own = assistant([{ type: 'thinking', text: 'Hm', signature: 's' }, call('c')]);
    const after = (message: ModelMessage): Body =>
      body(request([user('Hi'), message, result('c', 'x')], { thinking: 'low' }));
    expect(after(foreign)).not.toHaveProperty('thinking');
    expect(after(own)).toHaveProperty('thinking');
    const later = request([user('Hi'), foreign, result('c', 'x'), assistant(['ok']), user('More')], {
      thinking: 'low',
    });
    expect(body(later)).toHaveProperty('thinking');
  });
});

describe('thinking of newer models', () => {
  const written = (modelId: string, fields: Partial<ModelRequest>, quirks = {}): Record<string, unknown> => {
    const encode = anthropicMessages(quirks).createEncoder({ provider: 'own', modelId });
    return JSON.parse(bodyText(encode(request([user('Hi')], { cache: 'off', ...fields })).body)) as Record<
      string,
      unknown
    >;
  };

  it.each([
    ['minimal', 'low'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['high', 'high'],
    ['xhigh', 'xhigh'],
    ['max', 'max'],
  ] as const)('%s is the effort %s, with which the model decides for itself', (thinking, effort) => {
    const body = written('claude-opus-4-7', { thinking, maxTokens: 100, temperature: 0 });
    expect(body).toMatchObject({
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort },
      max_tokens: 100,
    });
    expect(body).not.toHaveProperty('temperature');
  });

  it.each([
    ['claude-3-7-sonnet-latest', 'enabled'],
    ['claude-opus-4-20250514', 'enabled'],
    ['claude-haiku-4-5-20251001', 'enabled'],
    ['claude-sonnet-4-6', 'adaptive'],
    ['claude-opus-4-8', 'adaptive'],
    ['claude-sonnet-5', 'adaptive'],
    ['claude-fable-5-1', 'adaptive'],
    ['claude-opus-10', 'adaptive'],
    ['claude-opus-latest', 'adaptive'],
    ['qwen3', 'enabled'],
  ])('of %s is %s', (modelId, type) => {
    expect(written(modelId, { thinking: 'low' })['thinking']).toMatchObject({ type });
    expect(written(modelId, { thinking: 'low' }, { family: 'claude-opus-4-5' })['thinking']).toMatchObject({
      type: 'enabled',
    });
    expect(written(modelId, { thinking: 'low' }, { family: 'claude-opus-4-7' })['thinking']).toMatchObject({
      type: 'adaptive',
    });
  });

  it('is left out when off, and when a tool is forced', () => {
    const tools = [{ name: 'search', description: '', inputSchema: { type: 'object' } }];
    for (const fields of [{ thinking: 'off' }, { thinking: 'high', tools, toolChoice: 'required' }] as const) {
      const body = written('claude-opus-4-8', fields);
      expect(body).not.toHaveProperty('thinking');
      expect(body).not.toHaveProperty('output_config');
    }
  });

  it('shares output_config with the form of the reply and with what the caller has in it', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const fields: Partial<ModelRequest> = {
      thinking: 'high',
      responseFormat: { type: 'json_schema', name: 'a', schema },
      providerOptions: { output_config: { effort: 'max', task: 1 } },
    };
    expect(written('claude-opus-5', fields)['output_config']).toEqual({
      effort: 'max',
      task: 1,
      format: { type: 'json_schema', schema: { ...schema, additionalProperties: false } },
    });
    const { thinking: _thinking, responseFormat: _format, ...rest } = fields;
    expect(written('claude-opus-5', rest)['output_config']).toEqual({ effort: 'max', task: 1 });
  });
});

describe('messages', () => {
  it('of the same role are one message on the wire', () => {
    expect(messagesOf(user('a'), user('b', 'c'), assistant(['d']), assistant(['e']), user('f'))).toEqual([
      { role: 'user', content: [text('a'), text('b'), text('c')] },
      { role: 'assistant', content: [text('d'), text('e')] },
      { role: 'user', content: [text('f')] },
    ]);
  });

  it('without anything to say are left out', () => {
    expect(messagesOf(user('a'), assistant(['', ' \n']), user(''), user('b'))).toEqual([
      { role: 'user', content: [text('a'), text('b')] },
    ]);
  });

  it('that the provider wants to go on with end without white space, last or not', () => {
    const paused = { ...assistant(['Let me ', 'see. \n', ' ']), stopReason: 'pause' } as const;
    const expected = { role: 'assistant', content: [text('Let me '), text('see.')] };
    expect(messagesOf(user('a'), paused).at(-1)).toEqual(expected);
    expect(messagesOf(user('a'), paused, user('b'))[1]).toEqual(expected);
    expect(messagesOf(user('a'), assistant(['b ']), user('c'))[1]?.content).toEqual([text('b ')]);
  });

  it('begin with the user', () => {
    expect(messagesOf(assistant(['a']), user('b')).map((message) => message.role)).toEqual([
      'user',
      'assistant',
      'user',
    ]);
  });

  it('carry images and files', () => {
    const [message] = messagesOf(
      user(
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
        { type: 'image', mediaType: 'image/png', url: 'https://a/b.png' },
        { type: 'image', mediaType: 'image/tiff', data: 'AAAA' },
        { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'AAAA' },
        { type: 'file', mediaType: 'text/csv', name: 'a.csv', data: btoa('a,b') },
        { type: 'file', mediaType: 'application/pdf', fileId: 'file_1', provider: 'own' },
        { type: 'file', mediaType: 'application/pdf', fileId: 'file_1', provider: 'other' },
        { type: 'file', mediaType: 'image/png', fileId: 'file_2', provider: 'own' },
        { type: 'file', mediaType: 'application/pdf', url: 'https://a/b.pdf' },
        { type: 'file', mediaType: 'application/zip', name: 'a.zip', data: '/////w==' },
      ),
    );
    expect(message?.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'image', source: { type: 'url', url: 'https://a/b.png' } },
      text('[An image of type image/tiff can not be shown to this model]'),
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }, title: 'a.pdf' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' }, title: 'a.csv' },
      { type: 'document', source: { type: 'file', file_id: 'file_1' } },
      text('[The file without a name of type application/pdf can not be shown to this model]'),
      { type: 'image', source: { type: 'file', file_id: 'file_2' } },
      { type: 'document', source: { type: 'url', url: 'https://a/b.pdf' } },
      text('[The file a.zip of type application/zip can not be shown to this model]'),
    ]);
  });
});

describe('what a provider made opaque', () => {
  const opaque = [
    { type: 'thinking', text: 'Hm', signature: 'EqoB+/=' },
    { type: 'redacted_thinking', data: 'b3Bh' },
    { type: 'provider_tool_call', callId: 's', name: 'w', arguments: {}, raw: { type: 'server_tool_use', id: 's' } },
    {
      type: 'provider_tool_result',
      callId: 's',
      name: 'w',
      isError: false,
      raw: { type: 'w_tool_result', tool_use_id: 's' },
    },
    { type: 'provider_block', kind: 'compaction', raw: { type: 'compaction', content: 'c' } },
    { type: 'text', text: 'Hi', citations: [{ type: 'x' }] },
    call('c', { opaque: { caller: { type: 'direct' } } }),
  ] as const;

  it('returns to it unchanged', () => {
    const [, message] = messagesOf(user('a'), assistant(opaque), result('c', 'x'));
    expect(message?.content).toEqual([
      { type: 'thinking', thinking: 'Hm', signature: 'EqoB+/=' },
      { type: 'redacted_thinking', data: 'b3Bh' },
      { type: 'server_tool_use', id: 's' },
      { type: 'w_tool_result', tool_use_id: 's' },
      { type: 'compaction', content: 'c' },
      { type: 'text', text: 'Hi', citations: [{ type: 'x' }] },
      { type: 'tool_use', id: 'c', name: 'search', input: {}, caller: { type: 'direct' } },
    ]);
  });

  it('goes to nobody else, also not as text', () => {
    const [, message] = messagesOf(user('a'), assistant(opaque, 'other'), result('c', 'x'));
    expect(message?.content).toEqual([text('Hi'), { type: 'tool_use', id: 'c', name: 'search', input: {} }]);
  });

  it('is left out without its signature, which the wire demands', () => {
    expect(messagesOf(user('a'), assistant([{ type: 'thinking', text: 'Hm' }, 'b']))[1]?.content).toEqual([text('b')]);
  });
});

describe('tool calls', () => {
  it('carry the provider’s id back to it, and Treadle’s to others', () => {
    const made = call('call_1', { providerCallId: 'toolu_1' });
    const ids = (provider: string): unknown[] =>
      messagesOf(user('a'), assistant([made], provider), result('call_1', 'x')).flatMap((message) =>
        message.content.flatMap((block) => block['id'] ?? block['tool_use_id'] ?? []),
      );
    expect(ids('own')).toEqual(['toolu_1', 'toolu_1']);
    expect(ids('other')).toEqual(['call_1', 'call_1']);
  });

  it('get ids of their own where the provider repeats one or uses what the wire refuses', () => {
    const [, calls, results] = messagesOf(
      user('a'),
      assistant([
        call('call_1', { providerCallId: 'same' }),
        call('call_2', { providerCallId: 'same' }),
        call('call_3', { providerCallId: 'functions.search:0' }),
        call('call.4', {}),
        call('call:4', {}),
      ]),
      ...['call_1', 'call_2', 'call_3', 'call.4', 'call:4'].map((id) => result(id, id)),
    );
    const ids = calls?.content.map((block) => String(block['id'])) ?? [];
    expect(ids.slice(0, 4)).toEqual(['same', 'call_2', 'call_3', 'call_4']);
    expect(new Set(ids).size).toBe(5);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(results?.content.map((block) => block['tool_use_id'])).toEqual(ids);
  });

  it('with a problem are sent without input', () => {
    const broken = call('c', { arguments: { a: 1 }, argumentsText: '{"a', problem: 'cut_off' });
    expect(messagesOf(user('a'), assistant([broken]), result('c', 'x'))[1]?.content).toMatchObject([{ input: {} }]);
  });

  it('by names no request may carry are renamed', () => {
    const names = ['a b!', '', 'x'.repeat(200)].map((name, at) => call(`c${at}`, { name }));
    expect(messagesOf(user('a'), assistant(names))[1]?.content.map((block) => block['name'])).toEqual([
      'a_b_',
      'unnamed_tool',
      'x'.repeat(128),
    ]);
  });
});

describe('tool results', () => {
  it('come in one user message, with the user’s next words after them', () => {
    expect(
      messagesOf(user('a'), assistant([call('c'), call('d')]), result('c', 'x'), result('d'), user('b'))[2],
    ).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c', content: [text('x')] },
        { type: 'tool_result', tool_use_id: 'd' },
        text('b'),
      ],
    });
  });

  it('carry images, unless they are errors', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const;
    const after = (isError: boolean): unknown =>
      messagesOf(user('a'), assistant([call('c')]), { ...result('c', image), isError })[2]?.content[0];
    expect(after(false)).toMatchObject({ content: [{ type: 'image' }] });
    expect(after(true)).toMatchObject({ is_error: true, content: [{ type: 'text' }] });
  });

  it('that are missing are answered as interrupted', () => {
    const messages = messagesOf(
      user('a'),
      assistant([call('c'), call('d')]),
      result('d', 'x'),
      user('b'),
      assistant([call('e')]),
    );
    expect(messages[2]?.content).toMatchObject([{ tool_use_id: 'd' }, { ...INTERRUPTED, tool_use_id: 'c' }, text('b')]);
    expect(messages[4]?.content).toMatchObject([{ ...INTERRUPTED, tool_use_id: 'e' }]);
  });

  it('without a call are left out', () => {
    const messages = messagesOf(
      user('a'),
      result('c', 'x'),
      assistant([call('d')]),
      result('d', 'y'),
      result('d', 'z'),
    );
    expect(messages).toHaveLength(3);
    expect(messages[2]?.content).toHaveLength(1);
  });
});
