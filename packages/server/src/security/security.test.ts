import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { defineAgent, defineTool, memoryJournal, secretGuard, TreadleError, type DurableEvent } from '@treadle/core';
import { createRedactor } from '@treadle/core/features';
import { scriptedModel, testClock } from '@treadle/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { serve } from '../index.ts';
import { isRunEnd, sse, until } from '../test-support/events.ts';
import { startServer, type TestServer } from '../test-support/server.ts';
import { rateLimiter } from './rate.ts';
import { tokenList } from './tokens.ts';

const model = () => scriptedModel(['Hello.']);

/** A request with headers that `fetch` would not send. */
async function send(
  server: TestServer,
  {
    method = 'GET',
    path = '/v1/sessions',
    headers = {},
    body = '',
  }: { method?: string; path?: string; headers?: Record<string, string>; body?: string },
): Promise<{
  readonly status: number;
  readonly code: string | undefined;
  readonly headers: IncomingMessage['headers'];
}> {
  const request = httpRequest({ port: server.port, host: '127.0.0.1', method, path, headers });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const piece of response) text += String(piece);
  const { code } = (text.startsWith('{') ? JSON.parse(text) : {}) as { code?: string };
  return { status: response.statusCode ?? 0, code, headers: response.headers };
}

/** Bytes as they are, and all that comes back until the server closes. */
async function sendRaw(server: TestServer, bytes: string): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(bytes);
  let text = '';
  socket.on('data', (piece) => (text += piece.toString()));
  await once(socket, 'close');
  return text;
}

const bearer = (server: TestServer): Record<string, string> => ({ authorization: `Bearer ${server.bearer}` });

describe('V7: the token', () => {
  it('is made when none is given, differs each time, and is wanted by everything but health', async () => {
    const [one, two] = [await startServer({ model: model() }), await startServer({ model: model() })];
    expect(one.token).toMatch(/^treadle_[A-Za-z0-9_-]{43}$/);
    expect(two.token).not.toBe(one.token);
    for (const path of ['/v1/sessions', '/v1/sessions/s1/stream', '/openapi.json']) {
      expect(await send(one, { path })).toMatchObject({ status: 401, code: 'unauthorized' });
      expect(await send(one, { path, headers: { authorization: `Bearer ${two.bearer}` } })).toMatchObject({
        status: 401,
      });
    }
    expect(await send(one, { path: '/v1/sessions', headers: bearer(one) })).toMatchObject({ status: 200 });
    expect(await send(one, { path: '/healthz' })).toMatchObject({ status: 200 });
  });

  it('is not taken from a URL, and a URL is not logged', async () => {
    const records: object[] = [];
    const server = await startServer({ model: model() }, { log: (record) => records.push(record) });
    for (const name of ['token', 'access_token', 'authorization']) {
      expect(await send(server, { path: `/v1/sessions?${name}=${server.bearer}` })).toMatchObject({ status: 401 });
    }
    await send(server, { path: '/v1/sessions?token=x', headers: { authorization: `Bearer ${server.bearer}x` } });
    expect(records.length).toBeGreaterThan(3);
    expect(JSON.stringify(records)).not.toContain(server.bearer);
  });

  it('is compared in the same way wherever it differs', async () => {
    const find = tokenList([
      { name: 'one', token: 'token-number-one' },
      { name: 'two', token: 'token-number-two', readOnly: true },
    ]);
    expect(await find('token-number-two')).toEqual({ name: 'two', readOnly: true });
    for (const wrong of ['', 'token-number-on', 'token-number-onee', 'Token-number-one'])
      expect(await find(wrong)).toBeNull();
  });

  it.each(['short', 'a token with spaces', 'a-token-with-\n-a-line'])(
    'is refused as %j, and the refusal does not say it',
    (token) => {
      expect(() => tokenList([{ name: 'me', token }])).toThrow(TreadleError);
      expect(() => tokenList([{ name: 'me', token }])).not.toThrow(token);
    },
  );

  it('listens at 127.0.0.1 by default, and nowhere else without a token of your own', async () => {
    const agents = [defineAgent({ model: model() })];
    const journal = memoryJournal();
    expect((await startServer({ model: model() })).url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    for (const host of ['0.0.0.0', '::', '192.0.2.1']) {
      await expect(serve({ agents, journal, host })).rejects.toThrow('Give it a token of your own');
    }
    const open = await serve({
      agents,
      journal,
      host: '0.0.0.0',
      tokens: [{ name: 'me', token: 'a-token-of-my-own' }],
    });
    expect(open.token).toBeNull();
    await open.close(0);
  });

  it('is told to slow down after too many failures, whatever token comes next', async () => {
    const server = await startServer({ model: model() }, { limits: { failedLogins: { perSecond: 0.001, burst: 3 } } });
    const statuses: number[] = [];
    for (let count = 0; count < 4; count += 1) {
      statuses.push((await send(server, { headers: { authorization: `Bearer guess-number-${count}-xxx` } })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 429]);
  });
});

describe('scopes', () => {
  const tokens = [
    { name: 'ann', token: 'token-of-ann-here', sessions: ['ann-*'] },
    { name: 'bob', token: 'token-of-bob-here', sessions: ['bob-1'] },
    { name: 'eve', token: 'token-of-eve-here', readOnly: true },
  ];
  const as = (name: string) => ({ authorization: `Bearer token-of-${name}-here` });

  it('show a token its own sessions only, and do not tell of others', async () => {
    const server = await startServer({ model: model() }, { tokens });
    const made = (await (await server.call('POST', '/v1/sessions', {}, as('ann'))).json()) as { sessionId: string };
    expect(made.sessionId).toMatch(/^ann-/);
    const at = `/v1/sessions/${made.sessionId}`;
    for (const path of [at, `${at}/stream`, `${at}/events`, `${at}/cost`]) {
      const refused = await server.call('GET', path, undefined, as('bob'));
      const unknown = await server.call('GET', path.replace(made.sessionId, 'ann-unknown'), undefined, as('bob'));
      expect([refused.status, unknown.status]).toEqual([404, 404]);
    }
    expect(await (await server.call('GET', '/v1/sessions', undefined, as('bob'))).json()).toEqual({ sessions: [] });
    expect(await (await server.call('GET', '/v1/sessions', undefined, as('ann'))).json()).toMatchObject({
      sessions: [made],
    });
    expect((await server.call('POST', '/v1/sessions', { id: 'bob-2' }, as('ann'))).status).toBe(403);
    expect((await server.call('POST', '/v1/sessions', {}, as('bob'))).status).toBe(403);
    expect((await server.call('POST', `${at}/fork`, { id: 'eve-1' }, as('ann'))).status).toBe(403);
  });

  it('let a token look and not touch', async () => {
    const server = await startServer({ model: model() }, { tokens });
    await server.call('POST', '/v1/sessions', { id: 'ann-1' }, as('ann'));
    expect((await server.call('GET', '/v1/sessions/ann-1', undefined, as('eve'))).status).toBe(200);
    for (const [method, path] of [
      ['POST', '/v1/sessions'],
      ['POST', '/v1/sessions/ann-1/runs'],
      ['POST', '/v1/sessions/ann-1/cancel'],
      ['DELETE', '/v1/sessions/ann-1'],
    ] as const) {
      expect(
        await (await server.call(method, path, method === 'POST' ? {} : undefined, as('eve'))).json(),
      ).toMatchObject({
        status: 403,
      });
    }
  });

  it('keep idempotency keys of different tokens apart', async () => {
    const server = await startServer(
      { model: scriptedModel(['One.', 'Two.']) },
      {
        tokens: [
          { name: 'a', token: 'token-number-one' },
          { name: 'b', token: 'token-number-two' },
        ],
      },
    );
    const create = async (token: string) =>
      (
        (await (
          await server.call('POST', '/v1/sessions', {}, { authorization: `Bearer ${token}`, 'idempotency-key': 'k' })
        ).json()) as { sessionId: string }
      ).sessionId;
    expect(await create('token-number-one')).not.toBe(await create('token-number-two'));
  });
});

describe('V8: pages of others', () => {
  const cases: readonly (readonly [string, Record<string, string>])[] = [
    ['an evil origin', { origin: 'https://evil.example' }],
    ['the origin null', { origin: 'null' }],
    ['an origin that begins like ours', { origin: 'http://localhost.evil.example' }],
    ['a name that was rebound to this machine', { host: 'evil.example' }],
    ['a name that ends like ours', { host: 'evil-localhost' }],
  ];

  it.each(cases)('are refused: %s', async (_, headers) => {
    const server = await startServer({ model: model() });
    expect(await send(server, { headers: { ...bearer(server), ...headers } })).toMatchObject({
      status: 403,
      code: 'forbidden',
    });
  });

  it.each(cases)('are refused a WebSocket: %s', async (_, headers) => {
    const server = await startServer({ model: model() });
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const path = '/v1/sessions/s1/stream';
    const refused = await send(server, { path, headers: { ...bearer(server), ...upgrade, ...headers } });
    expect(refused).toMatchObject({ status: 403, code: 'forbidden' });
    expect(await send(server, { path, headers: upgrade })).toMatchObject({ status: 401 });
  });

  it('are refused without a token, with or without an origin', async () => {
    const server = await startServer({ model: model() });
    const own = { origin: server.url };
    expect(await send(server, { headers: own })).toMatchObject({ status: 401 });
    expect(await send(server, {})).toMatchObject({ status: 401 });
    expect(await send(server, { headers: { ...own, ...bearer(server) } })).toMatchObject({ status: 200 });
  });

  it('are refused what a form can send', async () => {
    const server = await startServer({ model: model() });
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
      const headers = { ...bearer(server), ...(type === '' ? {} : { 'content-type': type }) };
      const answer = await send(server, { method: 'POST', headers, body: '{"id":"s1"}' });
      expect(answer).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    }
  });

  it('are let in by name, and told so by the browser’s rules', async () => {
    const origin = 'https://app.example';
    const server = await startServer({ model: model() }, { origins: { origins: [origin], hosts: ['api.example'] } });
    const asked = await send(server, { method: 'OPTIONS', headers: { origin } });
    expect(asked).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': origin } });
    const answer = await send(server, { headers: { ...bearer(server), origin, host: 'api.example' } });
    expect(answer).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': origin } });
    const evil = await send(server, { method: 'OPTIONS', headers: { origin: 'https://evil.example' } });
    expect(evil.status).toBe(403);
    expect(evil.headers).not.toHaveProperty('access-control-allow-origin');
  });
});

describe('responses to pages of an allowed origin', () => {
  const origin = 'https://app.example';
  const options = { origins: { origins: [origin] } };
  const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] };
  const named = { 'access-control-allow-origin': origin, vary: 'origin' };

  it.each([
    ['the stream of a session', 'GET', '/v1/sessions/s1/stream', undefined],
    ['the stream of a run', 'POST', '/v1/sessions/s1/runs', { input: 'Hi.' }],
    ['a chat of the AI SDK', 'POST', '/v1/ai-sdk/chat', { id: 's2', messages: [message] }],
    ['a chat that resumes', 'GET', '/v1/ai-sdk/chat/s3/stream', undefined],
    ['a run of AG-UI', 'POST', '/v1/ag-ui', { threadId: 's4', runId: 'r', messages: [{ ...message, content: 'Hi.' }] }],
    ['an error', 'GET', '/v1/sessions/none', undefined],
    ['a body that is refused', 'POST', '/v1/sessions', { id: 7 }],
    ['a path that is not there', 'GET', '/v1/none', undefined],
    ['health', 'GET', '/healthz', undefined],
  ])('can be read: %s', async (_, method, path, body) => {
    const server = await startServer({ model: model() }, options);
    await server.call('POST', '/v1/sessions', { id: 's1' });
    const response = await server.call(method, path, body, { origin, accept: 'text/event-stream' });
    expect(Object.fromEntries(response.headers)).toMatchObject(named);
    await response.body?.cancel();
    // The same without a socket, as in an application that speaks `fetch`.
    const mounted = await server.server.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: { ...bearer(server), origin, accept: 'text/event-stream', 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    expect(Object.fromEntries(mounted.headers)).toMatchObject(named);
    await mounted.body?.cancel();
  });

  it('can be read without a token too: a page sees its 401', async () => {
    const server = await startServer({ model: model() }, options);
    const answer = await send(server, { headers: { origin } });
    expect(answer).toMatchObject({ status: 401, headers: { 'access-control-allow-origin': origin } });
  });

  it('may be asked for with any header', async () => {
    const server = await startServer({ model: model() }, options);
    const headers = { origin, 'access-control-request-headers': 'authorization, x-tenant' };
    const answer = await send(server, { method: 'OPTIONS', path: '/v1/ai-sdk/chat', headers });
    expect(answer.headers).toMatchObject({ 'access-control-allow-headers': 'authorization, x-tenant' });
  });

  it('name no other origin, and say how to allow a host or an origin', async () => {
    const server = await startServer({ model: model() }, options);
    const evil = await server.call('GET', '/v1/sessions', undefined, { origin: 'https://evil.example' });
    expect(evil.headers.get('access-control-allow-origin')).toBe(null);
    expect(await evil.json()).toMatchObject({
      code: 'forbidden',
      detail: expect.stringContaining('origins.origins') as unknown,
    });
    const named = new Request('http://agents.example/v1/sessions', { headers: bearer(server) });
    const answer = (await (await server.server.fetch(named)).json()) as object;
    expect(answer).toMatchObject({ detail: expect.stringContaining('origins.hosts') as unknown });
  });
});

describe('V4: requests that want too much', () => {
  const post = (server: TestServer, body: string, headers: Record<string, string> = {}) =>
    send(server, {
      method: 'POST',
      headers: { ...bearer(server), 'content-type': 'application/json', ...headers },
      body,
    });

  it('are refused as soon as they say how long they are', async () => {
    const server = await startServer({ model: model() }, { limits: { bodyBytes: 100 } });
    const head =
      `POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${server.bearer}\r\n` +
      'content-type: application/json\r\ncontent-length: 101\r\n\r\n';
    // Nothing of the body is ever sent.
    expect(await sendRaw(server, head)).toMatch(/^HTTP\/1\.1 413 [\s\S]*"code":"too_large"/);
  });

  it('are refused at the first byte that is one too many, when they do not say', async () => {
    const server = await startServer({ model: model() }, { limits: { bodyBytes: 100 } });
    const body = JSON.stringify({ id: 'x'.repeat(200) });
    const headers = { 'transfer-encoding': 'chunked' };
    expect(await post(server, body, headers)).toMatchObject({ status: 413, code: 'too_large' });
  });

  it.each([
    ['broken JSON', '{"id":'],
    ['no object', '[1]'],
    ['the same key twice', '{"id":"a","id":"b"}'],
    ['the same key twice, spelled differently', String.raw`{"id":"a","\u0069d":"b"}`],
    ['too deep', `{"metadata":${'{"a":'.repeat(512)}1${'}'.repeat(512)}}`],
    ['deep beyond any stack', `{"metadata":${'['.repeat(200_000)}`],
    ['an id that is a path', '{"id":"../s1"}'],
    ['a field there is none of', '{"idd":"s1"}'],
    ['a number where a text is wanted', '{"id":7}'],
    ['bytes that are no text', '{"id":"\u00ff"}'],
  ])('are refused: %s', async (name, body) => {
    const server = await startServer({ model: model() });
    const bytes = name.startsWith('bytes') ? (Buffer.from(body, 'latin1') as unknown as string) : body;
    expect(await post(server, bytes)).toMatchObject({ status: 400, code: 'bad_request' });
  });

  it('are refused when the chunks lie', async () => {
    const server = await startServer({ model: model() });
    const head =
      `POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${server.bearer}\r\n` +
      'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
    expect(await sendRaw(server, `${head}zz\r\n{}\r\n0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
    const both = head.replace('transfer-encoding', 'content-length: 2\r\ntransfer-encoding');
    expect(await sendRaw(server, `${both}2\r\n{}\r\n0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('are cut off when their headers take too long, or are too many', async () => {
    const server = await startServer(
      { model: model() },
      { headersTimeoutMs: 100, requestTimeoutMs: 200, checkMs: 20, headerBytes: 2000 },
    );
    expect(await sendRaw(server, 'GET /v1/sessions HTTP/1.1\r\nhost: local')).toMatch(/^HTTP\/1\.1 408 /);
    const many = `GET /v1/sessions HTTP/1.1\r\nhost: localhost\r\nx-long: ${'x'.repeat(3000)}\r\n\r\n`;
    expect(await sendRaw(server, many)).toMatch(/^HTTP\/1\.1 431 /);
    const slowBody =
      `POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${server.bearer}\r\n` +
      'content-type: application/json\r\ncontent-length: 50\r\n\r\n{';
    expect(await sendRaw(server, slowBody)).toMatch(/^(?:HTTP\/1\.1 4\d\d |$)/);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it('are told to wait when there are too many of them', async () => {
    const server = await startServer({ model: model() }, { limits: { requests: { perSecond: 0.001, burst: 2 } } });
    const statuses = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await server.call('GET', '/v1/sessions')).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('are let in again with time', async () => {
    const clock = testClock();
    const limiter = rateLimiter(clock, { perSecond: 2, burst: 2 });
    expect([limiter.take('a'), limiter.take('a'), limiter.take('a'), limiter.take('b')]).toEqual([0, 0, 500, 0]);
    await clock.advance(500);
    expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 500]);
  });
});

describe('R9: secrets', () => {
  const CANARY = 'k3y.with.dots-4711';

  it('are in no journal, log or stream: not from the environment, tools, URLs, headers or errors, cut up or not', async () => {
    vi.stubEnv('DEPLOY_KEY', CANARY);
    onTestFinished(() => void vi.unstubAllEnvs());
    const secrets = { DEPLOY_KEY: CANARY };
    const guard = secretGuard({ secrets });
    const show = defineTool({
      name: 'show',
      description: 'Shows.',
      execute(_, { progress, update }) {
        progress(`reading ${CANARY}`);
        update({ content: [{ type: 'text', text: `half ${CANARY}` }] });
        return {
          content: [{ type: 'text', text: `The key is ${process.env['DEPLOY_KEY']}.` }],
          details: { [CANARY]: CANARY },
        };
      },
    });
    const fail = defineTool({
      name: 'fail',
      description: 'Fails.',
      execute() {
        throw new Error(`GET https://user:${CANARY}@host/?key=${encodeURIComponent(CANARY)} failed`);
      },
    });
    const scripted = scriptedModel(
      [
        { text: `I know ${CANARY}.`, toolCalls: [{ name: 'show', arguments: { about: CANARY } }, { name: 'fail' }] },
        `Again: ${CANARY}.`,
      ],
      // Every secret is cut in pieces on its way.
      { chunkSize: 3 },
    );
    const store = memoryJournal();
    const records: object[] = [];
    const server = await startServer(
      { model: guard.model(scripted), tools: [guard.tool(show), guard.tool(fail)] },
      { journal: guard.journal(store), redactor: createRedactor(secrets), log: (record) => records.push(record) },
    );
    await server.call('POST', '/v1/sessions', { id: 's1', metadata: { note: CANARY } });
    const response = await server.call('GET', '/v1/sessions/s1/stream');
    let streamed = '';
    const done = (async () => {
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        streamed += piece;
        if (streamed.includes('"type":"run_ended"')) return;
      }
    })();
    await server.call('POST', '/v1/sessions/s1/runs', { input: `Use ${CANARY}`, metadata: { [CANARY]: 1 } });
    await done;
    await until(sse(await server.call('GET', '/v1/sessions/s1/stream')), isRunEnd);
    const problem = await server.call('GET', `/v1/sessions/${CANARY}?key=${CANARY}`, undefined, { 'x-key': CANARY });
    const known = await server.call('GET', '/v1/sessions/s1/history');
    const events: DurableEvent[] = [];
    for await (const event of store.read('s1', 1)) events.push(event);
    for (const text of [JSON.stringify(events), JSON.stringify(records), streamed, await known.text()]) {
      expect(text.length).toBeGreaterThan(100);
      expect(text).not.toContain(CANARY);
      expect(text).not.toContain(encodeURIComponent(CANARY));
      expect(text).not.toContain(btoa(CANARY));
    }
    expect(streamed).toContain('[secret:DEPLOY_KEY]');
    expect(problem.status).toBe(404);
    // Whoever has the secret already may read it in what was asked; nobody else gets to see that.
    expect(JSON.stringify(records)).toContain('readSession');
  });
});
