import { describe, expect, it } from 'vitest';
import { validateOpenAIResponsesRequest } from './responses.ts';

const user = { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] };
const call = (fields: object = {}): object => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'look',
  arguments: '{}',
  ...fields,
});
const output = (fields: object = {}): object => ({
  type: 'function_call_output',
  call_id: 'call_1',
  output: 'fine',
  ...fields,
});
const reasoning = (fields: object = {}): object => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [],
  encrypted_content: 'gAAA',
  ...fields,
});
const said = { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] };
const tool = (fields: object = {}): object => ({
  type: 'function',
  name: 'look',
  parameters: { type: 'object', properties: { a: { type: 'string' } } },
  strict: false,
  ...fields,
});

const validate = (fields: object): string[] =>
  validateOpenAIResponsesRequest({ model: 'm', store: false, input: [user], ...fields });
const input = (...items: readonly object[]): string[] => validate({ input: [user, ...items] });

describe('a valid request', () => {
  it.each<[string, object]>([
    ['a text', { input: 'Hi' }],
    ['a conversation', { input: [user, reasoning(), call(), output(), reasoning({ id: 'rs_2' }), said, user] }],
    [
      'a result with an image',
      { input: [user, call(), output({ output: [{ type: 'input_image', image_url: 'data:image/png;base64,aa' }] })] },
    ],
    ['a plain assistant text', { input: [user, { role: 'assistant', content: 'Hello' }, user] }],
    [
      'a custom call',
      {
        input: [
          user,
          { type: 'custom_tool_call', call_id: 'c', name: 'x', input: 'y' },
          { type: 'custom_tool_call_output', call_id: 'c', output: 'z' },
        ],
      },
    ],
    ['items of the service', { input: [user, { type: 'web_search_call', id: 'ws_1', status: 'completed' }, said] }],
    ['tools', { tools: [tool(), { type: 'web_search' }], tool_choice: { type: 'function', name: 'look' } }],
    [
      'a strict tool',
      {
        tools: [
          tool({
            strict: true,
            parameters: {
              type: 'object',
              properties: { a: { type: ['string', 'null'] } },
              required: ['a'],
              additionalProperties: false,
            },
          }),
        ],
      },
    ],
    [
      'everything else',
      {
        instructions: 'Be.',
        reasoning: { effort: 'low', summary: 'auto' },
        max_output_tokens: 16,
        temperature: 1,
        prompt_cache_key: 'k',
        include: ['reasoning.encrypted_content'],
      },
    ],
    [
      'reasoning by id, where it is stored',
      { store: true, input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }, said] },
    ],
  ])('is %s', (_name, fields) => {
    expect(validate(fields)).toEqual([]);
  });
});

describe('a refused request', () => {
  it.each<[string, object, RegExp]>([
    ['a field of another wire', { stop: ['x'] }, /^stop: Unknown parameter/],
    ['no model', { model: '' }, /model: must be/],
    ['too few tokens', { max_output_tokens: 15 }, /max_output_tokens/],
    ['too hot', { temperature: 3 }, /temperature/],
    ['a long cache key', { prompt_cache_key: 'x'.repeat(65) }, /prompt_cache_key/],
    ['an unknown effort', { reasoning: { effort: 'huge' } }, /reasoning\.effort/],
    ['instructions as a list', { instructions: [] }, /instructions/],
    ['no input', { input: [] }, /input: must have/],
    ['half a character', { instructions: '\ud83d' }, /surrogate/],
    ['a nested function', { tools: [{ type: 'function', function: { name: 'look' } }] }, /function: Unknown parameter/],
    ['a tool that is strict by silence', { tools: [tool({ strict: undefined })] }, /additionalProperties/],
    [
      'a strict tool with a default',
      {
        tools: [
          tool({
            strict: true,
            parameters: {
              type: 'object',
              properties: { a: { type: 'string', default: '' } },
              required: ['a'],
              additionalProperties: false,
            },
          }),
        ],
      },
      /'default' is not permitted/,
    ],
    ['a choice of no tool', { tools: [tool()], tool_choice: { type: 'function', name: 'other' } }, /tool_choice/],
    ['two tools of a name', { tools: [tool(), tool()] }, /tool names must be unique/],
  ])('has %s', (_name, fields, problem) => {
    expect(validate(fields).join('\n')).toMatch(problem);
  });

  it.each<[string, object[], RegExp]>([
    ['a role that isn’t', [{ role: 'tool', content: 'x' }], /role: must be/],
    ['a part of another wire', [{ role: 'user', content: [{ type: 'text', text: 'x' }] }], /Invalid value: text/],
    ['an unknown item', [{ type: 'tool_result' }], /Invalid value: 'tool_result'/],
    ['a call without a result', [call()], /No tool output found for the call call_1/],
    ['a result without a call', [output()], /No call found/],
    ['a result of the wrong kind', [call(), output({ type: 'custom_tool_call_output' })], /No call found/],
    ['two results', [call(), output(), output()], /No call found/],
    ['a call id twice', [call(), output(), call({ id: 'fc_2' }), output()], /call ids must be unique/],
    ['a long call id', [call({ call_id: 'x'.repeat(65) })], /call_id: must have 1 to 64/],
    ['an item id twice', [said, said], /item ids must be unique/],
    ['a call’s id as an item’s', [call({ id: 'call_1' }), output()], /begins with 'fc'/],
    ['arguments that are no object', [call({ arguments: '{"a"' }), output()], /arguments: must be/],
    ['a name with a space', [call({ name: 'a b' }), output()], /name: must match/],
    ['reasoning that leads to nothing', [reasoning()], /without its required following item/],
    ['reasoning before the user', [reasoning(), user], /without its required following item/],
    ['reasoning nobody kept', [reasoning({ encrypted_content: undefined }), said], /not persisted/],
    ['reasoning with a status', [reasoning({ status: 'completed' }), said], /status: Unknown parameter/],
    [
      'a picture with its making',
      [{ type: 'image_generation_call', id: 'ig_1', result: 'aa', size: '1x1' }],
      /size: Unknown parameter/,
    ],
    ['a shell call without output', [{ type: 'shell_call', call_id: 'c', action: {} }], /No tool output found/],
    ['a file of nothing', [{ role: 'user', content: [{ type: 'input_file' }] }], /a file needs/],
    ['an image of nothing', [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }], /an image is/],
  ])('has %s', (_name, items, problem) => {
    expect(input(...items).join('\n')).toMatch(problem);
  });

  it('may be anything at all', () => {
    expect(validateOpenAIResponsesRequest(null)).toEqual(['The body must be a JSON object.']);
    expect(validate({ input: [1, null] }).join('\n')).toMatch(/input\.0: must be an object/);
  });
});
