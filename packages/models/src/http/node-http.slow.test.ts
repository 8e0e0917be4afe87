// @module-tag slow

import { getEventListeners } from 'node:events';
import type { Socket } from 'node:net';
import { createGzip, gzipSync, zstdCompressSync } from 'node:zlib';
import type { Http } from '@treadle/core';
import type { HttpRequest, HttpResponse } from '@treadle/core/ports';
import { testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { CERTIFICATE } from '../test-support/certificate.ts';
import { post } from '../test-support/requests.ts';
import { serve, serveBytes, serveProxy, serveSecure, type TestServer } from '../test-support/servers.ts';
import { nodeHttp } from './node-http.ts';
import type { ConnectionTimeouts } from './timeouts.ts';
import { undiciHttp } from './undici-http.ts';

// What the transports for Node do besides the contract that all transports keep.

const NO_PROXY = { env: {} };

async function textOf({ body }: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const ask = async (http: Http, url: string, fields?: Partial<HttpRequest>): Promise<string> =>
  textOf(await http(post(url, fields)));

const failure = (promise: Promise<unknown>): Promise<{ code?: string; message: string }> =>
  promise.then(
    () => ({ message: 'no failure at all' }),
    (error: unknown) => error as { code?: string; message: string },
  );

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n';

type Make = (options?: ConnectionTimeouts & { env?: Record<string, string>; ca?: string }) => Http;

describe.each<[string, Make]>([
  ['nodeHttp', (options) => nodeHttp({ ...NO_PROXY, ...options })],
  ['undiciHttp', (options) => undiciHttp({ ...NO_PROXY, ...options })],
])('%s', (name, create) => {
  it('drops all kept connections when one of them turns out silent', async () => {
    const clock = testClock();
    const sockets: Socket[] = [];
    let isSilent = false;
    const lost = Promise.withResolvers<void>();
    await using server = await serveBytes((socket) => {
      sockets.push(socket);
      const isOld = !isSilent;
      socket.on('data', () => {
        if (isOld && isSilent) lost.resolve();
        else if (isSilent || sockets.length === 12)
          for (const each of isSilent ? [socket] : sockets) each.write(`${OK}\r\nok`);
      });
    });
    const http = create({ clock, firstByteTimeoutMs: 1000 });
    await Promise.all(Array.from({ length: 12 }, () => ask(http, server.url)));
    isSilent = true;
    const asked = failure(ask(http, server.url));
    await lost.promise;
    await clock.advance(1000);
    expect((await asked).code).toBe('TREADLE_FIRST_BYTE_TIMEOUT');
    // Also by the server's account: nothing is left of them.
    await Promise.all(
      sockets.map((socket) => socket.destroyed || new Promise((resolve) => socket.once('close', resolve))),
    );
    expect(await Promise.all([1, 2, 3].map(() => ask(http, server.url)))).toEqual(['ok', 'ok', 'ok']);
  });

  it('keeps a connection only as long as it is told to', async () => {
    await using server = await serveBytes((socket) => void socket.on('data', () => socket.write(`${OK}\r\nok`)));
    const http = create({ keepAliveTimeoutMs: 50 });
    expect(await ask(http, server.url)).toBe('ok');
    await server.allClosed();
    expect(await ask(http, server.url)).toBe('ok');
    expect(server.connections()).toBe(2);
  });

  it('keeps no connection that its server is about to close', async () => {
    await using server = await serveBytes((socket) => {
      socket.on('data', () => socket.write(`${OK}keep-alive: timeout=1\r\n\r\nok`));
    });
    const http = create();
    expect(await ask(http, server.url)).toBe('ok');
    await server.allClosed();
  });

  it('gives up on a connection that is not made in time', async () => {
    const hello = Promise.withResolvers<void>();
    // It takes the connection and says nothing to TLS.
    await using server = await serveBytes((socket) => void socket.once('data', () => hello.resolve()));
    const clock = testClock();
    const asked = failure(create({ clock, connectTimeoutMs: 100 })(post(server.url.replace('http:', 'https:'))));
    await hello.promise;
    // undici's own timer counts.
    if (name === 'nodeHttp') await clock.advance(100);
    expect((await asked).code).toBe('TREADLE_CONNECT_TIMEOUT');
    await server.allClosed();
  });

  it('does not count the time of the answer as the time to connect', async () => {
    const arrived = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    await using server = await serve((_, response) => {
      arrived.resolve();
      void answer.promise.then(() => response.end('late'));
    });
    const clock = testClock();
    const asked = ask(create({ clock, connectTimeoutMs: 100 }), server.url);
    await arrived.promise;
    await clock.advance(10_000);
    answer.resolve();
    expect(await asked).toBe('late');
  });

  it('speaks TLS only to servers whose certificate is trusted', async () => {
    let requests = 0;
    await using server = await serveSecure((_, response) => {
      requests++;
      response.end('secret');
    });
    const http = create({ ca: CERTIFICATE });
    for (let turn = 0; turn < 3; turn++) expect(await ask(http, server.url)).toBe('secret');
    expect((await failure(create()(post(server.url)))).code).toMatch(/SELF_SIGNED/);
    expect(requests).toBe(3);
  });

  it('goes through the proxies that the environment names', async () => {
    const asked: string[] = [];
    await using proxy = await serveProxy(asked);
    await using server = await serve((_, response) => response.end('x'));
    await using secure = await serveSecure((_, response) => response.end('secret'));
    for (const env of [{ HTTP_PROXY: proxy.url }, { http_proxy: proxy.host }]) {
      expect(await ask(create({ env }), `${server.url}/p`)).toBe('x');
    }
    expect(await ask(create({ env: { HTTPS_PROXY: proxy.url }, ca: CERTIFICATE }), secure.url)).toBe('secret');
    const exempt = { HTTP_PROXY: proxy.url, NO_PROXY: 'example.com,localhost' };
    expect(await ask(create({ env: exempt }), server.url)).toBe('x');
    const isSeen = (line: string): boolean => asked.some((each) => each.includes(line));
    expect(asked).toHaveLength(3);
    expect([isSeen(server.host), isSeen(`CONNECT ${secure.host}`)]).toEqual([true, true]);
  });

  it('is loaded at the first request', async () => {
    const { execFileSync } = await import('node:child_process');
    const script = `
      const { ${name} } = await import('@treadle/models${name === 'nodeHttp' ? '' : '/undici'}');
      ${name}();
      const modules = /NativeModule (https?|_http_client|zlib|net|tls)$/;
      console.log(process.moduleLoadList.filter((name) => modules.test(name)).join());`;
    const flags = ['--conditions=treadle-source', '--input-type=module', '-e', script];
    expect(execFileSync(process.execPath, flags, { encoding: 'utf8' }).trim()).toBe('');
  });

  it('keeps no process alive by a connection that is kept', async () => {
    await using server = await serveBytes((socket) => void socket.on('data', () => socket.write(`${OK}\r\nok`)));
    const { execFile } = await import('node:child_process');
    const script = `
      const { ${name} } = await import('@treadle/models${name === 'nodeHttp' ? '' : '/undici'}');
      const { body } = await ${name}({ env: {} })({ method: 'GET', url: ${JSON.stringify(server.url)}, headers: {} });
      for await (const chunk of body) console.log(String.fromCharCode(...chunk));`;
    const flags = ['--conditions=treadle-source', '--input-type=module', '-e', script];
    // Without a timeout: a process that lives on fails the test by the test's own.
    const printed = await new Promise((resolve) => {
      execFile(process.execPath, flags, (_error, stdout) => resolve(stdout));
    });
    expect(printed).toBe('ok\n');
  });

  it('unpacks zstd, and gzip of several members', async () => {
    await using zstd = await respond('zstd', zstdCompressSync('one'));
    expect(await ask(create(), zstd.url)).toBe('one');
    await using members = await respond('gzip', Buffer.concat([gzipSync('one '), gzipSync('two')]));
    expect(await ask(create(), members.url)).toBe('one two');
  });

  it('fails on a packed body that breaks off', async () => {
    const packed = gzipSync(Array.from({ length: 2000 }, (_, at) => `line ${at * 7919}`).join('\n'));
    await using server = await respond('gzip', packed.subarray(0, -5));
    expect((await failure(ask(create(), server.url))).message).not.toBe('no failure at all');
  });

  it('unpacks a body that grows a thousandfold only as fast as it is read', async () => {
    await using server = await respond('gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024)));
    const { body } = await create()(post(server.url));
    const chunks = body[Symbol.asyncIterator]();
    const before = process.memoryUsage().arrayBuffers;
    await chunks.next();
    for (let turn = 0; turn < 3000; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
    await chunks.return?.();
    await server.allClosed();
  });

  it('leaves no listener behind on the signal of a thousand requests', async () => {
    await using server = await serve((_, response) => response.end('ok'));
    const http = create();
    const { signal } = new AbortController();
    for (let turn = 0; turn < 1000; turn++) await ask(http, server.url, { signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(server.connections()).toBeLessThan(3);
  });

  it.each(['ftp://localhost/', 'file:///etc/passwd', 'data:text/plain,a', 'nothing'])('refuses %s', async (url) => {
    expect((await failure(create()(post(url)))).message).not.toBe('no failure at all');
  });
});

const respond = (encoding: string, body: Uint8Array): Promise<TestServer> =>
  serve((_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body));

describe('a kept connection of nodeHttp that the server closed', { tags: ['share'] }, () => {
  it('costs no retry: the request is sent once more on a new one', async () => {
    let requests = 0;
    const kept: (() => void)[] = [];
    await using server = await serve((request, response) => {
      requests++;
      response.end('x');
      kept.push(() => request.socket.resetAndDestroy());
    });
    const http = nodeHttp(NO_PROXY);
    await ask(http, server.url);
    // The server's reset and the next request cross on the way.
    const second = ask(http, server.url);
    for (const reset of kept) reset();
    expect(await second).toBe('x');
    expect([requests, server.connections()]).toEqual([2, 2]);
  });

  it('is not tried again when the new one fails as well', async () => {
    let requests = 0;
    await using server = await serve((request, response) => {
      if (requests++ === 0) response.end('x');
      else request.socket.resetAndDestroy();
    });
    const http = nodeHttp(NO_PROXY);
    await ask(http, server.url);
    expect(await failure(http(post(server.url)))).toMatchObject({ code: 'ECONNRESET' });
    expect(requests).toBe(3);
  });

  it('is something else than a new one that is closed without a byte', async () => {
    let requests = 0;
    await using server = await serve((request) => {
      requests++;
      request.socket.resetAndDestroy();
    });
    expect(await failure(nodeHttp(NO_PROXY)(post(server.url)))).toMatchObject({ code: 'ECONNRESET' });
    expect(requests).toBe(1);
  });
});

describe('a request of nodeHttp', { tags: ['share'] }, () => {
  it('names the host and its length in bytes, and the user of its address', async () => {
    const seen: unknown[] = [];
    await using server = await serve((request, response) => {
      const { host, authorization, 'content-length': length, 'transfer-encoding': encoding } = request.headers;
      seen.push([host, authorization, length, encoding]);
      response.end();
    });
    const http = nodeHttp(NO_PROXY);
    await ask(http, server.url, { body: '{"ü":1}' });
    await ask(http, server.url, { body: new Uint8Array(5) });
    await ask(http, server.url.replace('//', '//us%40er:pw@'), { body: '' });
    await ask(http, server.url, { headers: { host: 'example.com' } });
    await textOf(await http({ method: 'GET', url: server.url, headers: {} }));
    expect(seen).toEqual([
      [server.host, undefined, '8', undefined],
      [server.host, undefined, '5', undefined],
      [server.host, `Basic ${btoa('us@er:pw')}`, '0', undefined],
      ['example.com', undefined, '2', undefined],
      [server.host, undefined, undefined, undefined],
    ]);
  });
});

describe('a packed body of nodeHttp', { tags: ['share'] }, () => {
  it('ends where its packing ends: what follows is nobody’s, and its connection is closed', async () => {
    await using server = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write(Buffer.concat([gzipSync('all'), Buffer.alloc(10)]));
    });
    expect(await ask(nodeHttp(NO_PROXY), server.url)).toBe('all');
    await server.allClosed();
  });

  it('that goes on is unpacked chunk by chunk', async () => {
    await using server = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip, gzip' });
      createGzip()
        .end(gzipSync('x'.repeat(1_000_000)))
        .pipe(response);
    });
    expect((await ask(nodeHttp(NO_PROXY), server.url)).length).toBe(1_000_000);
  });
});
