import type { Socket } from 'node:net';
import type { HttpRequest, HttpResponse } from '@treadle/core';
import { testClock } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { post } from '../test-support/requests.ts';
import { serveBytes, type TestServer } from '../test-support/servers.ts';
import { nodeHttp, type NodeHttpOptions } from './node-http.ts';

const httpWith = (options: NodeHttpOptions = {}) => nodeHttp({ env: {}, ...options });
async function textOf({ body }: HttpResponse): Promise<string> {
  let text = '';
  for await (const chunk of body) text += Buffer.from(chunk).toString();
  return text;
}

const failure = (promise: Promise<unknown>): Promise<{ code?: string; message: string }> =>
  promise.then(
    () => ({ message: 'no failure at all' }),
    (error: unknown) => error as { code?: string; message: string },
  );

/** A server that answers each whole request with these bytes. */
const answering = (answer: string, then?: (socket: Socket) => void): Promise<TestServer> =>
  serveBytes((socket) => {
    socket.on('data', () => {
      socket.write(answer);
      then?.(socket);
    });
  });

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n';

describe('a connection', () => {
  it('is not used again when the server says that it closes it', async () => {
    await using server = await answering(`${OK}connection: close\r\n\r\nok`);
    const http = httpWith();
    for (let turn = 0; turn < 2; turn++) expect(await textOf(await http(post(server.url)))).toBe('ok');
    expect(server.connections()).toBe(2);
    await server.allClosed();
  });

  it('is used for as long as the server keeps it, less a second', async () => {
    await using server = await answering(`${OK}keep-alive: timeout=5\r\n\r\nok`);
    const clock = testClock();
    const http = httpWith({ clock });
    const connectionsAfter = async (ms: number): Promise<number> => {
      await clock.advance(ms);
      await textOf(await http(post(server.url)));
      return server.connections();
    };
    expect([await connectionsAfter(0), await connectionsAfter(3999), await connectionsAfter(4000)]).toEqual([1, 1, 2]);
  });

  it('is not used again after bytes that belong to no response', async () => {
    await using server = await answering(`${OK}\r\nokHTTP/1.1 200 OK\r\n`);
    const http = httpWith();
    for (let turn = 0; turn < 2; turn++) expect(await textOf(await http(post(server.url)))).toBe('ok');
    expect(server.connections()).toBe(2);
  });

  it('that ends is the end of a response without a length', async () => {
    await using server = await answering('HTTP/1.1 200 OK\r\n\r\nall of it', (socket) => socket.end());
    const http = httpWith();
    expect(await textOf(await http(post(server.url)))).toBe('all of it');
    expect(await textOf(await http(post(server.url)))).toBe('all of it');
    expect(server.connections()).toBe(2);
  });

  it('carries a request of its own for each that is asked at once', async () => {
    await using server = await answering(`${OK}\r\nok`);
    const http = httpWith();
    const ask = async (): Promise<string> => textOf(await http(post(server.url)));
    expect(await Promise.all([ask(), ask(), ask()])).toEqual(['ok', 'ok', 'ok']);
    expect(server.connections()).toBe(3);
    await Promise.all([ask(), ask(), ask()]);
    expect(server.connections()).toBe(3);
  });

  it('reads what is its own: what came on one stays until it is read, whatever comes on others', async () => {
    let connections = 0;
    await using server = await serveBytes((socket) => {
      const letter = String.fromCharCode(97 + connections++);
      socket.on('data', () => socket.write(`${OK}\r\n${letter}${letter}`));
    });
    const http = httpWith();
    const ask = (): Promise<HttpResponse> => http(post(server.url));
    const together = await Promise.all([ask(), ask(), ask()]);
    const texts: string[] = [];
    for (const response of together) texts.push(await textOf(response));
    expect(texts.sort()).toEqual(['aa', 'bb', 'cc']);
  });

  it('that is kept does not keep the process alive', async () => {
    await using server = await answering(`${OK}\r\nok`);
    const { execFile } = await import('node:child_process');
    const script = `
      const { nodeHttp } = await import('@treadle/models');
      const { body } = await nodeHttp({ env: {} })({ method: 'GET', url: ${JSON.stringify(server.url)}, headers: {} });
      for await (const chunk of body) console.log(String.fromCharCode(...chunk));`;
    const flags = ['--conditions=treadle-source', '--input-type=module', '-e', script];
    // Without a timeout: a process that lives on fails the test by the test's own.
    const printed = await new Promise((resolve) => {
      execFile(process.execPath, flags, (_error, stdout) => resolve(stdout));
    });
    expect(printed).toBe('ok\n');
  });
});

describe('a response', () => {
  it('that is not HTTP fails, and its connection is closed', async () => {
    await using server = await answering('SSH-2.0-OpenSSH_9.9\r\n\r\n');
    expect((await failure(httpWith()(post(server.url)))).code).toBe('TREADLE_MALFORMED_RESPONSE');
    await server.allClosed();
  });

  it('that breaks its framing inside the body delivers what came, then fails', async () => {
    await using server = await answering('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\noneXX');
    const { body } = await httpWith()(post(server.url));
    const chunks = body[Symbol.asyncIterator]();
    expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe('one');
    expect((await failure(chunks.next())).code).toBe('TREADLE_MALFORMED_RESPONSE');
    await server.allClosed();
  });

  it('may be announced before it comes', async () => {
    await using server = await answering(`HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n${OK}\r\nok`);
    const response = await httpWith()(post(server.url));
    expect([response.status, response.headers['link'], await textOf(response)]).toEqual([200, undefined, 'ok']);
  });

  it('that begins and breaks off on a kept connection is not asked for again', async () => {
    let requests = 0;
    await using server = await serveBytes((socket) => {
      socket.on('data', () => {
        if (requests++ === 0) socket.write(`${OK}\r\nok`);
        else socket.end('HTTP/1.1 2');
      });
    });
    const http = httpWith();
    await textOf(await http(post(server.url)));
    expect(await failure(http(post(server.url)))).toMatchObject({ code: 'ECONNRESET' });
    expect(requests).toBe(2);
  });
});

describe('the headers of a response', () => {
  it('can not be changed for the responses after it', async () => {
    await using server = await answering(`${OK}connection: keep-alive\r\n\r\nok`);
    const http = httpWith();
    const { headers, body } = await http(post(server.url));
    await textOf({ status: 200, headers, body });
    expect(() => Object.assign(headers, { connection: 'close' })).toThrow(TypeError);
    expect((await http(post(server.url))).headers).toEqual({ 'content-length': '2', connection: 'keep-alive' });
  });
});

describe('a request', () => {
  const sentBy = async (requestTo: (url: string) => HttpRequest): Promise<string> => {
    let sent = '';
    await using server = await serveBytes((socket) => {
      socket.on('data', (bytes) => {
        sent += bytes.toString('latin1');
        socket.write(`${OK}\r\nok`);
      });
    });
    await textOf(await httpWith()(requestTo(server.url)));
    return sent.replace(server.host, 'HOST');
  };

  it('has its own length, whatever its headers say, and the user of its address', async () => {
    const headers = { 'x-a': 'ä', 'content-length': '999', 'transfer-encoding': 'chunked' };
    const request = (url: string): HttpRequest => post(`${url.replace('//', '//us%40er:pw@')}/a b?c=d e`, { headers });
    expect(await sentBy(request)).toBe(
      'POST /a%20b?c=d%20e HTTP/1.1\r\nhost: HOST\r\nconnection: keep-alive\r\nauthorization: Basic dXNAZXI6cHc=\r\n' +
        'x-a: ä\r\ncontent-length: 2\r\n\r\n{}',
    );
  });

  it('has no length when it has no body and none is expected', async () => {
    expect(await sentBy((url) => ({ method: 'GET', url, headers: {} }))).not.toContain('content-length');
    expect(await sentBy((url) => ({ method: 'POST', url, headers: {} }))).toContain('content-length: 0');
    expect(await sentBy((url) => post(url, { body: '' }))).toContain('content-length: 0');
  });

  it('has the headers of its own, also those that were changed since the one before', async () => {
    let sent = '';
    await using server = await serveBytes((socket) => {
      socket.on('data', (bytes) => {
        sent += bytes.toString('latin1');
        socket.write(`${OK}\r\nok`);
      });
    });
    const http = httpWith();
    const changing: Record<string, string> = { 'x-a': '1' };
    const frozen = Object.freeze({ 'x-a': '3' });
    for (const headers of [changing, frozen, frozen, changing, Object.freeze({ 'x-a': '4' })]) {
      await textOf(await http(post(server.url, { headers })));
      changing['x-a'] = '2';
    }
    expect(sent.match(/x-a: \d/g)).toEqual(['x-a: 1', 'x-a: 3', 'x-a: 3', 'x-a: 2', 'x-a: 4']);
  });

  it.each<[Partial<HttpRequest>, string]>([
    [{ headers: { 'x-a: b\r\nx-c': 'd' } }, 'ERR_INVALID_HTTP_TOKEN'],
    [{ headers: { 'x-a': 'key-1\nx-c: d' } }, 'ERR_INVALID_CHAR'],
    [{ method: 'GET / HTTP/1.1\r\nx-a: b\r\n\r\nGET' as 'GET' }, 'ERR_INVALID_HTTP_TOKEN'],
  ])('%j is refused before anything is sent, without telling what may be secret', async (fields, code) => {
    await using server = await answering(`${OK}\r\nok`);
    const error = await failure(httpWith()(post(server.url, fields)));
    expect(error.code).toBe(code);
    expect(error.message).not.toContain('key-1');
    expect(server.connections()).toBe(0);
  });
});
