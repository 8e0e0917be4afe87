import { createSession, defineAgent, defineTool, type Http, type JsonObject, type Model } from '@treadle/core';
import { fakeProvider } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { nodeHttp } from '../http/node-http.ts';
import { REQUEST } from '../test-support/streams.ts';
import { resolveModel } from '../deployments.ts';
import { ollama } from './ollama.ts';

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  execute: ({ a, b }) => String(Number(a) + Number(b)),
});

describe('a conversation with Ollama', () => {
  it.each([['events'], [1], [11]] as const)('calls several tools, in writes of %s', async (chunking) => {
    const toolCalls = [
      { name: 'add', arguments: { a: 1, b: 2 }, providerCallId: '' },
      { name: 'add', arguments: { a: 3, b: 4 }, providerCallId: '' },
    ];
    await using provider = await fakeProvider([{ thinking: 'Both.', text: 'Ok 🦊', toolCalls }, 'Three and seven.'], {
      chunking,
    });
    const model = ollama('qwen3', { baseUrl: provider.ollamaBaseUrl, http: nodeHttp(), env: {} });
    const session = await createSession(defineAgent({ model, tools: [add] }));
    const result = await session.prompt('Add.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Three and seven.' });
    expect(provider.requests.map(({ path, headers }) => [path, headers['authorization']])).toEqual([
      ['/api/chat', undefined],
      ['/api/chat', undefined],
    ]);
    const body = provider.requests[1]?.body as unknown as { messages: JsonObject[] } | undefined;
    const messages = body?.messages ?? [];
    const calls = (messages[1]?.['tool_calls'] ?? []) as unknown as readonly { id: string }[];
    const ids = calls.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    expect(messages.slice(1)).toMatchObject([
      { role: 'assistant', content: 'Ok 🦊', thinking: 'Both.' },
      { role: 'tool', tool_name: 'add', tool_call_id: ids[0], content: '3' },
      { role: 'tool', tool_name: 'add', tool_call_id: ids[1], content: '7' },
    ]);
  });

  it('fails when the stream ends before it is done', async () => {
    await using provider = await fakeProvider([{ text: 'Never whole', unfinished: true }]);
    const model = ollama('qwen3', { baseUrl: provider.ollamaBaseUrl, http: nodeHttp(), env: {} });
    const session = await createSession(defineAgent({ model, retry: { maxRetries: 0 } }));
    expect(await session.prompt('Go.').result).toMatchObject({ status: 'model_error', error: { kind: 'network' } });
  });
});

describe('the address', () => {
  async function urlOf(create: (http: Http) => Model): Promise<string> {
    let url = '';
    const model = create((request) => {
      url = request.url;
      return Promise.reject(new Error('nobody is there'));
    });
    for await (const event of model.stream(REQUEST, new AbortController().signal)) expect(event.type).toBe('error');
    return url;
  }

  it.each([
    [undefined, 'http://localhost:11434/api/chat'],
    ['gpu-box', 'http://gpu-box:11434/api/chat'],
    ['gpu-box:8080', 'http://gpu-box:8080/api/chat'],
    [':8080', 'http://localhost:8080/api/chat'],
    ['0.0.0.0', 'http://localhost:11434/api/chat'],
    ['0.0.0.0:80', 'http://localhost/api/chat'],
    ['[::1]:9000', 'http://[::1]:9000/api/chat'],
    ['http://gpu-box', 'http://gpu-box/api/chat'],
    ['https://ollama.example/', 'https://ollama.example/api/chat'],
    ['http://localhost:11434/v1', 'http://localhost:11434/api/chat'],
    ['http://localhost:11434/api', 'http://localhost:11434/api/chat'],
    ['https://proxy.example/ollama', 'https://proxy.example/ollama/api/chat'],
  ])('of OLLAMA_HOST=%s is %s', async (host, expected) => {
    const env = host === undefined ? {} : { OLLAMA_HOST: host };
    expect(await urlOf((http) => resolveModel('ollama/qwen3:8b', { env, http }))).toBe(expected);
  });

  it('of OLLAMA_BASE_URL comes before that of OLLAMA_HOST, and the option before both', async () => {
    const env = { OLLAMA_HOST: 'one', OLLAMA_BASE_URL: 'http://two:1' };
    expect(await urlOf((http) => ollama('m', { env, http }))).toBe('http://two:1/api/chat');
    expect(await urlOf((http) => ollama('m', { env, http, baseUrl: 'http://three:1' }))).toBe(
      'http://three:1/api/chat',
    );
  });

  it('that is none is refused', () => {
    expect(() => ollama('m', { env: { OLLAMA_HOST: 'http://[' } })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }),
    );
  });
});

it('sends a key that is in the environment', async () => {
  await using provider = await fakeProvider(['Hi.'], { apiKey: 'ollama-key-1' });
  const env = { OLLAMA_API_KEY: 'ollama-key-1', OLLAMA_BASE_URL: provider.ollamaBaseUrl };
  const session = await createSession(defineAgent({ model: ollama('m', { env, http: nodeHttp() }) }));
  expect((await session.prompt('Go.').result).text).toBe('Hi.');
});
