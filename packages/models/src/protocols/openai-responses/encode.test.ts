import type {
  AssistantContent,
  AssistantMessage,
  JsonObject,
  ModelMessage,
  ToolResultContent,
  UserContent,
} from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { TreadleError } from '@treadle/core';
import { validateOpenAIResponsesRequest } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyText } from '../../test-support/body.ts';
import { assistant, bodyOf, call, request, result, user } from '../../test-support/messages.ts';
import { openaiResponses } from './protocol.ts';
import type { OpenAIResponsesQuirks } from './quirks.ts';

interface Body {
  readonly input: readonly JsonObject[];
  readonly [field: string]: unknown;
}

const body = (input: ModelRequest, quirks?: OpenAIResponsesQuirks): Body =>
  bodyOf(openaiResponses({ family: 'gpt-5', ...quirks }), input) as Body;
const inputOf = (...messages: readonly ModelMessage[]): Body['input'] => {
  const written = body(request([...messages, user('And now?')]));
  expect(validateOpenAIResponsesRequest(written)).toEqual([]);
  return written.input.slice(0, -1);
};
const callIds = (items: readonly JsonObject[]): unknown[] =>
  items.filter((item) => item['type'] === 'function_call').map((item) => item['call_id']);

const tools = [{ name: 'search', description: 'Searches.', inputSchema: { type: 'object', properties: {} } }];
const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const;

const item = (id: string, type: string, fields: JsonObject = {}): JsonObject => ({ item: { id, type, ...fields } });
const saidText = (text: string, id: string, fields: JsonObject = {}): AssistantContent => ({
  type: 'text',
  text,
  opaque: item(id, 'message', { role: 'assistant', status: 'completed', ...fields }),
});
const thought = (text: string, id: string, signature?: string, part = 'summary_text'): AssistantContent => ({
  type: 'thinking',
  text,
  ...(signature === undefined ? {} : { signature }),
  opaque: { ...item(id, 'reasoning'), part },
});
const hidden = (data: string, id: string): AssistantContent => ({
  type: 'redacted_thinking',
  data,
  opaque: item(id, 'reasoning'),
});
const provided = (raw: JsonObject): AssistantContent => ({ type: 'provider_block', kind: 'item', raw });

describe('a request', () => {
  it('has the wire’s path and fixed fields, and the instructions apart', () => {
    const wire = openaiResponses({ family: 'gpt-4o' }).createEncoder({ provider: 'own', modelId: 'model-1' })(
      request([user('Hi')], { system: 'Be brief.' }),
    );
    expect(wire.path).toBe('/responses');
    expect(wire.headers).toEqual({ 'content-type': 'application/json', accept: 'text/event-stream' });
    expect(JSON.parse(bodyText(wire.body))).toEqual({
      model: 'model-1',
      stream: true,
      store: false,
      instructions: 'Be brief.',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    });
  });

  it('carries limits, temperature, thinking, tools and the session', () => {
    const fields = { maxTokens: 100, temperature: 0, thinking: 'low', tools, sessionId: 's1' } as const;
    const written = body(request([user('Hi')], fields), { family: { temperature: 'always' } });
    expect(written).toMatchObject({
      max_output_tokens: 100,
      temperature: 0,
      reasoning: { effort: 'low' },
      prompt_cache_key: 's1',
      // A tool that doesn't say would be taken for a strict one.
      tools: [
        {
          type: 'function',
          name: 'search',
          description: 'Searches.',
          parameters: tools[0]?.inputSchema,
          strict: false,
        },
      ],
    });
    expect(validateOpenAIResponsesRequest(written)).toEqual([]);
  });

  it('raises a limit below the least the API takes', () => {
    expect(body(request([user('Hi')], { maxTokens: 1 }))['max_output_tokens']).toBe(16);
    expect(body(request([user('Hi')], { maxTokens: 1 }), { minOutputTokens: 1 })['max_output_tokens']).toBe(1);
  });

  it.each([
    ['auto', undefined],
    ['none', 'none'],
    ['required', 'required'],
    [{ name: 'search' }, { type: 'function', name: 'search' }],
    [{ name: 'web' }, { type: 'web_search' }],
    [{ name: 'sql' }, { type: 'custom', name: 'sql' }],
  ] as const)('chooses tools by %j', (toolChoice, expected) => {
    const providerTools = [
      { name: 'web', provider: 'own', definition: { type: 'web_search' } },
      { name: 'sql', provider: 'own', definition: { type: 'custom', name: 'sql' } },
    ];
    expect(body(request([user('Hi')], { tools, providerTools, toolChoice }))['tool_choice']).toEqual(expected);
  });

  it('has no tool choice without tools', () => {
    expect(body(request([user('Hi')], { toolChoice: 'none' }))).not.toHaveProperty('tool_choice');
  });

  it('passes the provider’s tools through, and nobody else’s', () => {
    const providerTools = [
      { name: 'web', provider: 'own', definition: { type: 'web_search', size: 'low' } },
      { name: 'other', provider: 'other', definition: { type: 'x' } },
    ];
    expect(body(request([user('Hi')], { tools, providerTools }))['tools']).toMatchObject([
      { name: 'search' },
      { type: 'web_search', size: 'low' },
    ]);
  });

  it('declares a custom tool in place of the function that executes it', () => {
    const providerTools = [{ name: 'search', provider: 'own', definition: { type: 'custom', name: 'search' } }];
    const encode = openaiResponses().createEncoder({ provider: 'own', modelId: 'm' });
    const toolsOf = (fields: Partial<ModelRequest>): unknown =>
      (JSON.parse(bodyText(encode(request([user('Hi')], { tools, ...fields })).body)) as Body)['tools'];
    expect(toolsOf({ providerTools })).toEqual([{ type: 'custom', name: 'search' }]);
    // The same list of tools, without the provider's.
    expect(toolsOf({})).toMatchObject([{ type: 'function', name: 'search' }]);
  });

  it('asks for a reply that fits a schema, strictly where the schema allows it', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const format = (of: object): unknown =>
      body(
        request([user('Hi')], { responseFormat: { type: 'json_schema', name: 'my reply', schema: of as JsonObject } }),
      )['text'];
    expect(format(schema)).toEqual({
      format: {
        type: 'json_schema',
        name: 'my_reply',
        schema: { ...schema, additionalProperties: false },
        strict: true,
      },
    });
    const open = { ...schema, additionalProperties: true };
    expect(format(open)).toMatchObject({ format: { schema: open, strict: false } });
  });

  it('asks for any JSON in the input, too: the API wants to read the word there', () => {
    const written = body(request([user('Hi')], { system: 'Say JSON.', responseFormat: { type: 'json_object' } }));
    expect(written['text']).toEqual({ format: { type: 'json_object' } });
    expect(written.input).toEqual([
      { role: 'system', content: expect.stringContaining('JSON') },
      { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
    ]);
    expect(validateOpenAIResponsesRequest(written)).toEqual([]);
  });

  it('lets extra fields win', () => {
    const providerOptions = { store: true, truncation: 'auto' };
    expect(body(request([user('Hi')], { providerOptions }))).toMatchObject({ store: true, truncation: 'auto' });
  });

  it('refuses stop sequences, which the API doesn’t have', () => {
    const write = (stopSequences: string[]): Body => body(request([user('Hi')], { stopSequences }));
    expect(() => write(['END'])).toThrow(TreadleError);
    expect(() => write(['END'])).toThrow(/no stop sequences/);
    expect(write([])).not.toHaveProperty('stop');
  });

  it('shortens a session’s id to a key the API takes, always to the same', () => {
    const key = (sessionId: string): unknown => body(request([user('Hi')], { sessionId }))['prompt_cache_key'];
    expect(key('x'.repeat(64))).toBe('x'.repeat(64));
    const long = key(`${'x'.repeat(64)}1`);
    expect(long).toHaveLength(64);
    expect(long).toBe(key(`${'x'.repeat(64)}1`));
    expect(long).not.toBe(key(`${'x'.repeat(64)}2`));
    expect(body(request([user('Hi')], { sessionId: 's' }), { promptCacheKey: false })).not.toHaveProperty(
      'prompt_cache_key',
    );
  });
});

describe('thinking', () => {
  const reasoning = (thinking: ModelRequest['thinking'], quirks?: OpenAIResponsesQuirks): unknown =>
    body(request([user('Hi')], thinking === undefined ? {} : { thinking }), quirks)['reasoning'];

  it.each(['minimal', 'low', 'medium', 'high'] as const)('%s is that effort', (level) => {
    expect(reasoning(level)).toEqual({ effort: level });
    expect(reasoning(level, { reasoningSummary: 'auto' })).toEqual({ effort: level, summary: 'auto' });
    expect(reasoning(level, { reasoning: false })).toBeUndefined();
  });

  it('that is off is left out, or said where the model wants it said', () => {
    expect(reasoning('off', { family: 'gpt-4o' })).toBeUndefined();
    expect(reasoning('off', { family: 'gpt-5.6-sol' })).toEqual({ effort: 'none' });
    expect(reasoning(undefined, { family: 'gpt-5.6-sol' })).toBeUndefined();
  });

  const included = (modelId: string, fields: Partial<ModelRequest> = {}, quirks?: OpenAIResponsesQuirks): boolean => {
    const encode = openaiResponses(quirks).createEncoder({ provider: 'own', modelId });
    const written = JSON.parse(bodyText(encode(request([user('Hi')], fields)).body)) as Body;
    if (written['include'] === undefined) return false;
    expect(written['include']).toEqual(['reasoning.encrypted_content']);
    return true;
  };

  it.each([
    'o1',
    'o3-mini',
    'o4-mini-2025-04-16',
    'gpt-5',
    'gpt-5.3-codex',
    'openai/gpt-5-mini',
    'ft:gpt-5:x',
    'gpt-12',
    'gpt-oss-20b',
    'codex-mini',
    'computer-use-preview',
    'prod-chat',
  ])('asks %s for its encrypted reasoning', (modelId) => {
    expect(included(modelId)).toBe(true);
    expect(included(modelId, {}, { store: true })).toBe(false);
    expect(included(modelId, {}, { encryptedReasoning: 'never' })).toBe(false);
  });

  it.each(['gpt-4o', 'gpt-4.1-mini', 'gpt-35-turbo', 'gpt-5-chat-latest'])(
    'asks %s for none: it does not reason, and refuses the question',
    (modelId) => {
      expect(included(modelId)).toBe(false);
      expect(included(modelId, { thinking: 'off' })).toBe(false);
      expect(included(modelId, { thinking: 'low' })).toBe(false);
      expect(included(modelId, {}, { encryptedReasoning: 'always' })).toBe(true);
    },
  );
});

describe('a user’s message', () => {
  const contentOf = (...content: readonly (string | UserContent)[]): unknown =>
    inputOf(user(...content))[0]?.['content'];

  it('may show images and files', () => {
    expect(
      contentOf(
        'Look:',
        image,
        { type: 'image', mediaType: 'image/png', url: 'https://example.com/a.png' },
        { type: 'file', mediaType: 'image/gif', data: 'AAAA' },
        { type: 'file', mediaType: 'image/gif', fileId: 'file_1', provider: 'own' },
        { type: 'file', mediaType: 'application/pdf', name: 'b.pdf', data: 'AAAA' },
        { type: 'file', mediaType: 'application/pdf', fileId: 'file_2', provider: 'own' },
        { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/c.pdf' },
        { type: 'file', mediaType: 'text/csv', name: 'a.csv', data: 'YSxi' },
      ),
    ).toEqual([
      { type: 'input_text', text: 'Look:' },
      { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AAAA' },
      { type: 'input_image', detail: 'auto', image_url: 'https://example.com/a.png' },
      { type: 'input_image', detail: 'auto', image_url: 'data:image/gif;base64,AAAA' },
      { type: 'input_image', detail: 'auto', file_id: 'file_1' },
      { type: 'input_file', filename: 'b.pdf', file_data: 'data:application/pdf;base64,AAAA' },
      { type: 'input_file', file_id: 'file_2' },
      { type: 'input_file', file_url: 'https://example.com/c.pdf' },
      { type: 'input_text', text: 'a.csv:\na,b' },
    ]);
  });

  it('says what can’t be shown', () => {
    expect(contentOf({ type: 'file', mediaType: 'audio/wav', name: 'a.wav', data: '/w==' })).toEqual([
      { type: 'input_text', text: '[The file a.wav of type audio/wav can not be shown to this model]' },
    ]);
  });

  it('of which nothing is left is left out', () => {
    expect(inputOf(user(''))).toEqual([]);
  });
});

describe('the provider’s own message', () => {
  it('returns as its items, with ids, phases and encrypted reasoning byte for byte', () => {
    const encrypted = 'gAAAAABo+/=\\"é';
    const items = inputOf(
      user('Hi'),
      assistant([
        thought('**One**', 'rs_1'),
        thought('Two', 'rs_1', encrypted),
        saidText('Looking.', 'msg_1', { phase: 'commentary' }),
        hidden('gBBBB', 'rs_2'),
        call('c', {
          providerCallId: 'call_1',
          arguments: { query: 'x' },
          opaque: item('fc_1', 'function_call', { status: 'completed', namespace: 'n' }),
        }),
      ]),
      result('c', 'Found.'),
      assistant([saidText('Here.', 'msg_2', { phase: 'final_answer' })]),
    );
    expect(items.slice(1)).toEqual([
      {
        id: 'rs_1',
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: '**One**' },
          { type: 'summary_text', text: 'Two' },
        ],
        encrypted_content: encrypted,
      },
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'Looking.', annotations: [] }],
      },
      { id: 'rs_2', type: 'reasoning', summary: [], encrypted_content: 'gBBBB' },
      {
        id: 'fc_1',
        type: 'function_call',
        status: 'completed',
        namespace: 'n',
        call_id: 'call_1',
        name: 'search',
        arguments: '{"query":"x"}',
      },
      { type: 'function_call_output', call_id: 'call_1', output: 'Found.' },
      expect.objectContaining({ id: 'msg_2', phase: 'final_answer' }),
    ]);
  });

  it('keeps the parts of a message together, its sources and its refusals', () => {
    const citations = [{ type: 'url_citation', url: 'https://example.com' }];
    const refusal = {
      type: 'text',
      text: 'No.',
      opaque: { ...item('msg_1', 'message', { role: 'assistant' }), part: 'refusal' },
    } as const;
    const [message] = inputOf(assistant([{ ...saidText('A', 'msg_1'), citations } as AssistantContent, refusal]));
    expect(message?.['content']).toEqual([
      { type: 'output_text', text: 'A', annotations: citations },
      { type: 'refusal', refusal: 'No.' },
    ]);
  });

  it('returns reasoning in the clear where that is all there is', () => {
    const [reasoning] = inputOf(
      assistant([thought('Hm.', 'rs_1', undefined, 'reasoning_text'), saidText('x', 'msg_1')]),
    );
    expect(reasoning).toMatchObject({ summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] });
  });

  it('leaves out reasoning the provider could not read, unless it keeps responses', () => {
    const content = [thought('Hm.', 'rs_1'), saidText('x', 'msg_1')];
    expect(inputOf(assistant(content)).map((written) => written['id'])).toEqual(['msg_1']);
    const written = body(request([user('Hi'), assistant(content), user('?')]), { store: true });
    expect(written.input.map((written) => written['id'])).toEqual([undefined, 'rs_1', 'msg_1', undefined]);
    expect(validateOpenAIResponsesRequest(written)).toEqual([]);
  });

  it('leaves out reasoning that led to nothing', () => {
    expect(inputOf(assistant([thought('Hm.', 'rs_1', 'gAAA')]))).toEqual([]);
    expect(inputOf(assistant([saidText('x', 'msg_1'), thought('Hm.', 'rs_1', 'gAAA')]))).toHaveLength(1);
  });

  it('returns the provider’s items as they were', () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } };
    const compaction = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' };
    const call: AssistantContent = {
      type: 'provider_tool_call',
      callId: 'ws_1',
      name: 'web_search',
      arguments: {},
      raw: search,
    };
    expect(inputOf(assistant([call, provided(compaction)]))).toEqual([search, compaction]);
  });

  it('returns a drawn picture without how it was drawn, which the API refuses', () => {
    const drawn = {
      type: 'image_generation_call',
      id: 'ig_1',
      status: 'completed',
      result: 'AAAA',
      action: 'generate',
      size: '1x1',
    };
    expect(inputOf(assistant([provided(drawn)]))).toEqual([
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' },
    ]);
  });

  it.each<[JsonObject, JsonObject]>([
    [
      { type: 'shell_call', id: 'sh_1', call_id: 'c1', action: {} },
      { type: 'shell_call_output', call_id: 'c1' },
    ],
    [
      { type: 'local_shell_call', id: 'lsh_1', call_id: 'c1', action: {} },
      { type: 'local_shell_call_output', call_id: 'c1' },
    ],
    [
      { type: 'apply_patch_call', id: 'apc_1', call_id: 'c1', operation: {} },
      { type: 'apply_patch_call_output', call_id: 'c1', status: 'failed' },
    ],
    [
      { type: 'tool_search_call', id: 'tsc_1', call_id: 'c1', execution: 'client', arguments: {} },
      { type: 'tool_search_output', call_id: 'c1', tools: [] },
    ],
    [
      { type: 'mcp_approval_request', id: 'mcpr_1', name: 'n', arguments: '{}' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: false },
    ],
  ])('answers $type, which nobody answered', (raw, answer) => {
    expect(inputOf(assistant([provided(raw)]))).toEqual([raw, expect.objectContaining(answer)]);
  });

  it('leaves an answered call as it is, and one that has no answer in words out', () => {
    const shell = { type: 'shell_call', id: 'sh_1', call_id: 'c1', action: {} };
    const said = { type: 'shell_call_output', id: 'sho_1', call_id: 'c1', output: [] };
    const content: AssistantContent[] = [
      { type: 'provider_tool_call', callId: 'c1', name: 'shell', arguments: {}, raw: shell },
      { type: 'provider_tool_result', callId: 'c1', name: 'shell', isError: false, raw: said },
    ];
    expect(inputOf(assistant(content))).toEqual([shell, said]);
    expect(inputOf(assistant([provided({ type: 'computer_call', id: 'cu_1', call_id: 'c1', action: {} })]))).toEqual(
      [],
    );
    const serverSearch = { type: 'tool_search_call', id: 'tsc_1', call_id: null, execution: 'server', arguments: {} };
    expect(inputOf(assistant([provided(serverSearch)]))).toEqual([serverSearch]);
  });

  it('returns without ids when it was broken off, or was sent before', () => {
    const content = [thought('Hm.', 'rs_1', 'gAAA'), saidText('Half', 'msg_1')];
    const aborted: AssistantMessage = { ...assistant(content), stopReason: 'aborted' };
    expect(inputOf(user('Hi'), aborted)[1]).toEqual({ role: 'assistant', content: 'Half' });
    const twice = inputOf(assistant(content), user('Again'), assistant(content));
    expect(twice.map((written) => written['id'])).toEqual(['rs_1', 'msg_1', undefined, undefined]);
  });

  it('returns without an id the API would refuse', () => {
    const [said, called] = inputOf(
      assistant([saidText('x', `msg_${'x'.repeat(64)}`), call('c', { opaque: item('fc 1', 'function_call') })]),
    );
    expect(said).not.toHaveProperty('id');
    expect(called).not.toHaveProperty('id');
    expect(called).toMatchObject({ type: 'function_call' });
  });
});

describe('another provider’s message', () => {
  const foreign: AssistantContent[] = [
    { type: 'thinking', text: 'Secret thought', signature: 'c2lnbmF0dXJl', opaque: { extra: 1 } },
    { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
    {
      type: 'text',
      text: 'Let me ',
      citations: [{ type: 'char_location' }],
      opaque: { thoughtSignature: 'dGhvdWdodA==' },
    },
    { type: 'text', text: 'look.' },
    {
      type: 'provider_tool_call',
      callId: 'srvtoolu_1',
      name: 'web_search',
      arguments: {},
      raw: { type: 'server_tool_use', id: 'srvtoolu_1' },
    },
    {
      type: 'provider_tool_result',
      callId: 'srvtoolu_1',
      name: 'web_search',
      isError: false,
      raw: { type: 'web_search_tool_result' },
    },
    { type: 'provider_block', kind: 'compaction', raw: { type: 'compaction', content: 'x' } },
    call('call_a', { providerCallId: 'toolu_1', arguments: { q: 1 }, opaque: { caller: { type: 'direct' } } }),
  ];

  it('carries nothing foreign', () => {
    const items = inputOf(user('Hi'), assistant(foreign, 'anthropic'), result('call_a', 'Found.'));
    expect(items.slice(1)).toEqual([
      { role: 'assistant', content: 'Let me look.' },
      { type: 'function_call', call_id: 'call_a', name: 'search', arguments: '{"q":1}' },
      { type: 'function_call_output', call_id: 'call_a', output: 'Found.' },
    ]);
    expect(JSON.stringify(items)).not.toMatch(/Secret|c2ln|cmVk|dGhv|toolu|server_tool|char_location|caller/);
  });

  it('carries nothing of another provider on the same wire either', () => {
    const content = [
      thought('Hm.', 'rs_1', 'gAAA'),
      saidText('x', 'msg_1'),
      provided({ type: 'web_search_call', id: 'ws_1' }),
    ];
    expect(inputOf(assistant(content, 'azure'))).toEqual([{ role: 'assistant', content: 'x' }]);
  });

  it('of which nothing can be said is left out', () => {
    expect(inputOf(assistant([{ type: 'redacted_thinking', data: 'x' }, ''], 'anthropic'))).toEqual([]);
  });
});

describe('a call', () => {
  it('has the provider’s id at home and Treadle’s elsewhere', () => {
    expect(callIds(inputOf(assistant([call('call_a', { providerCallId: 'fc-0' })]), result('call_a', 'x')))).toEqual([
      'fc-0',
    ]);
    const elsewhere = assistant([call('call_a', { providerCallId: 'fc-0' })], 'other');
    expect(callIds(inputOf(elsewhere, result('call_a', 'x')))).toEqual(['call_a']);
  });

  it('has an id no other has, of at most 64 legal characters', () => {
    const items = inputOf(
      assistant([call('a', { providerCallId: 'dup' }), call('b', { providerCallId: 'dup' })]),
      result('a', '1'),
      result('b', '2'),
      assistant([call('c', { providerCallId: 'x'.repeat(65) }), call('ü ü'.repeat(30), { providerCallId: '' })]),
    );
    const ids = callIds(items);
    expect(ids.slice(0, 3)).toEqual(['dup', 'b', 'c']);
    expect(ids[3]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('that nobody answered is answered as interrupted, before anything else is said', () => {
    const items = inputOf(assistant([call('a'), call('b')]), result('b', 'Fine.'), user('Never mind.'));
    expect(items.map((written) => [written['type'] ?? written['role'], written['call_id']])).toEqual([
      ['function_call', 'a'],
      ['function_call', 'b'],
      ['function_call_output', 'b'],
      ['function_call_output', 'a'],
      ['user', undefined],
    ]);
    expect(items[3]?.['output']).toMatch(/interrupted/);
  });

  it('that is the last thing is answered as interrupted, until its result is there', () => {
    const encode = openaiResponses().createEncoder({ provider: 'own', modelId: 'm' });
    const history: ModelMessage[] = [user('Hi'), assistant([call('a')])];
    const input = (): Body['input'] => (JSON.parse(bodyText(encode(request([...history])).body)) as Body).input;
    expect(input().at(-1)).toMatchObject({
      type: 'function_call_output',
      output: expect.stringMatching(/interrupted/),
    });
    history.push(result('a', 'Fine.'));
    expect(input().slice(2)).toEqual([{ type: 'function_call_output', call_id: 'a', output: 'Fine.' }]);
  });

  it('whose arguments were broken goes back without them: servers parse them', () => {
    const [written] = inputOf(assistant([call('a', { argumentsText: '{"q', problem: 'cut_off' })]), result('a', 'x'));
    expect(written?.['arguments']).toBe('{}');
  });

  it('whose name no request could carry has another', () => {
    const [written] = inputOf(assistant([call('a', { name: 'a b/ü' })]), result('a', 'x'));
    expect(written?.['name']).toBe('a_b__');
  });

  it('by a program is answered to that program', () => {
    const caller = { type: 'program', caller_id: 'call_p' };
    const items = inputOf(
      assistant([call('a', { opaque: item('fc_1', 'function_call', { caller }) })]),
      result('a', 'x'),
    );
    expect(items).toMatchObject([{ caller }, { type: 'function_call_output', caller }]);
  });
});

describe('a call of a custom tool', () => {
  const custom = call('a', {
    name: 'sql',
    providerCallId: 'call_1',
    arguments: { input: 'SELECT "1"' },
    opaque: item('ctc_1', 'custom_tool_call', { status: 'completed' }),
  });

  it('goes back as its text, and its result as one of its kind', () => {
    expect(inputOf(assistant([custom]), result('a', 'Rows.'))).toEqual([
      {
        id: 'ctc_1',
        type: 'custom_tool_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'sql',
        input: 'SELECT "1"',
      },
      { type: 'custom_tool_call_output', call_id: 'call_1', output: 'Rows.' },
    ]);
    expect(inputOf(assistant([custom]))[1]).toMatchObject({
      type: 'custom_tool_call_output',
      output: expect.stringMatching(/interrupted/),
    });
  });

  it('is a function’s elsewhere', () => {
    expect(inputOf(assistant([custom], 'other'), result('a', 'Rows.'))).toEqual([
      { type: 'function_call', call_id: 'a', name: 'sql', arguments: '{"input":"SELECT \\"1\\""}' },
      { type: 'function_call_output', call_id: 'a', output: 'Rows.' },
    ]);
  });
});

describe('a result', () => {
  const outputOf = (...content: readonly (string | ToolResultContent)[]): unknown =>
    inputOf(assistant([call('a')]), result('a', ...content))[1]?.['output'];

  it('of text is text', () => {
    expect(outputOf('one', 'two')).toBe('one\ntwo');
    expect(outputOf()).toBe('');
  });

  it('with an image is a list', () => {
    expect(outputOf('Look:', image)).toEqual([
      { type: 'input_text', text: 'Look:' },
      { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AAAA' },
    ]);
  });

  it('that failed without a word says so', () => {
    const failed = { ...result('a'), isError: true };
    expect(inputOf(assistant([call('a')]), failed)[1]).toMatchObject({ output: 'The tool failed.' });
  });

  it('of no call is left out', () => {
    expect(inputOf(result('a', 'x'))).toEqual([]);
  });
});

// Any history, also one that no run of ours would make.

const words = fc.string({ unit: 'binary', maxLength: 6 });
const itemId = fc.constantFrom('1', '2', '3');
const ownBlock: fc.Arbitrary<AssistantContent> = fc.oneof(
  fc.tuple(words, itemId).map(([text, id]) => saidText(text, `msg_${id}`)),
  words.map((text): AssistantContent => ({ type: 'text', text })),
  fc
    .tuple(words, itemId, fc.constantFrom(undefined, 'gAAA'))
    .map(([text, id, data]) => thought(text, `rs_${id}`, data)),
  itemId.map((id) => hidden('gBBB', `rs_${id}`)),
  itemId.map((id) => provided({ type: 'web_search_call', id: `ws_${id}`, action: {} })),
  itemId.map((id) => provided({ type: 'shell_call', id: `sh_${id}`, call_id: `shell_${id}`, action: {} })),
  fc
    .record({
      id: itemId,
      callId: fc.constantFrom('call_1', 'call_2', 'x'.repeat(70)),
      providerCallId: fc.constantFrom('dup', '', 'a b'),
      custom: fc.boolean(),
      name: words,
    })
    .map(({ id, callId, providerCallId, custom, name }) =>
      call(callId, {
        name,
        providerCallId,
        opaque: custom ? item(`ctc_${id}`, 'custom_tool_call') : item(`fc_${id}`, 'function_call'),
      }),
    ),
);
const ownBlocks = fc.uniqueArray(ownBlock, {
  maxLength: 5,
  selector: (block) => (block.type === 'tool_call' ? block.callId : 'raw' in block ? block.raw['id'] : block),
});
const anyMessage: fc.Arbitrary<ModelMessage> = fc.oneof(
  fc.array(fc.oneof(words, fc.constant(image)), { maxLength: 2 }).map((content) => user(...content)),
  fc
    .tuple(ownBlocks, fc.constantFrom('own', 'other'), fc.constantFrom<'stop' | 'aborted'>('stop', 'aborted'))
    .map(([content, provider, stopReason]): ModelMessage => ({ ...assistant(content, provider), stopReason })),
  fc.tuple(fc.constantFrom('call_1', 'call_2', 'x'.repeat(70)), words).map(([id, text]) => result(id, text, image)),
);
const history = fc.array(anyMessage, { maxLength: 10 });

describe('any history', () => {
  const encoder = () => openaiResponses().createEncoder({ provider: 'own', modelId: 'm' });

  it('is a valid request', () => {
    fc.assert(
      fc.property(history, (messages) => {
        const written = JSON.parse(bodyText(encoder()(request([...messages, user('Go.')])).body)) as Body;
        expect(validateOpenAIResponsesRequest(written)).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });

  it('is the same request whether it came at once or grew, forked or was compacted', () => {
    fc.assert(
      fc.property(history, history, fc.nat(10), (messages, branch, at) => {
        const encode = encoder();
        const same = (list: readonly ModelMessage[]): void =>
          expect(bodyText(encode(request(list)).body)).toBe(bodyText(encoder()(request(list)).body));
        for (let length = 1; length <= messages.length; length++) same(messages.slice(0, length));
        same([...messages.slice(0, at), ...branch]);
        same([...messages.slice(0, 1), ...messages.slice(at)]);
        same(messages);
      }),
      { numRuns: 200 },
    );
  });
});
