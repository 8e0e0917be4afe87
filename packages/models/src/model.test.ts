import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { defineAgent, type Http } from '@treadle/core';
import type { ModelEvent } from '@treadle/core/model';
import { describe, expect, it } from 'vitest';
import { nodeHttp } from './http/node-http.ts';
import { wireModel } from './model.ts';
import { anthropicMessages } from './protocols/anthropic/protocol.ts';
import { openaiChat } from './protocols/openai-chat/protocol.ts';
import { beginStream, received, serve } from './test-support/servers.ts';
import { answering, contractProblems, countedHttp, readModel, REQUEST, sse, utf8 } from './test-support/streams.ts';
import type { Reading, ReadingOptions } from './test-support/streams.ts';

// Faults of the transport, over real sockets, for both wires.

interface Wire {
  readonly name: string;
  readonly protocol: ReadingOptions['protocol'];
  /** A stream in parts: the text so far, then a tool call that has begun, then what completes it. */
  readonly text: string;
  readonly call: string;
  readonly rest: string;
}

const WIRES: readonly Wire[] = [
  {
    name: 'anthropic-messages',
    protocol: anthropicMessages(),
    text: sse(
      { type: 'message_start', message: { id: 'm' } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    ),
    call: sse(
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'f', input: {} } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
    ),
    rest: sse(
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '1}' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    ),
  },
  {
    name: 'openai-chat',
    protocol: openaiChat(),
    text: sse({ id: 'm', choices: [{ index: 0, delta: { content: 'Hello' } }] }),
    call: sse({
      choices: [
        { index: 0, delta: { tool_calls: [{ index: 0, id: 't', function: { name: 'f', arguments: '{"a":' } }] } },
      ],
    }),
    rest: sse(
      { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: '1}' } }] } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      '[DONE]',
    ),
  },
];

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const http = nodeHttp({ env: {} });

async function against(
  protocol: Wire['protocol'],
  handler: Handler,
  options: Partial<ReadingOptions> = {},
): Promise<Reading> {
  await using server = await serve((request, response) => {
    request.resume();
    request.on('end', () => handler(request, response));
  });
  return await readModel({ protocol, http, baseUrl: server.url, ...options });
}

const reply =
  (status: number, body: string, headers: Record<string, string> = { 'content-type': 'application/json' }): Handler =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

describe.each(WIRES)('$name', ({ protocol, text, call, rest }) => {
  const reads = (handler: Handler, options?: Partial<ReadingOptions>): Promise<Reading> =>
    against(protocol, handler, options);

  it('streams a whole answer', async () => {
    const reading = await reads((_, response) => {
      beginStream(response).end(text + call + rest);
    });
    expect(reading.text).toBe('Hello');
    expect(reading.blocks).toMatchObject([
      { type: 'text' },
      { type: 'tool_call', name: 'f', argumentsText: '{"a":1}' },
    ]);
    expect(reading.finish?.stopReason).toBe('tool_use');
    expect(contractProblems(reading.events)).toEqual([]);
  });

  it.each<[string, string, Handler]>([
    [
      'a reset inside the text',
      'Hello',
      (_, response) => void beginStream(response).write(text, () => response.socket?.resetAndDestroy()),
    ],
    [
      'a reset inside the arguments of a call',
      'Hello',
      (_, response) => void beginStream(response).write(text + call, () => response.socket?.resetAndDestroy()),
    ],
    [
      'a clean end inside the arguments of a call',
      'Hello',
      (_, response) => void beginStream(response).end(text + call),
    ],
    ['a clean end before anything', '', (_, response) => void beginStream(response).end()],
    ['a connection closed before the headers', '', (request) => void request.socket.resetAndDestroy()],
  ])('%s is a network error that keeps what came', async (_, expected, handler) => {
    const reading = await reads(handler);
    expect(reading.error).toMatchObject({ kind: 'network', retryable: true });
    expect(reading.text === expected || reading.text === '').toBe(true);
    expect(reading.blocks.some((block) => block.type === 'tool_call')).toBe(false);
    expect(contractProblems(reading.events)).toEqual([]);
  });

  it('silence after the headers is an error', async () => {
    const patient = nodeHttp({ env: {}, idleTimeoutMs: 40 });
    const reading = await reads((_, response) => void beginStream(response).write(text), { http: patient });
    expect(reading.text).toBe('Hello');
    expect(reading.error).toMatchObject({ kind: 'network', retryable: true, code: 'TREADLE_IDLE_TIMEOUT' });
  });

  it('silence before the headers is an error', async () => {
    const patient = nodeHttp({ env: {}, firstByteTimeoutMs: 40 });
    const reading = await reads(() => undefined, { http: patient });
    expect(reading.error).toMatchObject({ kind: 'network', retryable: true, code: 'TREADLE_FIRST_BYTE_TIMEOUT' });
  });

  it('a server that is not there is an error, not an exception', async () => {
    const server = await serve(() => undefined);
    await server[Symbol.asyncDispose]();
    const reading = await readModel({ protocol, http, baseUrl: server.url });
    expect(reading.error).toMatchObject({ kind: 'network', retryable: true, code: 'ECONNREFUSED' });
    expect(reading.events).toHaveLength(1);
  });

  it('a packed stream is unpacked, a broken one is an error', async () => {
    const packed = gzipSync(text + call + rest);
    const send =
      (bytes: Uint8Array): Handler =>
      (_, response) =>
        void beginStream(response, { 'content-encoding': 'gzip' }).end(bytes);
    expect((await reads(send(packed))).finish?.stopReason).toBe('tool_use');
    const broken = Buffer.from(packed);
    broken.fill(0xff, 12, 40);
    const reading = await reads(send(broken));
    expect(reading.error).toMatchObject({ kind: 'network', retryable: true });
  });

  it('a page instead of a stream is an error that shows its beginning', async () => {
    const page = `<html><title>Log in</title>${'x'.repeat(1000)}`;
    const reading = await reads(reply(200, page, { 'content-type': 'text/html' }));
    expect(reading.error).toMatchObject({ kind: 'other', retryable: false, status: 200 });
    expect(reading.error?.message).toContain('text/html');
    expect(reading.error?.excerpt).toMatch(/^<html><title>Log in<\/title>x+…$/);
    expect(reading.error?.excerpt?.length).toBeLessThan(210);
  });

  it('JSON of something else is an error that shows it', async () => {
    const reading = await reads(reply(200, '{"hello":"world"}'));
    expect(reading.error).toMatchObject({ kind: 'other', retryable: false, excerpt: '{"hello":"world"}' });
  });

  it('an error in a response that says it went well is an error', async () => {
    const body = JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'Slow down.' } });
    const reading = await reads(reply(200, body));
    expect(reading.error).toMatchObject({ kind: 'rate_limited', message: 'Slow down.', retryable: true });
  });

  it('a stream without its content type is read all the same', async () => {
    const reading = await reads((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.end(text + call + rest);
    });
    expect(reading.finish?.stopReason).toBe('tool_use');
  });

  it('an empty response is an error', async () => {
    const reading = await reads(reply(200, '', {}));
    expect(reading.error).toMatchObject({ kind: 'other', status: 200 });
    expect(reading.error?.message).toContain('empty body');
  });

  it('a redirect is not followed, and the error names its host', async () => {
    let seen = 0;
    await using other = await serve((_, response) => {
      seen++;
      response.end();
    });
    const reading = await reads(reply(302, '', { location: `${other.url}/v1` }));
    expect(reading.error).toMatchObject({ kind: 'other', retryable: false, status: 302 });
    expect(reading.error?.message).toContain(other.host);
    expect(seen).toBe(0);
  });

  it.each([
    [400, 'api', false],
    [401, 'auth', false],
    [403, 'auth', false],
    [404, 'api', false],
    [429, 'rate_limited', true],
    [500, 'api', true],
    [529, 'api', true],
  ])('status %i is %s with the provider’s words', async (status, kind, retryable) => {
    const body = JSON.stringify({ error: { type: 'some_error', message: 'It said no.' } });
    const headers = { 'content-type': 'application/json', 'request-id': 'req_1', 'retry-after': '7' };
    const reading = await reads(reply(status, body, headers));
    expect(reading.error).toEqual({
      kind,
      message: 'It said no.',
      retryable,
      status,
      code: 'some_error',
      requestId: 'req_1',
      retryAfterMs: 7000,
      excerpt: body,
    });
    expect(reading.events).toHaveLength(1);
  });

  it('a 404 without an error of the wire says what to check', async () => {
    const reading = await reads(reply(404, '404 page not found', { 'content-type': 'text/plain' }));
    expect(reading.error?.message).toBe('HTTP 404: 404 page not found. Check the base URL and the name of the model.');
  });

  it('a status with a page for a body shows its beginning', async () => {
    const reading = await reads(reply(502, '<html>Bad Gateway</html>', { 'content-type': 'text/html' }));
    expect(reading.error).toMatchObject({
      kind: 'api',
      retryable: true,
      message: 'HTTP 502: <html>Bad Gateway</html>',
    });
  });

  it('a status whose body breaks off is still that status', async () => {
    const reading = await reads((_, response) => {
      response.writeHead(500, { 'content-length': '1000' });
      response.write('half', () => response.socket?.resetAndDestroy());
    });
    expect(reading.error).toMatchObject({ status: 500, retryable: true });
  });

  it('errors never carry the request’s credentials', async () => {
    const secrets = { 'x-api-key': 'canary-one-1234', authorization: 'Bearer canary-two-1234' };
    const echo: Handler = (request, response) => {
      const message = `You sent ${String(request.headers['x-api-key'])} and ${String(request.headers.authorization)}`;
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message, type: 'canary-one-1234' } }));
    };
    const { events } = await reads(echo, { headers: secrets });
    expect(JSON.stringify(events)).not.toMatch(/canary-(?:one|two)/);
    expect(JSON.stringify(events)).toContain('[redacted]');
  });

  it('an event that is too long is an error', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 120);
    let sent = 0;
    const reading = await reads((_, response) => {
      beginStream(response).write('data: ');
      const write = (): void => {
        while (!response.destroyed && sent++ < 50)
          if (!response.write(chunk)) return void response.once('drain', write);
      };
      write();
    });
    expect(reading.error).toMatchObject({ kind: 'other', retryable: false });
    expect(reading.error?.message).toContain('longer than');
  });
});

describe('events that have come', () => {
  it('can be taken without waiting, in their order, once the first of a chunk was awaited', async () => {
    const [, wire] = WIRES;
    if (!wire) throw new Error('There is no such wire.');
    const { protocol, text, call, rest } = wire;
    const http = answering([utf8(text + call + rest)], { 'content-type': 'text/event-stream' });
    const model = wireModel({ protocol, http, provider: 'p', modelId: 'm', baseUrl: 'http://h', headers: {} });
    const events = model.stream(REQUEST, AbortSignal.timeout(10_000))[Symbol.asyncIterator]();
    expect(events.ready?.()).toBeUndefined();
    const taken = [(await events.next()).value as ModelEvent];
    for (let event = events.ready?.(); event; event = events.ready?.()) taken.push(event);
    expect(taken).toEqual((await readModel({ protocol, http })).events);
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });
});

describe('cancelling', () => {
  const { protocol, text, call, rest } = WIRES[0] as Wire;

  it('at every event ends the stream at once and closes the connection', async () => {
    const parts = [text, call, rest].join('').split(/(?<=\n\n)/);
    for (let at = 0; at < parts.length - 1; at++) {
      const sent = Buffer.from(parts.slice(0, at).join('') || ': hello\n\n');
      await using server = await serve((request, response) => {
        request.resume();
        beginStream(response).write(sent);
      });
      const arrived = countedHttp(http);
      const controller = new AbortController();
      const model = wireModel({
        protocol,
        provider: 'p',
        modelId: 'm',
        baseUrl: server.url,
        headers: {},
        http: arrived.http,
      });
      const events: ModelEvent[] = [];
      const running = (async () => {
        for await (const event of model.stream(REQUEST, controller.signal)) events.push(event);
      })();
      await arrived.bytes(sent.length);
      controller.abort();
      await running;
      await server.allClosed();
      expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'cancelled', retryable: false } });
      expect(contractProblems(events)).toEqual([]);
    }
  });

  it('before the start sends nothing', async () => {
    await using server = await serve((_, response) => response.end());
    const { events } = await readModel({ protocol, http, baseUrl: server.url, signal: AbortSignal.abort() });
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'cancelled' } }]);
    expect(server.connections()).toBe(0);
  });

  it('by leaving the loop closes the connection, also before the headers', async () => {
    await using server = await serve((_, response) => void beginStream(response).write(text));
    const model = wireModel({ protocol, provider: 'p', modelId: 'm', baseUrl: server.url, headers: {}, http });
    for await (const event of model.stream(REQUEST, new AbortController().signal)) {
      expect(event.type).toBe('start');
      break;
    }
    await server.allClosed();

    const arrived: (() => void)[] = [];
    await using silent = await serve(() => {
      for (const resolve of arrived) resolve();
    });
    const waiting = wireModel({ protocol, provider: 'p', modelId: 'm', baseUrl: silent.url, headers: {}, http });
    const iterator = waiting.stream(REQUEST, new AbortController().signal)[Symbol.asyncIterator]();
    const first = iterator.next();
    await new Promise<void>((resolve) => arrived.push(resolve));
    await iterator.return?.();
    expect((await first).done).toBe(true);
    await silent.allClosed();
  });

  it('after the end changes nothing', async () => {
    const controller = new AbortController();
    const { finish } = await readModel({
      protocol,
      http: answering([utf8(text + call + rest)]),
      signal: controller.signal,
    });
    controller.abort();
    expect(finish?.stopReason).toBe('tool_use');
  });
});

describe('a connection', () => {
  const { protocol, text, call, rest } = WIRES[1] as Wire;

  it('is kept for the next request once the answer is complete', async () => {
    let end = (): void => {};
    await using server = await serve((_, response) => {
      beginStream(response).write(text + call + rest);
      end = () => void response.end();
    });
    for (let turn = 0; turn < 3; turn++) {
      const read = countedHttp(http);
      const { finish } = await readModel({ protocol, http: read.http, baseUrl: server.url });
      expect(finish).toBeDefined();
      // The end of the body comes after the end of the answer, and the connection is free a moment later.
      end();
      await read.ended;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(server.connections()).toBe(1);
  });

  it('is closed when a server goes on after its last event', async () => {
    await using server = await serve((_, response) => {
      beginStream(response).write(text + call + rest);
      const more = Buffer.alloc(64 * 1024, 10);
      response.write(more);
      response.write(more);
    });
    expect((await readModel({ protocol, http, baseUrl: server.url })).finish).toBeDefined();
    await server.allClosed();
  });
});

describe('a request', () => {
  it('has the path below the base URL, the wire’s headers and the deployment’s', async () => {
    let seen: unknown;
    await using server = await serve((request, response) => {
      void received(request).then((body) => {
        const { host: _host, connection: _connection, ...headers } = request.headers;
        seen = { url: request.url, headers, model: (JSON.parse(body) as { model: string }).model };
        response.end();
      });
    });
    const baseUrl = `${server.url}/gateway/v1/?tenant=t`;
    await readModel({ protocol: openaiChat(), http, baseUrl, headers: { authorization: 'Bearer k' } });
    expect(seen).toMatchObject({
      url: '/gateway/v1/chat/completions?tenant=t',
      headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
      model: 'test',
    });
  });

  it('is sent when the first event is asked for, and once', async () => {
    let sent = 0;
    const counting: Http = (request) => {
      sent++;
      return answering([])(request);
    };
    const model = wireModel({
      protocol: openaiChat(),
      provider: 'p',
      modelId: 'm',
      baseUrl: 'http://h',
      headers: {},
      http: counting,
    });
    const iterator = model.stream(REQUEST, new AbortController().signal)[Symbol.asyncIterator]();
    expect(sent).toBe(0);
    await iterator.next();
    expect((await iterator.next()).done).toBe(true);
    expect((await iterator.next()).done).toBe(true);
    expect(sent).toBe(1);
  });

  it('that can not be written is an error event', async () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    const model = wireModel({
      protocol: openaiChat(),
      provider: 'p',
      modelId: 'm',
      baseUrl: 'http://h',
      headers: {},
      http: answering([]),
    });
    const events: ModelEvent[] = [];
    const input = { ...REQUEST, providerOptions: circular as never };
    for await (const event of model.stream(input, new AbortController().signal)) events.push(event);
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'other', retryable: false } }]);
  });
});

describe('a model of a wire', () => {
  it('says its protocol and its address for the log, without what may be a credential', () => {
    const model = wireModel({
      protocol: openaiChat(),
      provider: 'own',
      modelId: 'm',
      name: 'Our Own Model',
      baseUrl: 'https://user:secret@example.com/v1/?key=secret',
      headers: {},
      http: nodeHttp(),
    });
    expect(model).toMatchObject({ api: 'openai-chat', baseUrl: 'https://example.com/v1' });
    const { snapshot } = defineAgent({ model });
    expect(snapshot).toMatchObject({
      api: 'openai-chat',
      baseUrl: 'https://example.com/v1',
      provider: 'own',
      model: 'm',
      name: 'Our Own Model',
    });
  });
});
