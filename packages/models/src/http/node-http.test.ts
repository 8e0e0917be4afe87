import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Http, HttpRequest, HttpResponse } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { CERTIFICATE } from '../test-support/certificate.ts';
import { beginStream, received, serve, serveProxy, serveSecure } from '../test-support/servers.ts';
import { fetchHttp } from './fetch-http.ts';
import { nodeHttp } from './node-http.ts';
import type { HttpTimeouts } from './timeouts.ts';

const NO_PROXY = { env: {} };
const post = (url: string, fields: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/json' },
  body: '{}',
  ...fields,
});

async function textOf(response: HttpResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

const failure = (promise: Promise<unknown>): Promise<{ code?: string; message: string; name: string }> =>
  promise.then(
    () => ({ message: 'no failure at all', name: '' }),
    (error: unknown) => error as { code?: string; message: string; name: string },
  );

describe.each<[string, (timeouts?: HttpTimeouts) => Http]>([
  ['nodeHttp', (timeouts) => nodeHttp({ ...NO_PROXY, ...timeouts })],
  // With a proxy for other hosts, which takes another way to the same end.
  [
    'nodeHttp with a proxy',
    (timeouts) => nodeHttp({ env: { HTTP_PROXY: 'http://localhost:9', NO_PROXY: 'localhost' }, ...timeouts }),
  ],
  ['fetchHttp', (timeouts) => fetchHttp((url, init) => fetch(url, init), timeouts)],
])('%s', (name, create) => {
  it('sends method, headers and body, and streams the response', async () => {
    let seen = '';
    await using server = await serve((request, response) => {
      void received(request).then((body) => {
        seen = `${request.method ?? ''} ${request.url ?? ''} ${String(request.headers['x-test'])} ${body}`;
        response.writeHead(201, { 'X-Reply': 'a' });
        response.write('first ');
        response.end('sécond');
      });
    });
    const response = await create()(post(`${server.url}/path?q=1`, { headers: { 'x-test': 'yes' }, body: '{"ü":1}' }));
    expect(response.status).toBe(201);
    expect(response.headers['x-reply']).toBe('a');
    expect(await textOf(response)).toBe('first sécond');
    expect(seen).toBe('POST /path?q=1 yes {"ü":1}');
  });

  it('sends a body in pieces as one, with its length', async () => {
    const seen: unknown[] = [];
    await using server = await serve((request, response) => {
      void received(request).then((body) => {
        const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
        seen.push({ body, length, coding });
        response.end();
      });
    });
    const http = create();
    const texts = ['{"ü":"', 'x'.repeat(300_000), '', '🦊"}'];
    const bodies = [texts, texts.slice(0, 1), []];
    for (const pieces of bodies) {
      await textOf(await http(post(server.url, { body: pieces.map((text) => new TextEncoder().encode(text)) })));
    }
    expect(seen).toEqual(
      bodies.map((pieces) => ({ body: pieces.join(''), length: String(Buffer.byteLength(pieces.join(''))) })),
    );
  });

  it('delivers each chunk when it comes', async () => {
    let go = (): void => undefined;
    await using server = await serve((_, response) => {
      beginStream(response).write('one');
      go = () => response.end('two');
    });
    const { body } = await create()(post(server.url));
    const chunks = body[Symbol.asyncIterator]();
    expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe('one');
    go();
    expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe('two');
    expect((await chunks.next()).done).toBe(true);
    expect((await chunks.next()).done).toBe(true);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('unpacks %s', async (encoding, pack) => {
    await using server = await serve((_, response) => {
      beginStream(response, { 'content-encoding': encoding }).end(pack('data: 1\n\n'));
    });
    expect(await textOf(await create()(post(server.url)))).toBe('data: 1\n\n');
  });

  it('fails on a body whose packing is broken', async () => {
    await using server = await serve((_, response) => {
      const packed = gzipSync('data: 1\n\n'.repeat(1000));
      packed.fill(0xff, 15, 40);
      beginStream(response, { 'content-encoding': 'gzip' }).end(packed);
    });
    expect((await failure(create()(post(server.url)).then(textOf))).message).not.toBe('no failure at all');
  });

  it('does not follow redirects', async () => {
    let asked = 0;
    await using other = await serve((_, response) => {
      asked++;
      response.end();
    });
    await using server = await serve((_, response) => response.writeHead(302, { location: other.url }).end());
    const response = await create()(post(server.url));
    expect([response.status, response.headers['location'], asked]).toEqual([302, other.url, 0]);
    await textOf(response);
  });

  it('rejects when nobody listens', async () => {
    const server = await serve(() => undefined);
    await server[Symbol.asyncDispose]();
    const error = await failure(create()(post(server.url)));
    expect(`${error.message}${String((error as { cause?: unknown }).cause)}`).toMatch(/ECONNREFUSED|fetch failed/);
  });

  it('fails when the connection breaks inside the body', async () => {
    await using server = await serve((_, response) => {
      beginStream(response).write('one', () => setImmediate(() => response.destroy()));
    });
    expect((await failure(create()(post(server.url)).then(textOf))).message).not.toBe('no failure at all');
  });

  it('gives up on a server that sends no headers', async () => {
    await using server = await serve(() => undefined);
    const error = await failure(create({ firstByteTimeoutMs: 40 })(post(server.url)));
    expect(error).toMatchObject({ code: 'TREADLE_FIRST_BYTE_TIMEOUT', message: 'No response within 40 ms.' });
    await server.allClosed();
  });

  it('gives up on a body that falls silent', async () => {
    await using server = await serve((_, response) => void beginStream(response).write('one'));
    const response = await create({ idleTimeoutMs: 40 })(post(server.url));
    expect(await failure(textOf(response))).toMatchObject({ code: 'TREADLE_IDLE_TIMEOUT' });
    await server.allClosed();
  });

  it('does not count the time in which nobody waits', async () => {
    await using server = await serve((_, response) => {
      beginStream(response).write('one');
      setTimeout(() => response.end('two'), 120);
    });
    const response = await create({ idleTimeoutMs: 60 })(post(server.url));
    const chunks = response.body[Symbol.asyncIterator]();
    await chunks.next();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe('two');
    await chunks.return?.();
  });

  it('closes the connection when the signal aborts, before the headers and after', async () => {
    let answer = false;
    const arrived: (() => void)[] = [];
    await using server = await serve((_, response) => {
      if (answer) beginStream(response).write('one');
      for (const resolve of arrived) resolve();
    });
    const early = new AbortController();
    const waiting = failure(create()(post(server.url, { signal: early.signal })));
    await new Promise<void>((resolve) => arrived.push(resolve));
    early.abort(new Error('enough'));
    expect((await waiting).message).toBe('enough');
    await server.allClosed();

    answer = true;
    const late = new AbortController();
    const response = await create()(post(server.url, { signal: late.signal }));
    const reading = failure(textOf(response));
    late.abort(new Error('enough'));
    expect((await reading).message).toBe('enough');
    await server.allClosed();
  });

  it('sends nothing when the signal was aborted before', async () => {
    await using server = await serve((_, response) => response.end());
    const error = await failure(create()(post(server.url, { signal: AbortSignal.abort() })));
    expect([error.name, server.connections()]).toEqual(['AbortError', 0]);
  });

  it('closes the connection when the reader leaves early', async () => {
    await using server = await serve((_, response) => void beginStream(response).write('one'));
    const response = await create()(post(server.url));
    for await (const chunk of response.body) {
      expect(chunk.length).toBe(3);
      break;
    }
    await server.allClosed();
  });

  it('keeps the connection for the next request', async () => {
    await using server = await serve((_, response) => response.end('x'));
    const http = create();
    for (let turn = 0; turn < 3; turn++) await textOf(await http(post(server.url)));
    // `fetch` may open a second one while it puts the first back.
    expect(server.connections()).toBeLessThanOrEqual(name === 'fetchHttp' ? 2 : 1);
  });

  it('holds back a server that is faster than the reader', async () => {
    let written = 0;
    await using server = await serve((_, response) => {
      beginStream(response);
      const block = Buffer.alloc(64 * 1024);
      const write = (): void => {
        while (written < 64 * 1024 * 1024) {
          written += block.length;
          if (!response.write(block)) return void response.once('drain', write);
        }
      };
      write();
    });
    const response = await create()(post(server.url));
    const chunks = response.body[Symbol.asyncIterator]();
    await chunks.next();
    await new Promise((resolve) => setTimeout(resolve, 200));
    // What is on its way: the queue, and the buffers of two sockets. Far from all of it.
    expect(written).toBeLessThan(24 * 1024 * 1024);
    await chunks.return?.();
  });
});

describe('a kept connection that the server closed', () => {
  it('costs one more try on a new one, and the request is sent once', async () => {
    let requests = 0;
    const kept: (() => void)[] = [];
    await using server = await serve((request, response) => {
      requests++;
      response.end('x');
      kept.push(() => request.socket.resetAndDestroy());
    });
    const http = nodeHttp(NO_PROXY);
    await textOf(await http(post(server.url)));
    // The server's reset and the next request cross on the way.
    const second = http(post(server.url));
    for (const reset of kept) reset();
    expect(await textOf(await second)).toBe('x');
    expect([requests, server.connections()]).toEqual([2, 2]);
  });

  it('is not tried again when the new one fails as well', async () => {
    let requests = 0;
    await using server = await serve((request, response) => {
      if (requests++ === 0) response.end('x');
      else request.socket.resetAndDestroy();
    });
    const http = nodeHttp(NO_PROXY);
    await textOf(await http(post(server.url)));
    expect(await failure(http(post(server.url)))).toMatchObject({ code: 'ECONNRESET' });
    expect(requests).toBe(3);
  });
});

describe('the headers of a request', () => {
  it('name the host and the length in bytes, unless they are given', async () => {
    const seen: unknown[] = [];
    await using server = await serve((request, response) => {
      const { host, 'content-length': length, 'transfer-encoding': encoding } = request.headers;
      seen.push([host, length, encoding]);
      void received(request).then(() => response.end());
    });
    const http = nodeHttp(NO_PROXY);
    await textOf(await http(post(server.url, { body: '{"ü":1}' })));
    await textOf(await http(post(server.url, { body: new Uint8Array(5) })));
    await textOf(await http(post(server.url, { headers: { host: 'example.com' } })));
    await textOf(await http({ method: 'GET', url: server.url, headers: {} }));
    expect(seen).toEqual([
      [server.host, '8', undefined],
      [server.host, '5', undefined],
      ['example.com', '2', undefined],
      [server.host, undefined, undefined],
    ]);
  });

  it('are refused when they would be two', async () => {
    await using server = await serve((_request, response) => response.end());
    const { code } = await failure(nodeHttp(NO_PROXY)(post(server.url, { headers: { 'x-a': 'b\r\nx-c: d' } })));
    expect(code).toBe('ERR_INVALID_CHAR');
    expect(server.connections()).toBe(0);
  });
});

describe('https', () => {
  it('keeps connections, and sends nothing to a server that it does not trust', async () => {
    let requests = 0;
    await using server = await serveSecure((_, response) => {
      requests++;
      response.end('secret');
    });
    const http = nodeHttp({ ...NO_PROXY, ca: CERTIFICATE });
    for (let turn = 0; turn < 3; turn++) expect(await textOf(await http(post(server.url)))).toBe('secret');
    expect([requests, server.connections()]).toEqual([3, 1]);
    expect((await failure(nodeHttp(NO_PROXY)(post(server.url)))).message).not.toBe('no failure at all');
    expect(requests).toBe(3);
  });

  it('is spoken to servers whose certificate is trusted', async () => {
    await using server = await serveSecure((_, response) => response.end('secret'));
    expect(await textOf(await nodeHttp({ ...NO_PROXY, ca: CERTIFICATE })(post(server.url)))).toBe('secret');
    expect((await failure(nodeHttp(NO_PROXY)(post(server.url)))).code).toMatch(/SELF_SIGNED/);
  });
});

describe('proxies', () => {
  it('named in the environment carry http requests', async () => {
    const asked: string[] = [];
    await using proxy = await serveProxy(asked);
    await using server = await serve((_, response) => response.end('x'));
    for (const env of [{ HTTP_PROXY: proxy.url }, { http_proxy: proxy.url }]) {
      expect(await textOf(await nodeHttp({ env })(post(`${server.url}/p`)))).toBe('x');
    }
    expect(asked).toEqual([`POST ${server.url}/p`, `POST ${server.url}/p`]);
  });

  it('carry https requests in a tunnel', async () => {
    const asked: string[] = [];
    await using proxy = await serveProxy(asked);
    await using server = await serveSecure((_, response) => response.end('x'));
    const http = nodeHttp({ env: { HTTPS_PROXY: proxy.url }, ca: CERTIFICATE });
    expect(await textOf(await http(post(server.url)))).toBe('x');
    expect(asked).toEqual([`CONNECT ${server.host}`]);
  });

  it('are not used for hosts in NO_PROXY', async () => {
    const asked: string[] = [];
    await using proxy = await serveProxy(asked);
    await using server = await serve((_, response) => response.end('x'));
    const http = nodeHttp({ env: { HTTP_PROXY: proxy.url, NO_PROXY: 'example.com,localhost' } });
    expect(await textOf(await http(post(server.url)))).toBe('x');
    expect(asked).toEqual([]);
  });
});

describe('loading', () => {
  it('of the package does not load Node’s http', async () => {
    const { execFileSync } = await import('node:child_process');
    const script = `
      await import('@treadle/models');
      console.log(process.moduleLoadList.filter((name) => /NativeModule (https?|_http_client|zlib|net|tls)$/.test(name)).join());`;
    const flags = ['--conditions=treadle-source', '--input-type=module', '-e', script];
    expect(execFileSync(process.execPath, flags, { encoding: 'utf8' }).trim()).toBe('');
  });
});
