import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Http } from '@treadle/core';
import { http as handle, HttpResponse } from 'msw';
import { setupServer } from 'msw/node';
import nock from 'nock';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { anthropic } from '../deployments/anthropic.ts';
import { openai } from '../deployments/openai.ts';
import { serve } from '../test-support/servers.ts';
import { REQUEST, sse } from '../test-support/streams.ts';
import { fetchHttp } from './fetch-http.ts';
import { nodeHttp } from './node-http.ts';
import { undiciHttp } from './undici-http.ts';

// A test suite that mocks HTTP, and an agent that traces it, must see the requests of models that they know nothing of.

const ANSWER = sse({ choices: [{ index: 0, delta: { content: 'Mocked.' }, finish_reason: 'stop' }] }, '[DONE]');
const HEADERS = { 'content-type': 'text/event-stream' };

const answerOf = async (http?: Http): Promise<string> => {
  const model = openai('gpt-5', { apiKey: 'sk-test', env: {}, ...(http === undefined ? {} : { http }) });
  let text = '';
  for await (const event of model.stream(REQUEST, new AbortController().signal)) {
    if (event.type === 'error') throw new Error(event.error.message);
    if (event.type === 'text_delta') text += event.text;
  }
  return text;
};

// Its import alone puts it between Node and every socket, also for the test files that share this process.
nock.restore();

afterEach(() => vi.unstubAllGlobals());

describe('msw', () => {
  it.each<[string, Http | undefined]>([
    ['a model’s default transport', undefined],
    ['nodeHttp', nodeHttp({ env: {} })],
    ['fetchHttp', fetchHttp()],
  ])('answers the requests of %s', async (_, http) => {
    const seen: (string | null)[] = [];
    const server = setupServer(
      handle.post('https://api.openai.com/v1/chat/completions', ({ request }) => {
        seen.push(request.headers.get('authorization'));
        return new HttpResponse(ANSWER, { headers: HEADERS });
      }),
    );
    server.listen({ onUnhandledRequest: 'error' });
    try {
      expect(await answerOf(http)).toBe('Mocked.');
      expect(seen).toEqual(['Bearer sk-test']);
    } finally {
      server.close();
    }
  });
});

describe('nock', () => {
  it.each<[string, Http | undefined]>([
    ['a model’s default transport', undefined],
    ['nodeHttp', nodeHttp({ env: {} })],
    ['fetchHttp', fetchHttp()],
  ])('answers the requests of %s', async (_, http) => {
    nock.activate();
    try {
      const scope = nock('https://api.openai.com').post('/v1/chat/completions').reply(200, ANSWER, HEADERS);
      expect(await answerOf(http)).toBe('Mocked.');
      expect(scope.isDone()).toBe(true);
    } finally {
      nock.cleanAll();
      nock.restore();
    }
  });
});

describe('a tracing agent', () => {
  it.each<[string, string, Http]>([
    ['nodeHttp', 'http.client.request.start', nodeHttp({ env: {} })],
    ['fetchHttp', 'undici:request:create', fetchHttp()],
    ['undiciHttp', 'undici:request:create', undiciHttp({ env: {} })],
  ])('sees the requests of %s on the channel %s', async (_, channel, http) => {
    await using server = await serve((_request, response) => response.end('x'));
    const seen: unknown[] = [];
    const note = (message: unknown): void => void seen.push(message);
    subscribe(channel, note);
    try {
      const { body } = await http({ method: 'GET', url: server.url, headers: {} });
      for await (const chunk of body) expect(chunk.length).toBe(1);
    } finally {
      unsubscribe(channel, note);
    }
    expect(seen).toHaveLength(1);
  });
});

describe('undici’s MockAgent', () => {
  it('answers the requests of undiciHttp, which leaves it open', async () => {
    const { MockAgent } = await import('undici');
    const agent = new MockAgent();
    agent.disableNetConnect();
    const reply = agent.get('https://api.openai.com').intercept({ method: 'POST', path: '/v1/chat/completions' });
    reply.reply(200, ANSWER, { headers: HEADERS }).times(2);
    const http = undiciHttp({ dispatcher: agent });
    expect(await answerOf(http)).toBe('Mocked.');
    await expect(http({ method: 'GET', url: 'https://api.openai.com/else', headers: {} })).rejects.toThrow();
    expect(await answerOf(http)).toBe('Mocked.');
    await agent.close();
  });
});

describe('a model without a transport', () => {
  it('takes fetch in workerd, which has Node’s modules too', async () => {
    const asked: string[] = [];
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
    vi.stubGlobal('fetch', async (url: string) => {
      asked.push(url);
      return new Response(ANSWER, { headers: HEADERS });
    });
    expect(await answerOf()).toBe('Mocked.');
    expect(asked).toEqual(['https://api.openai.com/v1/chat/completions']);
  });

  it('takes fetch where there is no Node', async () => {
    vi.stubGlobal('process', undefined);
    vi.stubGlobal(
      'fetch',
      async () => new Response('{"type":"error","error":{"message":"by fetch"}}', { status: 400 }),
    );
    const model = anthropic('claude-sonnet-4-5', { apiKey: 'k', env: {} });
    const events = [];
    for await (const event of model.stream(REQUEST, new AbortController().signal)) events.push(event);
    expect(events).toMatchObject([{ type: 'error', error: { message: 'by fetch' } }]);
  });
});
