import { describe, expect, it } from 'vitest';
import { checkMessages } from './check.ts';

const fill = () => {
  let n = 0;
  return { at: 7, id: () => `id_${++n}` };
};

const check = (value: unknown) => checkMessages(value, fill());

describe('messages from outside', () => {
  it('may have a text as their content, and lack what only a session knows', () => {
    expect(check([{ role: 'user', content: 'Hello' }])).toEqual([
      { role: 'user', id: 'id_1', at: 7, origin: 'import', content: [{ type: 'text', text: 'Hello' }] },
    ]);
  });

  it('keep what they have', () => {
    const message = {
      role: 'assistant',
      id: 'm1',
      at: 3,
      provider: 'anthropic',
      model: 'x',
      stopReason: 'stop',
      usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: null },
      cost: 0.5,
      content: [{ type: 'thinking', text: 'Hm', signature: 'abc' }],
    };
    expect(check([message])).toEqual([message]);
  });

  it('get an answer for every call that has none, in call order, right after the message', () => {
    const call = (callId: string) => ({ type: 'tool_call', callId, name: 'look', arguments: {} });
    const messages = check([
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'user', content: 'Well?' },
      { role: 'tool', callId: 'b', toolName: 'look', content: 'seen' },
    ]);
    expect(
      messages.map((message) => (message.role === 'tool' ? [message.callId, message.isError] : message.role)),
    ).toEqual(['assistant', ['a', true], ['b', false], 'user']);
  });

  it('with a call id that comes twice get a new one, each with its own result', () => {
    const call = { type: 'tool_call', callId: 'a', name: 'look', arguments: {} };
    const result = (content: string) => ({ role: 'tool', callId: 'a', toolName: 'look', content });
    const messages = check([
      { role: 'assistant', content: [call, call] },
      result('one'),
      result('two'),
      { role: 'assistant', content: [call] },
      result('three'),
    ]);
    const texts = messages.flatMap((message) => (message.role === 'tool' ? [message.content[0]] : []));
    expect(texts).toMatchObject([{ text: 'one' }, { text: 'two' }, { text: 'three' }]);
    const ids = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []));
    expect(new Set(ids).size).toBe(3);
  });

  it('lose what is no stop reason, usage or cost', () => {
    const odd = { role: 'assistant', content: 'Hi', stopReason: 'because', usage: { input: 'many' }, cost: 'much' };
    expect(check([odd])).toMatchObject([{ stopReason: 'other', usage: { input: null, output: null }, cost: null }]);
  });

  it('lose results that answer no call', () => {
    expect(check([{ role: 'tool', callId: 'x', toolName: 'look', content: 'seen' }])).toEqual([]);
  });

  it.each([
    ['no array', {}, 'messages must be'],
    ['no object', [3], 'messages[0] must be'],
    ['no role', [{ content: '' }], 'messages[0].role'],
    ['no content', [{ role: 'user' }], 'messages[0].content'],
    ['a block of the wrong role', [{ role: 'user', content: [{ type: 'tool_call' }] }], 'messages[0].content[0].type'],
    ['a block without its field', [{ role: 'user', content: [{ type: 'text' }] }], 'messages[0].content[0].text'],
    [
      'a call without arguments',
      [{ role: 'assistant', content: [{ type: 'tool_call', callId: 'a', name: 'b' }] }],
      '.arguments',
    ],
    ['a result without its call', [{ role: 'tool', toolName: 'b', content: '' }], 'messages[0].callId'],
    ['an image from nowhere', [{ role: 'user', content: [{ type: 'image', mediaType: 'a/b' }] }], 'data, url'],
    ['an extension without its kind', [{ role: 'extension' }], 'messages[0].kind'],
  ])('with %s are refused, naming the place', (_, value, words) => {
    expect(() => check(value)).toThrow(
      expect.objectContaining({ code: 'invalid_messages', message: expect.stringContaining(words) as string }),
    );
  });
});
