import type { JsonSchema, ModelMessage, ResponseFormat } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { validateOpenAIChatRequest } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { assistant, bodyOf, call, request, result, user } from '../../test-support/messages.ts';
import { answering, sse, utf8 } from '../../test-support/streams.ts';
import { wireModel } from '../../model.ts';
import { openaiChat } from './protocol.ts';
import type { OpenAIChatQuirks } from './quirks.ts';

interface Body {
  readonly messages: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}

const body = (
  quirks: OpenAIChatQuirks,
  fields: Partial<ModelRequest>,
  messages: readonly ModelMessage[] = [user('Hi')],
): Body => bodyOf(openaiChat(quirks), request(messages, fields)) as Body;

const PERSON: JsonSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    born: { type: 'integer' },
    friends: { type: 'array', items: { $ref: '#/$defs/friend' } },
  },
  required: ['name'],
  $defs: { friend: { type: 'object', properties: { name: { type: 'string' } } } },
};

const STRICT_PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    born: { type: ['integer', 'null'] },
    friends: { type: ['array', 'null'], items: { $ref: '#/$defs/friend' } },
  },
  required: ['name', 'born', 'friends'],
  additionalProperties: false,
  $defs: {
    friend: {
      type: 'object',
      properties: { name: { type: ['string', 'null'] } },
      required: ['name'],
      additionalProperties: false,
    },
  },
};

const tools = [{ name: 'find', description: 'Finds.', inputSchema: PERSON }];
const person: ResponseFormat = { type: 'json_schema', name: 'a person', description: 'Somebody.', schema: PERSON };

describe('the form of the reply', () => {
  it('is a strict schema: everything required, optional things nullable, nothing else, references kept', () => {
    expect(body({}, { responseFormat: person })['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'a_person', description: 'Somebody.', schema: STRICT_PERSON, strict: true },
    });
  });

  it('is the schema as it is where strict mode can’t say it', () => {
    const schema = { type: 'object', additionalProperties: { type: 'number' } };
    expect(body({}, { responseFormat: { type: 'json_schema', name: 'map', schema } })['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'map', schema, strict: false },
    });
  });

  it('is any JSON object, which the prompt must mention', () => {
    const written = body({}, { system: 'Be brief.', responseFormat: { type: 'json_object' } });
    expect(written['response_format']).toEqual({ type: 'json_object' });
    expect(written.messages[0]?.['content']).toMatch(/^Be brief\.\n\n.*JSON object/);
    const mentioned = body({}, { system: 'Answer in JSON.', responseFormat: { type: 'json_object' } });
    expect(mentioned.messages[0]?.['content']).toBe('Answer in JSON.');
  });

  it('goes into the instructions where the server has no schemas, or no formats at all', () => {
    const objects = body({ responseFormat: 'json_object' }, { responseFormat: person });
    expect(objects['response_format']).toEqual({ type: 'json_object' });
    const none = body({ responseFormat: 'none' }, { responseFormat: person });
    expect(none).not.toHaveProperty('response_format');
    for (const { messages } of [objects, none]) {
      expect(messages[0]).toMatchObject({ role: 'system' });
      expect(String(messages[0]?.['content'])).toContain(JSON.stringify(PERSON));
    }
    const plain = body({ responseFormat: 'none' }, { system: 'JSON!', responseFormat: { type: 'json_object' } });
    expect(String(plain.messages[0]?.['content'])).toContain('one JSON object');
  });
});

describe('strict tools', () => {
  it('are declared so where their parameters allow it', () => {
    const loose = { name: 'loose', description: '', inputSchema: { type: 'object', additionalProperties: true } };
    expect(body({ strictTools: true }, { tools: [...tools, loose] })['tools']).toEqual([
      { type: 'function', function: { name: 'find', description: 'Finds.', parameters: STRICT_PERSON, strict: true } },
      { type: 'function', function: { name: 'loose', description: '', parameters: loose.inputSchema, strict: false } },
    ]);
    expect(body({}, { tools })['tools']).toEqual([
      { type: 'function', function: { name: 'find', description: 'Finds.', parameters: PERSON } },
    ]);
  });

  it('are called without the nulls that strictness brought', async () => {
    const args = '{"name":"Ada","born":null,"friends":[{"name":null}]}';
    const called = { index: 0, id: 'c1', function: { name: 'find', arguments: args } };
    const stream = sse(
      { id: 'r', model: 'm', choices: [{ index: 0, delta: { tool_calls: [called] } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      '[DONE]',
    );
    const argumentsOf = async (quirks: OpenAIChatQuirks): Promise<unknown> => {
      const model = wireModel({
        protocol: openaiChat(quirks),
        provider: 'own',
        modelId: 'm',
        baseUrl: 'http://localhost',
        headers: {},
        http: answering([utf8(stream)]),
      });
      for await (const event of model.stream(request([user('Hi')], { tools }), new AbortController().signal)) {
        if (event.type === 'block_end' && event.block.type === 'tool_call')
          return JSON.parse(event.block.argumentsText);
      }
      throw new Error('no call');
    };
    expect(await argumentsOf({ strictTools: true })).toEqual({ name: 'Ada', friends: [{}] });
    expect(await argumentsOf({})).toEqual(JSON.parse(args));
  });
});

describe('the cache key', () => {
  it('is the session’s id, where the server knows such keys', () => {
    expect(body({ promptCacheKey: true }, { sessionId: 's1' })['prompt_cache_key']).toBe('s1');
    expect(body({}, { sessionId: 's1' })).not.toHaveProperty('prompt_cache_key');
    expect(body({ promptCacheKey: true }, {})).not.toHaveProperty('prompt_cache_key');
    expect(body({ promptCacheKey: true }, { sessionId: 's1', cache: 'off' })).not.toHaveProperty('prompt_cache_key');
  });

  it('is cut to what the server takes, without mixing sessions up', () => {
    const keys = ['a', 'b'].map((end) =>
      String(body({ promptCacheKey: true }, { sessionId: 'x'.repeat(100) + end })['prompt_cache_key']),
    );
    expect(new Set(keys).size).toBe(2);
    for (const key of keys) expect(key.length).toBeLessThanOrEqual(64);
  });
});

describe('thinking', () => {
  it.each([
    [{}, 'minimal', { reasoning_effort: 'low' }],
    [{ family: { efforts: ['minimal'] } }, 'minimal', { reasoning_effort: 'minimal' }],
    [{}, 'high', { reasoning_effort: 'high' }],
    [{}, 'off', {}],
    [{ thinkingSwitch: 'thinking' }, 'low', { thinking: { type: 'enabled' }, reasoning_effort: 'low' }],
    [{ thinkingSwitch: 'thinking' }, 'off', { thinking: { type: 'disabled' } }],
    [
      { thinkingSwitch: 'enable_thinking', family: { efforts: [], off: 'disabled' } },
      'high',
      { enable_thinking: true },
    ],
    [{ thinkingSwitch: 'enable_thinking' }, 'off', { enable_thinking: false }],
    [{ thinkingSwitch: 'reasoning' }, 'medium', { reasoning: { effort: 'medium' } }],
    [{ thinkingSwitch: 'reasoning' }, 'off', { reasoning: { effort: 'none' } }],
  ] as const)('with %j, %s is %j', (quirks, thinking, expected) => {
    const {
      model: _model,
      stream: _stream,
      stream_options: _options,
      messages: _messages,
      ...rest
    } = body(quirks, {
      thinking,
    });
    expect(rest).toEqual(expected);
  });

  it('isn’t mentioned when the request doesn’t', () => {
    for (const thinkingSwitch of ['thinking', 'enable_thinking', 'reasoning'] as const) {
      expect(Object.keys(body({ thinkingSwitch }, {}))).toEqual(['model', 'stream', 'stream_options', 'messages']);
    }
  });

  it('is stood in for where the server refuses calls without it', () => {
    const quirks: OpenAIChatQuirks = { reasoningField: 'reasoning_content', reasoningRequired: true };
    const foreign = assistant([{ type: 'thinking', text: 'secret' }, call('c')], 'other');
    const own = assistant([{ type: 'thinking', text: 'why' }, call('d')]);
    const { messages } = body(quirks, { tools }, [
      user('a'),
      foreign,
      result('c', 'x'),
      own,
      result('d', 'y'),
      assistant(['b']),
    ]);
    expect(messages.filter(({ role }) => role === 'assistant').map((m) => m['reasoning_content'])).toEqual([
      ' ',
      'why',
      undefined,
    ]);
  });
});

describe('tool choices a server doesn’t know', () => {
  const choices = (toolChoice: NonNullable<ModelRequest['toolChoice']>, known: OpenAIChatQuirks['toolChoices']): Body =>
    body(known === undefined ? {} : { toolChoices: known }, { tools, toolChoice });

  it.each(['required', { name: 'find' }] as const)('%j is left out', (choice) => {
    expect(choices(choice, ['none'])).not.toHaveProperty('tool_choice');
    expect(choices(choice, ['required', 'named'])).toHaveProperty('tool_choice');
  });

  it('none leaves out the tools themselves, so that it holds', () => {
    expect(choices('none', [])).not.toHaveProperty('tools');
    expect(choices('none', [])).not.toHaveProperty('tool_choice');
    expect(choices('none', ['none'])).toMatchObject({ tool_choice: 'none', tools: [{ type: 'function' }] });
  });
});

describe('what a server can’t be shown', () => {
  const message = user(
    { type: 'image', mediaType: 'image/png', data: 'AAAA' },
    { type: 'file', mediaType: 'image/png', data: 'AAAA' },
    { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: '/////w==' },
    { type: 'file', mediaType: 'audio/wav', name: 'a.wav', data: '/////w==' },
    { type: 'file', mediaType: 'text/csv', name: 'a.csv', data: btoa('a,b') },
  );
  const parts = (media: OpenAIChatQuirks['media']): readonly Record<string, unknown>[] => {
    const written = body(media === undefined ? {} : { media }, {}, [message]);
    expect(validateOpenAIChatRequest(written)).toEqual([]);
    return written.messages[0]?.['content'] as Record<string, unknown>[];
  };

  it('is named in its place, and text files are text', () => {
    expect(parts([]).map((part) => part['text'])).toEqual([
      '[An image of type image/png can not be shown to this model]',
      '[An image of type image/png can not be shown to this model]',
      '[The file a.pdf of type application/pdf can not be shown to this model]',
      '[The file a.wav of type audio/wav can not be shown to this model]',
      'a.csv:\na,b',
    ]);
    expect(parts(['image', 'audio']).map((part) => part['type'])).toEqual([
      'image_url',
      'image_url',
      'text',
      'input_audio',
      'text',
    ]);
  });
});

describe('fields of every request', () => {
  it('are sent, and give way to those of the request itself', () => {
    const extraFields = { tool_stream: true, seed: 1 };
    expect(body({ extraFields }, {})).toMatchObject(extraFields);
    expect(body({ extraFields }, { providerOptions: { seed: 2 } })).toMatchObject({ tool_stream: true, seed: 2 });
  });
});
