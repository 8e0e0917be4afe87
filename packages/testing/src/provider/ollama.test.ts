import type { JsonObject } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { fakeProvider, validateOllamaRequest, type FakeProvider } from '../index.ts';

const BODY = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };

const ask = (provider: FakeProvider, over: object = {}): Promise<Response> =>
  fetch(`${provider.ollamaBaseUrl}/api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...BODY, ...over }),
  });

const linesOf = async (response: Response): Promise<JsonObject[]> =>
  (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject);

describe('fakeProvider speaking Ollama', () => {
  it('streams a turn in lines, with calls in one piece, unless it is told not to', async () => {
    const turn = { thinking: 'Hm', text: 'Hi', toolCalls: [{ name: 'add', arguments: { a: 1 }, providerCallId: '' }] };
    await using provider = await fakeProvider([turn, turn]);
    const response = await ask(provider);
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const call = { function: { name: 'add', arguments: { a: 1 } } };
    expect(await linesOf(response)).toMatchObject([
      { model: 'm', message: { role: 'assistant', thinking: 'Hm' }, done: false },
      { message: { content: 'Hi' }, done: false },
      { message: { tool_calls: [call] }, done: false },
      { done: true, done_reason: 'stop', prompt_eval_count: 10, eval_count: 5 },
    ]);
    expect(await (await ask(provider, { stream: false })).json()).toMatchObject({
      message: { content: 'Hi', thinking: 'Hm', tool_calls: [call] },
      done: true,
    });
  });

  it('fails before and in the middle in its own words', async () => {
    const failure = { message: 'runner stopped', status: 500 };
    await using provider = await fakeProvider([
      { text: 'Hello', error: { ...failure, afterDeltas: 1 } },
      { error: failure },
    ]);
    expect((await linesOf(await ask(provider))).at(-1)).toEqual({ error: 'runner stopped' });
    const refused = await ask(provider);
    expect([refused.status, await refused.json()]).toEqual([500, { error: 'runner stopped' }]);
  });
});

describe('validateOllamaRequest', () => {
  const hi = { role: 'user', content: 'Hi' };
  const call = (id: string, args: unknown = {}): JsonObject =>
    ({ id, function: { name: 'add', arguments: args } }) as JsonObject;
  const calling = (...calls: JsonObject[]): JsonObject => ({ role: 'assistant', content: '', tool_calls: calls });
  const answer = (fields: JsonObject): JsonObject => ({ role: 'tool', content: '3', ...fields });

  it.each<[string, JsonObject[]]>([
    ['ids', [hi, calling(call('a'), call('b')), answer({ tool_call_id: 'b' }), answer({ tool_call_id: 'a' })]],
    ['names', [hi, calling(call('a'), call('b')), answer({ tool_name: 'add' }), answer({ tool_name: 'add' })]],
  ])('accepts calls answered by %s', (_name, messages) => {
    const think = 'low';
    expect(validateOllamaRequest({ model: 'm', messages, think, options: { num_ctx: 1, stop: ['x'] } })).toEqual([]);
  });

  it.each<[string, JsonObject, RegExp]>([
    ['no model', { model: '' }, /model: is required/],
    ['an unknown role', { messages: [{ role: 'developer', content: 'x' }] }, /must be one of/],
    ['content that is no text', { messages: [{ role: 'user', content: [{ text: 'x' }] }] }, /must be a string/],
    [
      'arguments as text',
      { messages: [hi, calling(call('a', '{}')), answer({ tool_call_id: 'a' })] },
      /arguments: must be/,
    ],
    ['an unanswered call', { messages: [hi, calling(call('a')), hi] }, /no tool message/],
    ['an unanswered last call', { messages: [hi, calling(call('a'))] }, /no tool message/],
    ['an answer to nothing', { messages: [hi, answer({ tool_name: 'add' })] }, /answers a call/],
    [
      'another tool’s name',
      { messages: [hi, calling(call('a')), answer({ tool_call_id: 'a', tool_name: 'x' })] },
      /name of/,
    ],
    ['images that are addresses', { messages: [{ ...hi, images: ['https://a.example'] }] }, /base64/],
    ['a level of thinking', { think: 'minimal' }, /think/],
    ['options of another type', { options: { num_predict: '5' } }, /number/],
  ])('refuses %s', (_name, over, problem) => {
    expect(validateOllamaRequest({ ...BODY, ...over }).join('\n')).toMatch(problem);
  });
});
