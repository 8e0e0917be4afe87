import { type JsonSchema, type ResponseFormat, TreadleError } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { validateAnthropicRequest } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { wireModel } from '../../model.ts';
import { bodyText } from '../../test-support/body.ts';
import { request, user } from '../../test-support/messages.ts';
import { answering, contractProblems, sse, utf8, type Reading } from '../../test-support/streams.ts';
import { anthropicMessages } from './protocol.ts';
import type { AnthropicQuirks } from './quirks.ts';
import { anthropicSchema } from './schema.ts';

const MODEL = 'claude-sonnet-4-5';
const CITY: JsonSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, population: { type: 'integer' } },
  required: ['city'],
};
const city: ResponseFormat = { type: 'json_schema', name: 'city', description: 'A city.', schema: CITY };
const tools = [{ name: 'search', description: '', inputSchema: { type: 'object' } }];

const body = (
  fields: Partial<ModelRequest>,
  modelId = MODEL,
  quirks: AnthropicQuirks = {},
): Record<string, unknown> => {
  const encode = anthropicMessages(quirks).createEncoder({ provider: 'own', modelId });
  const written = JSON.parse(bodyText(encode(request([user('Hi')], { cache: 'off', ...fields })).body)) as Record<
    string,
    unknown
  >;
  expect(validateAnthropicRequest(written)).toEqual([]);
  return written;
};

describe('the form of the reply', () => {
  it('is asked for by output_config, with objects closed', () => {
    const written = body({ responseFormat: city, tools, thinking: 'low' });
    expect(written['output_config']).toEqual({
      format: { type: 'json_schema', schema: { ...CITY, additionalProperties: false } },
    });
    expect(written).not.toHaveProperty('tool_choice');
    expect(written['tools']).toHaveLength(1);
    expect(written).toHaveProperty('thinking');
  });

  it('stays beside an output_config of the caller’s', () => {
    const written = body({ responseFormat: city, providerOptions: { output_config: { effort: 'low' } } });
    expect(written['output_config']).toMatchObject({ format: { type: 'json_schema' }, effort: 'low' });
  });

  it.each([
    ['claude-3-5-sonnet-20241022', 'tool'],
    ['claude-3-7-sonnet-latest', 'tool'],
    ['claude-opus-4-20250514', 'tool'],
    ['claude-sonnet-4-0', 'tool'],
    ['claude-opus-4-1-20250805', 'native'],
    ['claude-haiku-4-5', 'native'],
    ['claude-opus-5', 'native'],
    ['qwen3', 'tool'],
  ])('for %s is %s', (modelId, how) => {
    expect('output_config' in body({ responseFormat: city }, modelId)).toBe(how === 'native');
    expect('output_config' in body({ responseFormat: city }, modelId, { family: 'claude-sonnet-5' })).toBe(true);
    expect(
      'output_config' in
        body({ responseFormat: city }, modelId, { family: { keepsSchemas: false, forcedTool: 'always' } }),
    ).toBe(false);
  });

  it.each<[string, ResponseFormat]>([
    ['there is no schema', { type: 'json_object' }],
    [
      'the schema can’t be guaranteed',
      { type: 'json_schema', name: 'map', schema: { type: 'object', additionalProperties: { type: 'number' } } },
    ],
  ])('is a tool that must be called where %s', (_why, responseFormat) => {
    const written = body({ responseFormat, thinking: 'high' });
    const input_schema = responseFormat.type === 'json_schema' ? responseFormat.schema : { type: 'object' };
    expect(written['tools']).toMatchObject([{ name: 'json', input_schema }]);
    expect(written['tool_choice']).toEqual({ type: 'tool', name: 'json' });
    expect(written).not.toHaveProperty('thinking');
  });

  it('as a tool leaves the model the choice of the others, has a name of its own, and carries the cache mark', () => {
    const responseFormat: ResponseFormat = { type: 'json_object' };
    const named = [...tools, { name: 'json', description: '', inputSchema: { type: 'object' } }];
    const written = body({ responseFormat, tools: named, cache: 'auto' });
    expect(written['tools']).toMatchObject([{}, {}, { name: 'json_2', cache_control: { type: 'ephemeral' } }]);
    expect(written['tool_choice']).toEqual({ type: 'any' });
    expect(body({ responseFormat, tools, toolChoice: 'none' })['tool_choice']).toEqual({ type: 'tool', name: 'json' });
    expect(body({ responseFormat, tools, toolChoice: { name: 'search' } })['tool_choice']).toEqual({
      type: 'tool',
      name: 'search',
    });
  });

  it('as a tool can only be an object', () => {
    const list: ResponseFormat = { type: 'json_schema', name: 'l', schema: { type: 'array', items: {} } };
    expect(() => body({ responseFormat: list })).toThrow(TreadleError);
    expect(() => body({ responseFormat: list })).toThrow(/type "object"/);
  });
});

describe('a schema', () => {
  it('loses the checks the API refuses, which are told in words', () => {
    const schema = {
      type: 'object',
      properties: {
        age: { type: 'integer', minimum: 0, description: 'In years.' },
        mail: { type: 'string', format: 'email' },
        color: { type: 'string', format: 'color' },
        tags: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3 },
      },
      additionalProperties: true,
    };
    expect(anthropicSchema(schema)).toEqual({
      type: 'object',
      properties: {
        age: { type: 'integer', description: 'In years. (minimum: 0)' },
        mail: { type: 'string', format: 'email' },
        color: { type: 'string', description: '(format: "color")' },
        tags: { type: 'array', items: { type: 'string' }, minItems: 1, description: '(maxItems: 3)' },
      },
      additionalProperties: false,
    });
  });

  it('says alternatives as anyOf, and keeps local references', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: ['string', 'null'] },
        b: { oneOf: [{ const: 1 }, { $ref: '#/$defs/b' }] },
        c: { type: 'string', nullable: true },
        d: { type: ['string', 'null'], enum: ['x', null] },
      },
      $defs: { b: { type: 'object', properties: {}, additionalProperties: false } },
    };
    expect(anthropicSchema(schema)).toEqual({
      type: 'object',
      properties: {
        a: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        b: { anyOf: [{ const: 1 }, { $ref: '#/$defs/b' }] },
        c: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        d: { enum: ['x', null] },
      },
      additionalProperties: false,
      $defs: { b: { type: 'object', properties: {}, additionalProperties: false } },
    });
  });

  it.each<[string, JsonSchema]>([
    ['anything', {}],
    ['a map', { type: 'object', additionalProperties: { type: 'string' } }],
    ['an open object without properties', { type: 'object' }],
    ['a condition', { type: 'object', properties: {}, if: {}, additionalProperties: false }],
    ['itself', { type: 'object', properties: { more: { $ref: '#' } } }],
    [
      'a definition inside itself',
      {
        type: 'object',
        properties: { tree: { $ref: '#/$defs/tree' } },
        $defs: { tree: { type: 'object', properties: { left: { $ref: '#/$defs/tree' } } } },
      },
    ],
    ['a reference to elsewhere', { type: 'object', properties: { a: { $ref: 'https://example.com/a' } } }],
  ])('of %s can’t be guaranteed', (_what, schema) => {
    expect(anthropicSchema(schema)).toBeUndefined();
  });
});

interface WireBlock {
  readonly type: 'text' | 'tool_use';
  readonly name?: string;
  readonly pieces: readonly string[];
}

const messageOf = (blocks: readonly WireBlock[], stop: string): string =>
  sse(
    { type: 'message_start', message: { id: 'msg_1', model: MODEL, usage: { input_tokens: 1 } } },
    ...blocks.flatMap(({ type, name, pieces }, index) => [
      {
        type: 'content_block_start',
        index,
        content_block: type === 'text' ? { type, text: '' } : { type, id: `toolu_${index}`, name, input: {} },
      },
      ...pieces.map((piece) => ({
        type: 'content_block_delta',
        index,
        delta:
          type === 'text' ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece },
      })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  );

async function read(stream: string, responseFormat?: ResponseFormat): Promise<Pick<Reading, 'events'>> {
  const model = wireModel({
    protocol: anthropicMessages({ family: { keepsSchemas: false, forcedTool: 'always' } }),
    provider: 'own',
    modelId: MODEL,
    baseUrl: 'http://localhost',
    headers: {},
    http: answering([utf8(stream)]),
  });
  const fields = { tools, ...(responseFormat === undefined ? {} : { responseFormat }) };
  const events: Reading['events'][number][] = [];
  for await (const event of model.stream(request([user('Hi')], fields), new AbortController().signal)) {
    events.push(event);
  }
  expect(contractProblems(events)).toEqual([]);
  return { events };
}

const shown = ({ events }: Pick<Reading, 'events'>): { text: string; blocks: unknown[]; stop: unknown } => ({
  text: events.map((event) => (event.type === 'text_delta' ? event.text : '')).join(''),
  blocks: events.flatMap((event) => (event.type === 'block_end' ? [event.block] : [])),
  stop: events.flatMap((event) => (event.type === 'finish' ? [event.stopReason] : []))[0],
});

const REPLY: WireBlock = { type: 'tool_use', name: 'json', pieces: ['', '{"city": "Os', 'lo"}'] };
const PROSE: WireBlock = { type: 'text', pieces: ['I shall ', 'answer.'] };

describe('a reply that comes as a tool call', () => {
  it('is text, and the end of the turn', async () => {
    expect(shown(await read(messageOf([REPLY], 'tool_use'), city))).toEqual({
      text: '{"city": "Oslo"}',
      blocks: [{ type: 'text', text: '{"city": "Oslo"}' }],
      stop: 'stop',
    });
  });

  it('is without the prose around it', async () => {
    const { text, blocks } = shown(await read(messageOf([PROSE, REPLY, PROSE], 'tool_use'), city));
    expect(text).toBe('{"city": "Oslo"}');
    expect(blocks).toEqual([{ type: 'text', text: '{"city": "Oslo"}' }]);
  });

  it('that doesn’t come leaves the prose', async () => {
    const { text, stop } = shown(await read(messageOf([PROSE], 'max_tokens'), city));
    expect([text, stop]).toEqual(['I shall answer.', 'length']);
    const broken = messageOf([PROSE], 'x').replace(/data: \{"type":"message_delta".*/s, 'data: nonsense\n\n');
    expect(shown(await read(broken, city)).text).toBe('I shall answer.');
  });

  it('is awaited while the model calls other tools', async () => {
    const search: WireBlock = { type: 'tool_use', name: 'search', pieces: ['{}'] };
    const { text, blocks, stop } = shown(await read(messageOf([PROSE, search], 'tool_use'), city));
    expect([text, stop]).toEqual(['I shall answer.', 'tool_use']);
    expect(blocks).toMatchObject([{ type: 'text' }, { type: 'tool_call', name: 'search' }]);
  });

  it('is an ordinary call where no form was asked for', async () => {
    const { text, blocks, stop } = shown(await read(messageOf([REPLY], 'tool_use')));
    expect([text, stop]).toEqual(['', 'tool_use']);
    expect(blocks).toMatchObject([{ type: 'tool_call', name: 'json', argumentsText: '{"city": "Oslo"}' }]);
  });
});
