import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { defineAgent, defineTool, memoryJournal } from '@treadle/core';
import { scriptedModel } from '@treadle/testing';
import { Hono } from 'hono';
import { mount } from 'hono/mount';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { agUiResponse, aiSdkResponse, createServer, nodeHandler, serve, type AgentServer } from '../index.ts';
import { startServer } from '../test-support/server.ts';

const tokens = [{ name: 'me', token: 'a-token-of-my-own' }];
const headers = { authorization: 'Bearer a-token-of-my-own', 'content-type': 'application/json' };
const post = (body: object) => ({ method: 'POST', headers, body: JSON.stringify(body) });

const serverAt = (basePath?: string): AgentServer =>
  createServer({
    agents: [defineAgent({ model: scriptedModel(['Hello.']) })],
    journal: memoryJournal(),
    tokens,
    ...(basePath !== undefined && { basePath }),
  });

async function listening(handler: RequestListener): Promise<string> {
  const http = createHttpServer(handler).listen(0, '127.0.0.1');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  await once(http, 'listening');
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

describe('a server in an application', () => {
  it('serves below its base path, WebSockets too', async () => {
    const origin = 'https://app.example';
    const options = { basePath: '/api/agents', origins: { origins: [origin] } };
    const server = await startServer({ model: scriptedModel(['Hello.']) }, options);
    expect((await server.call('POST', '/api/agents/v1/sessions', { id: 's1' })).status).toBe(201);
    expect((await server.call('POST', '/v1/sessions', { id: 's2' })).status).toBe(404);
    expect(await server.json('GET', '/api/agents/openapi.json')).toMatchObject({ servers: [{ url: '/api/agents' }] });
    const token = `treadle.token.${Buffer.from(server.bearer).toString('base64url')}`;
    const url = `${server.url.replace('http', 'ws')}/api/agents/v1/sessions/s1/stream`;
    // Of a program, and of a page of an allowed origin.
    for (const headers of [{}, { origin }]) {
      const socket = new WebSocket(url, ['treadle.v1', token], { headers });
      const [data] = (await once(socket, 'message')) as [Buffer];
      expect(data.toString()).toContain('session_created');
      socket.close();
    }
  });

  it.each(['api', '/api/', '/a b', '//'])('refuses the base path %s', (basePath) => {
    expect(() => serverAt(basePath)).toThrow('basePath must look like');
  });

  it('is a handler of Node’s requests, before and after a body parser', async () => {
    const { handle, bodies } = { handle: nodeHandler(serverAt('/api/agents')), bodies: [true, false] };
    for (const isParsed of bodies) {
      const url = await listening((request: IncomingMessage & { body?: unknown }, response) => {
        const next = () => response.writeHead(418).end();
        if (!isParsed || request.method !== 'POST') return handle(request, response, next);
        return void json(request).then((body) => handle(Object.assign(request, { body }), response, next));
      });
      const id = `session-${String(isParsed)}`;
      const made = await fetch(`${url}/api/agents/v1/sessions`, post({ id }));
      expect(await made.json()).toMatchObject({ sessionId: id });
      const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }];
      const chat = await fetch(`${url}/api/agents/v1/ai-sdk/chat`, post({ id: `chat-${String(isParsed)}`, messages }));
      expect(chat.headers.get('content-type')).toBe('text/event-stream');
      await chat.body?.cancel();
      expect((await fetch(`${url}/elsewhere`)).status).toBe(418);
    }
  });

  it('says so when something has read the body and kept nothing', async () => {
    const server = serverAt();
    const handle = nodeHandler(server);
    const url = await listening((request, response) => void json(request).then(() => handle(request, response)));
    const answer = await fetch(`${url}/v1/sessions`, post({ id: 's1' }));
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'bad_request' }]);
    const request = new Request('http://localhost/v1/sessions', post({ id: 's1' }));
    await request.text();
    expect(await (await server.fetch(request)).json()).toMatchObject({
      detail: expect.stringContaining('has read the body') as unknown,
    });
  });

  it('serves in a route handler that speaks fetch, and mounted in Hono', async () => {
    const { fetch: GET } = serverAt('/api/agents');
    const request = (path: string) => new Request(`http://localhost${path}`, { headers });
    expect((await GET(request('/api/agents/v1/sessions'))).status).toBe(200);
    const app = new Hono().all('/api/agents/*', mount(serverAt().fetch));
    expect((await app.fetch(request('/api/agents/v1/sessions'))).status).toBe(200);
  });
});

describe('who may use a server', () => {
  it('is what the application’s own login says', async () => {
    const authenticate = ({ headers: sent }: { readonly headers: Headers }) =>
      sent.get('cookie') === 'login=ann' ? { name: 'ann', sessions: ['ann-*'] } : null;
    const server = await startServer({ model: scriptedModel(['Hi.']) }, { authenticate });
    expect(server.token).toBe(null);
    expect((await server.call('GET', '/v1/sessions', undefined, { cookie: 'login=ann' })).status).toBe(200);
    expect((await server.call('GET', '/v1/sessions')).status).toBe(401);
  });

  it('must be said', async () => {
    const agents = [defineAgent({ model: scriptedModel(['Hi.']) })];
    expect(() => createServer({ agents, journal: memoryJournal() })).toThrow(
      expect.objectContaining({ code: 'invalid_definition' }) as Error,
    );
    await expect(serve({ agents, journal: memoryJournal(), host: '0.0.0.0' })).rejects.toThrow('Give it a token');
  });

  it('is no error of the server when it is refused', async () => {
    const records: { readonly level: string; readonly event: string }[] = [];
    const server = await startServer({ model: scriptedModel(['Hi.']) }, { log: (record) => records.push(record) });
    expect((await fetch(`${server.url}/openapi.json`)).status).toBe(401);
    expect(records.map(({ level, event }) => `${level} ${event}`)).toEqual(['warning unauthorized', 'info request']);
  });
});

describe('one run as a response', () => {
  const buy = defineTool({ name: 'buy', description: 'Buys.', approval: 'always', execute: () => 'Bought.' });
  const turnOf = (id: string, messages: readonly object[], path = '/api/chat') =>
    new Request(`http://localhost${path}`, post({ id, messages }));
  const user = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'An umbrella.' }] };

  it('is a turn of the AI SDK, which goes on after an approval, and resumes', async () => {
    const agent = defineAgent({
      model: scriptedModel([{ toolCalls: [{ name: 'buy' }] }, 'It is yours.']),
      tools: [buy],
    });
    const options = { agent, journal: memoryJournal(), user: 'ann@example.com' };
    const asked = await (await aiSdkResponse(turnOf('c1', [user]), options)).text();
    const [, approvalId = ''] = /"approvalId":"([^"]+)"/.exec(asked) ?? [];
    const [, callId = ''] = /"toolCallId":"([^"]+)"/.exec(asked) ?? [];
    const approval = { id: approvalId, approved: true };
    const part = { type: 'tool-buy', toolCallId: callId, state: 'approval-responded', input: {}, approval };
    const answered = turnOf('c1', [user, { id: 'a1', role: 'assistant', parts: [part] }]);
    expect(await (await aiSdkResponse(answered, options)).text()).toContain('It is yours.');
    const resumed = new Request('http://localhost/api/chat/c1/stream');
    expect((await aiSdkResponse(resumed, options)).status).toBe(204);
    const stopped = new Request('http://localhost/api/chat/c1/stop', { method: 'POST' });
    expect((await aiSdkResponse(stopped, options)).status).toBe(202);
    const headers = { 'sec-fetch-site': 'cross-site' };
    const foreign = new Request('http://localhost/api/chat/c1/stop', { method: 'POST', headers });
    expect((await aiSdkResponse(foreign, options)).status).toBe(403);
  });

  it('is out of reach for other users, whatever they are called', async () => {
    const journal = memoryJournal();
    const model = scriptedModel(({ messages }) => `${messages.length} messages`);
    const agent = defineAgent({ model });
    const again = { ...user, id: 'm2' };
    await (await aiSdkResponse(turnOf('c1', [user]), { agent, journal, user: 'ann' })).text();
    const texts: string[] = [];
    for (const name of ['ann', 'bob', 'ann:c1', 'u~ann', 'ann@example.com'])
      texts.push(await (await aiSdkResponse(turnOf('c1', [again]), { agent, journal, user: name })).text());
    expect(texts.map((text) => /"delta":"(\d)/.exec(text)?.[1])).toEqual(['3', '1', '1', '1', '1']);
    const nobody = await aiSdkResponse(turnOf('c1', [user]), { agent, journal, user: '' });
    expect(nobody.status).toBe(400);
  });

  it('is a run of AG-UI, under the client’s own name of the thread', async () => {
    const agent = defineAgent({ model: scriptedModel(['Hello.']) });
    const messages = [{ id: 'm1', role: 'user', content: 'Hi.' }];
    const request = new Request('http://localhost/api/agent', post({ threadId: 't1', runId: 'r1', messages }));
    const text = await (await agUiResponse(request, { agent, journal: memoryJournal(), user: 'ann' })).text();
    expect(text).toContain('"threadId":"t1"');
    expect(text).toContain('Hello.');
    expect(
      (await agUiResponse(new Request('http://localhost/api/agent'), { agent, journal: memoryJournal(), user: 'ann' }))
        .status,
    ).toBe(405);
  });
});
