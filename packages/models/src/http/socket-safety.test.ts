import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { getEventListeners } from 'node:events';
import type { Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { Http, HttpRequest, HttpResponse } from '@treadle/core';
import { testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { post } from '../test-support/requests.ts';
import { serve, serveBytes, type TestServer } from '../test-support/servers.ts';
import { nodeHttp } from './node-http.ts';

// What must hold when a server, a network or a caller is at odds with us.

async function textOf({ body }: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const failure = (promise: Promise<unknown>): Promise<{ code?: string; message: string }> =>
  promise.then(
    () => ({ message: 'no failure at all' }),
    (error: unknown) => error as { code?: string; message: string },
  );

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n';

/** A server that answers each whole request with these bytes, and has its connections at hand. */
async function answering(answer: string | Buffer): Promise<TestServer & { sockets: Socket[]; requests(): number }> {
  const sockets: Socket[] = [];
  let requests = 0;
  const server = await serveBytes((socket) => {
    sockets.push(socket);
    socket.on('data', () => {
      requests++;
      socket.write(answer);
    });
  });
  return { ...server, sockets, requests: () => requests };
}

const ask = async (http: Http, url: string, fields?: Partial<HttpRequest>): Promise<string> =>
  textOf(await http(post(url, fields)));

describe('a kept connection', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['is sent bytes', (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil')],
    ['is ended', (socket) => socket.end()],
    ['is reset', (socket) => socket.resetAndDestroy()],
  ])('that %s while it waits is closed and not used again', async (_what, act) => {
    await using server = await answering(`${OK}\r\nok`);
    const http = nodeHttp({ env: {} });
    await ask(http, server.url);
    for (const socket of server.sockets) act(socket);
    await server.allClosed();
    expect(await ask(http, server.url)).toBe('ok');
    expect([server.connections(), server.requests()]).toEqual([2, 2]);
  });

  it.each<[string, (socket: Socket) => void]>([
    [
      'told it of a timeout',
      (socket) => socket.end('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'),
    ],
    ['ended it', (socket) => socket.end()],
    ['reset it', (socket) => socket.resetAndDestroy()],
  ])('that waited a second is read before it is written to: its server %s, unseen', async (_what, act) => {
    await using server = await answering(`${OK}\r\nok`);
    const clock = testClock();
    const http = nodeHttp({ env: {}, clock });
    await ask(http, server.url);
    await clock.advance(1000);
    // In one go: what the server does has no time to be seen before the next request is made.
    for (const socket of server.sockets) act(socket);
    const response = await http(post(server.url));
    expect([response.status, await textOf(response)]).toEqual([200, 'ok']);
    // Nothing was sent on the old one, so nothing was done twice.
    expect([server.connections(), server.requests()]).toEqual([2, 2]);
  });

  it('that waited a second and is still there is used', async () => {
    await using server = await answering(`${OK}\r\nok`);
    const clock = testClock();
    const http = nodeHttp({ env: {}, clock });
    for (let turn = 0; turn < 3; turn++) {
      expect(await ask(http, server.url)).toBe('ok');
      await clock.advance(60_000);
    }
    expect(server.connections()).toBe(1);
  });

  it('can be left before anything was written to it', async () => {
    await using server = await answering(`${OK}\r\nok`);
    const clock = testClock();
    const http = nodeHttp({ env: {}, clock });
    await ask(http, server.url);
    await clock.advance(1000);
    const control = new AbortController();
    const asked = failure(http(post(server.url, { signal: control.signal })));
    control.abort(new Error('enough'));
    expect((await asked).message).toBe('enough');
    await server.allClosed();
    expect(server.requests()).toBe(1);
  });

  it('is closed when the request asks for that, even if the server would keep it', async () => {
    await using server = await answering(`${OK}\r\nok`);
    const http = nodeHttp({ env: {} });
    for (let turn = 0; turn < 2; turn++) await ask(http, server.url, { headers: { Connection: 'Close' } });
    await server.allClosed();
    expect(server.connections()).toBe(2);
  });

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\n\r\n'],
    ['HEAD', 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 20\r\n\r\n'],
    ['GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['GET', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n'],
  ] as const)('stays after a response to %s that has no body: %j', async (method, answer) => {
    await using server = await answering(answer);
    const http = nodeHttp({ env: {} });
    for (let turn = 0; turn < 2; turn++) {
      expect(await textOf(await http({ method, url: server.url, headers: {} }))).toBe('');
    }
    expect(server.connections()).toBe(1);
  });

  it('is one of at most so many addresses: the one asked longest ago is forgotten', async () => {
    const servers: TestServer[] = [];
    const http = nodeHttp({ env: {} });
    for (let at = 0; at < 257; at++) {
      const server = await answering(`${OK}\r\nok`);
      servers.push(server);
      await ask(http, server.url);
      // Asked again, it stays.
      if (at === 255) await ask(http, servers[0]?.url ?? '');
    }
    await servers[1]?.allClosed();
    expect(servers.map((server) => server.open()).filter((open) => open !== 1)).toEqual([0]);
    expect(servers[0]?.connections()).toBe(1);
    for (const server of servers) await server[Symbol.asyncDispose]();
  });
});

describe('a thousand requests', () => {
  it('one after the other leave no timer and no listener behind', async () => {
    await using server = await answering(`${OK}\r\nok`);
    const sockets: Socket[] = [];
    const note = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
    subscribe('net.client.socket', note);
    try {
      const http = nodeHttp({ env: {} });
      const { signal } = new AbortController();
      const listeners = (): number[] =>
        sockets.map((socket) => socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0));
      const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
      await ask(http, server.url, { signal });
      const [listenersBefore, timersBefore] = [listeners(), timers()];
      for (let turn = 0; turn < 1000; turn++) await ask(http, server.url, { signal });
      expect(listeners()).toEqual(listenersBefore);
      expect(timers()).toBeLessThanOrEqual(timersBefore);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
      expect(server.connections()).toBe(1);
    } finally {
      unsubscribe('net.client.socket', note);
    }
  });

  it('at once are all answered, and no more than 1,024 connections are kept', async () => {
    await using server = await answering(`${OK}\r\nok`);
    const http = nodeHttp({ env: {} });
    const replies = await Promise.all(Array.from({ length: 1100 }, () => ask(http, server.url)));
    expect(replies.every((reply) => reply === 'ok')).toBe(true);
    while (server.open() > 1024) await new Promise((resolve) => setImmediate(resolve));
    expect([server.connections(), server.open()]).toEqual([1100, 1024]);
  });

  it('at once on kept connections are all answered, but for those that are aborted before they are sent', async () => {
    await using server = await answering(`${OK}\r\nok`);
    const http = nodeHttp({ env: {} });
    const askAll = (signals: readonly AbortSignal[]): Promise<string>[] =>
      signals.map((signal) => ask(http, server.url, { signal }));
    const never = Array.from({ length: 100 }, () => new AbortController().signal);
    await Promise.all(askAll(never));
    // So many that the last ones wait for the end of the tick: in groups of 16, four of a hundred are left.
    const control = new AbortController();
    const replies = askAll(never.map((signal, index) => (index === 97 ? control.signal : signal)));
    control.abort();
    const outcomes = await Promise.allSettled(replies);
    expect(outcomes.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([97]);
    expect(server.connections()).toBe(100);
  });
});

describe('an abort', () => {
  const aborted = async (url: string, until: Promise<unknown>, fields: Partial<HttpRequest> = {}): Promise<void> => {
    const control = new AbortController();
    let settled = 0;
    const asked = nodeHttp({ env: {} })(post(url, { signal: control.signal, ...fields }));
    const count = (): void => void settled++;
    asked.then(count, count);
    const failed = failure(asked);
    await until;
    control.abort(new Error('enough'));
    control.abort(new Error('more than enough'));
    expect((await failed).message).toBe('enough');
    expect(settled).toBe(1);
    expect(getEventListeners(control.signal, 'abort')).toEqual([]);
  };

  it('while the host’s name is looked up ends the request', async () => {
    await using server = await answering(`${OK}\r\nok`);
    await aborted(server.url, Promise.resolve());
    await server.allClosed();
    expect(server.requests()).toBe(0);
  });

  it('while it connects ends the request', async () => {
    await using server = await answering(`${OK}\r\nok`);
    await aborted(server.url.replace('localhost', '127.0.0.1'), Promise.resolve());
    await server.allClosed();
    expect(server.requests()).toBe(0);
  });

  it('in the middle of the agreement on TLS closes the connection', async () => {
    let arrived = (): void => undefined;
    const hello = new Promise<void>((resolve) => (arrived = resolve));
    await using server = await serveBytes((socket) => void socket.once('data', arrived));
    await aborted(server.url.replace('http:', 'https:'), hello);
    await server.allClosed();
  });

  it('in the middle of sending closes the connection', async () => {
    let arrived = (): void => undefined;
    const begun = new Promise<void>((resolve) => (arrived = resolve));
    const held: Socket[] = [];
    // It reads a little, and no more for the time being: the rest can't be sent.
    await using server = await serveBytes((socket) => {
      held.push(socket);
      socket.once('data', () => {
        socket.pause();
        arrived();
      });
    });
    const body = Array.from({ length: 64 }, () => new Uint8Array(1024 * 1024));
    await aborted(server.url, begun, { body });
    // It would see the end only when it has read what came before.
    for (const socket of held) socket.resume();
    await server.allClosed();
    expect(held.map((socket) => socket.bytesRead < 64 * 1024 * 1024)).toEqual([true]);
  });

  it('of a packed body that has come, but was not read, reaches its reader', async () => {
    const packed = gzipSync(Buffer.alloc(8 * 1024 * 1024));
    const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`;
    await using server = await answering(Buffer.concat([Buffer.from(head), packed]));
    const control = new AbortController();
    const response = await nodeHttp({ env: {} })(post(server.url, { signal: control.signal }));
    const chunks = response.body[Symbol.asyncIterator]();
    await chunks.next();
    control.abort(new Error('enough'));
    let error: unknown;
    for (let turn = 0; turn < 1000 && error === undefined; turn++)
      await chunks.next().catch((e: unknown) => (error = e));
    expect(error).toMatchObject({ message: 'enough' });
    expect(getEventListeners(control.signal, 'abort')).toEqual([]);
  });
});

describe('a request', () => {
  it.each(['ftp://localhost/', 'file:///etc/passwd', 'ws://localhost/', 'data:text/plain,a'])(
    'to %s is refused',
    async (url) => {
      expect((await failure(nodeHttp({ env: {} })(post(url)))).code).toBe('ERR_INVALID_PROTOCOL');
    },
  );

  it('that is answered before it was sent is not followed by another on its connection', async () => {
    await using server = await serveBytes((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno');
      });
    });
    const http = nodeHttp({ env: {} });
    const body = Array.from({ length: 64 }, () => new Uint8Array(1024 * 1024));
    for (let turn = 0; turn < 2; turn++) {
      const response = await http(post(server.url, { body }));
      expect([response.status, await textOf(response)]).toEqual([413, 'no']);
    }
    expect(server.connections()).toBe(2);
  });

  it('on a new connection is not sent again, even if that is closed without a byte', async () => {
    let requests = 0;
    await using server = await serveBytes((socket) => {
      socket.on('data', () => {
        requests++;
        socket.resetAndDestroy();
      });
    });
    expect((await failure(nodeHttp({ env: {} })(post(server.url)))).code).toBe('ECONNRESET');
    expect(requests).toBe(1);
  });
});

const PACKERS = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
] as const;

const respond = (encoding: string, body: Buffer): Promise<TestServer> =>
  serve((_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body));

describe('a packed body', () => {
  it.each(PACKERS)('in %s is unpacked, and is not whole when it breaks off', async (encoding, pack) => {
    const text = Array.from({ length: 2000 }, (_, at) => `line ${at * 7919}`).join('\n');
    const packed = pack(Buffer.from(text));
    await using whole = await respond(encoding, packed);
    expect(await ask(nodeHttp({ env: {} }), whole.url)).toBe(text);
    await using cut = await respond(encoding, packed.subarray(0, -5));
    expect((await failure(ask(nodeHttp({ env: {} }), cut.url))).message).not.toBe('no failure at all');
  });

  it.each(PACKERS)('in %s that is empty is empty', async (encoding) => {
    await using server = await respond(encoding, Buffer.alloc(0));
    expect(await ask(nodeHttp({ env: {} }), server.url)).toBe('');
  });

  it('in gzip may have several members', async () => {
    await using server = await respond('GZip', Buffer.concat([gzipSync('one '), gzipSync('two')]));
    expect(await ask(nodeHttp({ env: {} }), server.url)).toBe('one two');
  });

  it('ends where its packing ends: what follows is nobody’s, and its connection is closed', async () => {
    await using server = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write(Buffer.concat([gzipSync('all'), Buffer.alloc(10)]));
    });
    expect(await ask(nodeHttp({ env: {} }), server.url)).toBe('all');
    await server.allClosed();
  });

  it('that grows a thousandfold is unpacked only as fast as it is read', async () => {
    await using server = await respond('gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024)));
    const { body } = await nodeHttp({ env: {} })(post(server.url));
    const chunks = body[Symbol.asyncIterator]();
    const before = process.memoryUsage().arrayBuffers;
    await chunks.next();
    for (let turn = 0; turn < 3000; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
    await chunks.return?.();
  });
});
