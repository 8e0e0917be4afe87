import { describe, expect, it } from 'vitest';
import { validateAnthropicRequest, validateOpenAIChatRequest } from '../index.ts';

const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const use = (id: string, name = 'add') => ({ type: 'tool_use', id, name, input: {} });
const result = (id: string, content: unknown = '4') => ({ type: 'tool_result', tool_use_id: id, content });

describe('validateAnthropicRequest', () => {
  const check = (messages: unknown[], over: object = {}) =>
    validateAnthropicRequest({ model: 'm', max_tokens: 10, messages, ...over });

  it('accepts a conversation with parallel calls, thinking, images and server tools', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    expect(
      check(
        [
          user([{ type: 'text', text: 'Look' }, image]),
          assistant([
            { type: 'thinking', thinking: '', signature: 's' },
            { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} },
            { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [] },
            use('a'),
            use('b'),
          ]),
          user([result('b'), result('a', [image]), { type: 'text', text: 'Go on' }]),
          assistant('Done'),
          user('Thanks'),
        ],
        { tools: [{ name: 'add', input_schema: { type: 'object' } }], tool_choice: { type: 'none' } },
      ),
    ).toEqual([]);
  });

  it.each<[string, unknown[], object, RegExp]>([
    ['no messages', [], {}, /at least one message/],
    ['an assistant first', [assistant('Hi'), user('Hi')], {}, /first message must use the user role/],
    ['two users in a row', [user('a'), user('b')], {}, /roles must alternate/],
    ['a system role', [{ role: 'system', content: 'x' }], {}, /must be user or assistant/],
    ['empty text', [user([{ type: 'text', text: '' }])], {}, /non-whitespace/],
    ['blank text', [user(' \n')], {}, /non-whitespace/],
    ['empty content', [user([])], {}, /non-empty content/],
    ['an unanswered call', [user('a'), assistant([use('x')])], {}, /x of the last message has no tool_result/],
    ['a call answered too late', [user('a'), assistant([use('x')]), user('b')], {}, /x of the message before/],
    [
      'a call answered twice',
      [user('a'), assistant([use('x')]), user([result('x'), result('x')])],
      {},
      /single result/,
    ],
    ['a result without a call', [user([result('x')])], {}, /unexpected tool_use_id x/],
    [
      'a result of an earlier message’s call',
      [user('a'), assistant([use('x')]), user([result('x')]), assistant('b'), user([result('x')])],
      {},
      /unexpected tool_use_id x/,
    ],
    [
      'two calls of one id',
      [user('a'), assistant([use('x')]), user([result('x')]), assistant([use('x')]), user([result('x')])],
      {},
      /ids must be unique/,
    ],
    [
      'a result after text',
      [user('a'), assistant([use('x')]), user([{ type: 'text', text: 'b' }, result('x')])],
      {},
      /come before/,
    ],
    ['an illegal id', [user('a'), assistant([use('x.1')]), user([result('x.1')])], {}, /must match/],
    ['an illegal name', [user('a'), assistant([use('x', 'a.b')]), user([result('x')])], {}, /name: must match/],
    ['thinking without signature', [user('a'), assistant([{ type: 'thinking', thinking: 'b' }])], {}, /signature/],
    ['trailing whitespace in a prefill', [user('a'), assistant('b ')], {}, /trailing whitespace/],
    ['no max_tokens', [user('a')], { max_tokens: undefined }, /max_tokens/],
    ['a temperature of 1.5', [user('a')], { temperature: 1.5 }, /temperature/],
    [
      'a tool’s long name',
      [user('a')],
      { tools: [{ name: 'a'.repeat(129), input_schema: { type: 'object' } }] },
      /128/,
    ],
    ['a tool without schema', [user('a')], { tools: [{ name: 'a' }] }, /input_schema/],
    [
      'two tools of one name',
      [user('a')],
      {
        tools: [
          { name: 'a', input_schema: { type: 'object' } },
          { name: 'a', input_schema: { type: 'object' } },
        ],
      },
      /tool names must be unique/,
    ],
    ['a choice without tools', [user('a')], { tool_choice: { type: 'none' } }, /only be given together with tools/],
    ['thinking beyond max_tokens', [user('a')], { thinking: { type: 'enabled', budget_tokens: 2000 } }, /max_tokens/],
    ['half a surrogate pair', [user('a\ud83d')], {}, /surrogate/],
    [
      'an error without words',
      [user('a'), assistant([use('x')]), user([{ ...result('x', ''), is_error: true }])],
      {},
      /is_error/,
    ],
  ])('refuses %s', (_, messages, over, expected) => {
    expect(check(messages, over).join('\n')).toMatch(expected);
  });
});

describe('validateOpenAIChatRequest', () => {
  const check = (messages: unknown[], over: object = {}) =>
    validateOpenAIChatRequest({ model: 'm', messages, ...over });
  const calls = (...ids: string[]) => ({
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'add', arguments: '{}' } })),
  });
  const tool = (id: string, content: unknown = '4') => ({ role: 'tool', tool_call_id: id, content });

  it('accepts a conversation with parallel calls and images', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    expect(
      check(
        [
          { role: 'system', content: 'Be brief.' },
          user([{ type: 'text', text: 'Look' }, image]),
          calls('a', 'b'),
          tool('b'),
          tool('a', ''),
          user('x'),
          user('y'),
          assistant('Done'),
        ],
        {
          tools: [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }],
          tool_choice: { type: 'function', function: { name: 'add' } },
          stream: true,
          stream_options: { include_usage: true },
        },
      ),
    ).toEqual([]);
  });

  it.each<[string, unknown[], object, RegExp]>([
    ['no messages', [], {}, /too short/],
    ['an unanswered call', [user('a'), calls('x')], {}, /tool call x must be followed/],
    [
      'an answer after something else',
      [user('a'), calls('x'), user('b'), tool('x')],
      {},
      /must be followed[^]*is none/,
    ],
    ['a call answered twice', [user('a'), calls('x'), tool('x'), tool('x')], {}, /answered twice/],
    ['an answer without a call', [user('a'), tool('x')], {}, /x is none/],
    ['two calls of one id', [user('a'), calls('x'), tool('x'), calls('x'), tool('x')], {}, /ids must be unique/],
    ['an empty list of calls', [user('a'), { role: 'assistant', content: 'b', tool_calls: [] }], {}, /too short/],
    ['an assistant that says nothing', [user('a'), assistant(null)], {}, /is required unless/],
    ['an empty part', [user([{ type: 'text', text: '' }])], {}, /non-whitespace/],
    ['empty text', [user('')], {}, /must not be empty/],
    ['no content', [{ role: 'user' }], {}, /is required/],
    ['a role named after a prototype’s field', [{ role: 'constructor', content: 'a' }], {}, /role/],
    ['no tools in a list', [user('a')], { tools: [] }, /too short/],
    ['a tool choice without tools', [user('a')], { tool_choice: 'none' }, /only allowed when tools/],
    [
      'a tool’s name of 65 characters',
      [user('a')],
      { tools: [{ type: 'function', function: { name: 'a'.repeat(65) } }] },
      /\{1,64\}/,
    ],
    [
      'arguments that are no object',
      [
        user('a'),
        {
          role: 'assistant',
          tool_calls: [{ id: 'x', type: 'function', function: { name: 'add', arguments: '[]' } }],
        },
        tool('x'),
      ],
      {},
      /JSON object/,
    ],
    ['both token limits', [user('a')], { max_tokens: 1, max_completion_tokens: 1 }, /together/],
    ['stream options without a stream', [user('a')], { stream_options: {} }, /stream is true/],
    ['half a surrogate pair', [user('\udc00')], {}, /surrogate/],
  ])('refuses %s', (_, messages, over, expected) => {
    expect(check(messages, over).join('\n')).toMatch(expected);
  });
});
