import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { HttpRequest } from '@treadle/core/ports';
import { testClock } from '@treadle/testing';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';

import { guardedHttp, type GuardedHttp } from './guarded-http.ts';
import { HttpProblem } from './problem.ts';
import { CERTIFICATE, KEY } from './test-support/certificate.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A server on this machine that counts who connects. */
async function listening(
  server: Server,
): Promise<{ port: number; connections: () => number; open: () => Promise<number> }> {
  let connections = 0;
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('error', () => {});
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  closing.push(async () => {
    const closed = new Promise<void>((done) => server.close(() => done()));
    if ('closeAllConnections' in server) (server as unknown as { closeAllConnections(): void }).closeAllConnections();
    await closed;
  });
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    open: () => new Promise((done) => server.getConnections((_error, count) => done(count))),
  };
}

const serve = (listener: RequestListener) => listening(createServer(listener));

const get = (http: GuardedHttp, url: string, rest: Partial<HttpRequest> = {}) =>
  http({ method: 'GET', url, headers: {}, ...rest });

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** The code a promise fails with. */
async function codeOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => 'nothing failed',
    (thrown: unknown) => thrown,
  );
  return error instanceof HttpProblem ? error.code : String(error);
}

const hello = (_request: IncomingMessage, response: ServerResponse): void => void response.end('hello');
const nobody = (): Promise<never> => Promise.reject(new Error('no such name'));

describe('an address that is not public', () => {
  const spellings = [
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '0x7f.1',
    '0x7f000001',
    '0X7F.0.0.1',
    '017700000001',
    '0177.0.0.1',
    '2130706433',
    '127.0.0.1.',
    '127.1.',
    '127%2e0%2e0%2e1',
    '%31%32%37.0.0.1',
    '127。0。0。1',
    '１２７.0.0.1',
    '⑫7.0.0.1',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[2002:7f00:1::]',
    '0.0.0.0',
    '0',
    '[::]',
    'localhost',
    'localhost.',
    'LOCALHOST',
  ];

  it.each(spellings)('T26: %s is refused before anything is connected to', async (host) => {
    const { port, connections } = await serve(hello);
    expect(await codeOf(get(guardedHttp(), `http://${host}:${port}/`))).toBe('address_refused');
    expect(connections()).toBe(0);
  });

  it.each([
    '169.254.169.254',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '[fe80::a9fe:a9fe]',
  ])("T26: a cloud's metadata at %s is refused", async (host) => {
    const problem = get(guardedHttp(), `http://${host}/latest/meta-data/`);
    expect(await codeOf(problem)).toBe('address_refused');
  });

  it('T26: is refused in every spelling that a URL may have', async () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const address = fc.oneof(
      fc.tuple(fc.constantFrom(0, 10, 127), byte, byte, byte),
      fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
      fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
      fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
      fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
      fc.tuple(fc.integer({ min: 224, max: 255 }), byte, byte, byte),
    );
    const number = fc.constantFrom(
      (value: number) => String(value),
      (value: number) => `0x${value.toString(16)}`,
      (value: number) => `0X${value.toString(16).toUpperCase().padStart(6, '0')}`,
      (value: number) => `0${value.toString(8)}`,
      (value: number) => [...String(value)].map((digit) => `%3${digit}`).join(''),
      (value: number) => [...String(value)].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join(''),
    );
    const parts = fc.integer({ min: 1, max: 4 });
    const dot = fc.constantFrom('.', '%2e', '。', '．', '｡');
    const spelt = fc.tuple(address, parts, fc.tuple(number, number, number, number), dot, fc.constantFrom('', '.'));
    const http = guardedHttp({ resolve: nobody });
    await fc.assert(
      fc.asyncProperty(spelt, async ([bytes, count, forms, dot, end]) => {
        const whole = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
        const values: number[] = [...bytes.slice(0, count - 1), whole % 256 ** (5 - count)];
        const host = values.map((value, index) => forms[index]?.(value) ?? '').join(dot);
        expect([host, await codeOf(get(http, `http://${host}${end}/`))]).toEqual([host, 'address_refused']);
      }),
      { numRuns: 300 },
    );
  });

  it('T26: is refused when a name leads to it, though another address of the name is public', async () => {
    const { port, connections } = await serve(hello);
    for (const answers of [
      ['127.0.0.1'],
      ['1.1.1.1', '127.0.0.1'],
      ['::ffff:127.0.0.1'],
      ['fe80::1%lo'],
      ['rubbish'],
    ]) {
      const http = guardedHttp({ resolve: async () => answers });
      expect(await codeOf(get(http, `http://public.example:${port}/`))).toBe('address_refused');
    }
    expect(connections()).toBe(0);
  });

  it('T26: is not reached by a name that changes its answer: it is looked up once per request, and that answer is used', async () => {
    const { port, connections } = await serve(hello);
    const asked: string[] = [];
    // 192.0.2.1 is nobody's: allowed here, so that the first answer passes and the second would not.
    const answers = ['192.0.2.1', '127.0.0.1'];
    const clock = testClock();
    const http = guardedHttp({
      allow: ['192.0.2.0/24'],
      clock,
      resolve: async (name) => {
        asked.push(name);
        return [answers[Math.min(asked.length, 2) - 1] ?? ''];
      },
    });
    const first = codeOf(get(http, `http://rebinding.example:${port}/`));
    await clock.advance(10_000);
    expect(['idle_timeout', 'connection_failed']).toContain(await first);
    expect(asked).toEqual(['rebinding.example']);
    expect(await codeOf(get(http, `http://rebinding.example:${port}/`))).toBe('address_refused');
    expect(connections()).toBe(0);
  });

  it('is connected to as it was checked, and the server still sees the name', async () => {
    const { port } = await serve((request, response) => response.end(request.headers.host));
    const http = guardedHttp({ allow: ['127.0.0.1'], resolve: async () => ['127.0.0.1'] });
    const response = await get(http, `http://Shop.Example.:${port}/`);
    expect(await textOf(response.body)).toBe(`shop.example:${port}`);
  });

  it.each(['http://127.0.0.1:PORT/', 'http://0x7f.1:PORT/', '//localhost:PORT/', 'http://[::ffff:127.0.0.1]:PORT/'])(
    'T26: is refused when a redirect leads to it: %s',
    async (location) => {
      const inner = await serve(hello);
      const outer = await serve((_request, response) => {
        response.writeHead(302, { location: location.replace('PORT', String(inner.port)) }).end();
      });
      // The outer server's own name is allowed, and nothing else.
      const resolve = async (name: string): Promise<string[]> =>
        ['outer.example', 'localhost'].includes(name) ? ['127.0.0.1'] : [];
      const http = guardedHttp({ allow: ['outer.example'], resolve });
      expect(await codeOf(get(http, `http://outer.example:${outer.port}/`))).toBe('address_refused');
      expect([outer.connections(), inner.connections()]).toEqual([1, 0]);
    },
  );

  it.each(['file:///etc/passwd', 'gopher://127.0.0.1:70/', 'ftp://example.com/', 'data:text/plain,a', 'javascript:1'])(
    'T26: %s is refused, also behind a redirect',
    async (url) => {
      expect(await codeOf(get(guardedHttp(), url))).toBe('bad_scheme');
      const { port } = await serve((_request, response) => response.writeHead(302, { location: url }).end());
      expect(await codeOf(get(guardedHttp({ allow: ['127.0.0.1'] }), `http://127.0.0.1:${port}/`))).toBe('bad_scheme');
    },
  );

  it.each([
    '/relative',
    'example.com',
    '',
    'http://',
    'http://user@example.com/',
    'http://a:b@127.0.0.1/',
    'http://1.2.3.4.5/',
  ])('%j is no URL to ask', async (url) => {
    expect(await codeOf(get(guardedHttp({ resolve: nobody }), url))).toBe('bad_url');
  });
});

describe('what is allowed', () => {
  it.each([['127.0.0.1'], ['127.0.0.0/8'], ['*.example'], ['intranet.example.']])(
    'by %s can be asked',
    async (entry) => {
      const { port } = await serve(hello);
      const http = guardedHttp({ allow: [entry], resolve: async () => ['127.0.0.1'] });
      const response = await get(http, `http://intranet.example:${port}/`);
      expect([response.status, response.url, await textOf(response.body)]).toEqual([
        200,
        `http://intranet.example:${port}/`,
        'hello',
      ]);
    },
  );

  it.each(['http://a.example', '10.0.0.0/40', 'a b', '1.2.3', ''])('is not said by %j', (entry) => {
    expect(() => guardedHttp({ allow: [entry] })).toThrow(/allow:/);
  });

  it('says nothing of other hosts and addresses', async () => {
    const http = guardedHttp({ allow: ['intranet.example', '127.0.0.2'], resolve: async () => ['127.0.0.1'] });
    for (const host of ['example', 'a.intranet.example', 'intranet.example.evil', '127.0.0.1', '[::ffff:127.0.0.2]']) {
      expect([host, await codeOf(get(http, `http://${host}/`))]).toEqual([host, 'address_refused']);
    }
  });

  it('is tried at each of its addresses until one answers', async () => {
    const { port } = await serve(hello);
    const http = guardedHttp({ allow: ['127.0.0.0/8', '::1'], resolve: async () => ['127.0.0.9', '127.0.0.1'] });
    expect((await get(http, `http://intranet.example:${port}/`)).status).toBe(200);
    const nobodyThere = guardedHttp({ allow: ['127.0.0.9'], resolve: async () => ['127.0.0.9'] });
    expect(await codeOf(get(nobodyThere, `http://intranet.example:${port}/`))).toBe('connection_failed');
    expect(await codeOf(get(guardedHttp({ resolve: nobody }), 'http://intranet.example/'))).toBe('name_not_found');
  });
});

describe('a redirect', () => {
  const http = (rest: object = {}) =>
    guardedHttp({ allow: ['127.0.0.1', 'other.example'], resolve: async () => ['127.0.0.1'], ...rest });
  const secret = { authorization: 'Bearer canary', cookie: 'a=canary', 'x-api-key': 'canary', accept: 'text/plain' };

  it('to the same origin takes all headers along, to another only those that say nothing of who asks', async () => {
    let location = '/end';
    const { port } = await serve((request, response) => {
      if (request.url === '/start') response.writeHead(302, { location }).end();
      else response.end(JSON.stringify(request.headers));
    });
    const ask = async (): Promise<string> =>
      textOf((await get(http(), `http://127.0.0.1:${port}/start`, { headers: secret })).body);
    expect(JSON.parse(await ask())).toMatchObject(secret);
    location = `http://other.example:${port}/end`;
    const elsewhere = await ask();
    expect(elsewhere).not.toContain('canary');
    expect(JSON.parse(elsewhere)).toMatchObject({ accept: 'text/plain', host: `other.example:${port}` });
  });

  it.each([
    [301, 'POST', 'GET '],
    [302, 'POST', 'GET '],
    [303, 'PUT', 'GET '],
    [307, 'POST', 'POST body'],
    [308, 'PUT', 'PUT body'],
  ] as const)('of status %i after %s asks as it should', async (status, method, expected) => {
    const { port } = await serve((request, response) => {
      if (request.url === '/start') return void response.writeHead(status, { location: '/end' }).end();
      void textOf(request).then((body) => response.end(`${request.method} ${body}`));
    });
    const response = await get(http(), `http://127.0.0.1:${port}/start`, { method, body: 'body' });
    expect(await textOf(response.body)).toBe(expected);
  });

  it('never takes a body to another server', async () => {
    const { port, connections } = await serve((_request, response) => {
      response.writeHead(307, { location: `http://other.example:${port}/` }).end();
    });
    const problem = get(http(), `http://127.0.0.1:${port}/`, { method: 'POST', body: 'canary' });
    expect([await codeOf(problem), connections()]).toEqual(['redirect_refused', 1]);
  });

  it('is followed so often, and no further', async () => {
    const { port } = await serve((_request, response) => void response.writeHead(302, { location: '/' }).end());
    expect(await codeOf(get(http(), `http://127.0.0.1:${port}/`))).toBe('redirect_refused');
  });

  it('is the response where it is not to be followed', async () => {
    const { port } = await serve((request, response) => {
      const location = request.url === '/host' ? `http://other.example:${port}/` : '/host';
      response.writeHead(302, { location }).end('moved');
    });
    const none = await get(http({ redirects: 'none' }), `http://127.0.0.1:${port}/`);
    const sameHost = await get(http({ redirects: 'same-host' }), `http://127.0.0.1:${port}/`);
    expect([none.headers['location'], await textOf(none.body)]).toEqual(['/host', 'moved']);
    expect([sameHost.url, sameHost.headers['location']]).toEqual([
      `http://127.0.0.1:${port}/host`,
      `http://other.example:${port}/`,
    ]);
    await textOf(sameHost.body);
  });
});

describe('a response', () => {
  const http = (rest: object = {}) => guardedHttp({ allow: ['127.0.0.1'], ...rest });

  it('T30: of a gigabyte is cut off at the limit, and its connection closed', async () => {
    let sent = 0;
    const megabyte = Buffer.alloc(1024 * 1024);
    const { port, open } = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': String(1024 * 1024 * 1024) });
      const pump = (): void => {
        while (sent < 1024 && !response.destroyed) {
          sent += 1;
          if (!response.write(megabyte)) return void response.once('drain', pump);
        }
      };
      pump();
    });
    const before = process.memoryUsage().rss;
    const response = await get(http(), `http://127.0.0.1:${port}/`);
    expect(await codeOf(textOf(response.body))).toBe('response_too_large');
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    expect(sent).toBeLessThan(100);
    await expect.poll(open).toBe(0);
  });

  it('T30: that unpacks to a gigabyte is cut off at the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(100_000);
    const { port } = await serve(
      (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    const response = await get(http(), `http://127.0.0.1:${port}/`);
    expect(await codeOf(textOf(response.body))).toBe('response_too_large');
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('in %s that grows two hundredfold is a bomb, however large it may be', async (encoding, pack) => {
    const bomb = pack(Buffer.alloc(8 * 1024 * 1024));
    const { port, open } = await serve(
      (_request, response) => void response.writeHead(200, { 'content-encoding': encoding }).end(bomb),
    );
    const response = await get(http(), `http://127.0.0.1:${port}/`);
    await expect(textOf(response.body)).rejects.toMatchObject({
      code: 'response_too_large',
      message: expect.stringContaining('unpacks to more than 200 times its size') as string,
    });
    await expect.poll(open).toBe(0);
  });

  it('that unpacks to a hundred times its size is read', async () => {
    const text = Array.from({ length: 100_000 }, (_, line) => `GET /health 200 ${'-'.repeat(100)} ${line}\n`).join('');
    const packed = gzipSync(text.slice(0, 8 * 1024 * 1024), { level: 9 });
    const { port } = await serve(
      (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
    );
    const response = await get(http(), `http://127.0.0.1:${port}/`);
    expect((await textOf(response.body)).length).toBe(8 * 1024 * 1024);
  });

  it('T30: with endless headers is refused', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {}).resume();
      socket.write(`HTTP/1.1 200 OK\r\n${'x-filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n'.repeat(2000)}`);
    });
    const { port } = await listening(server);
    expect(await codeOf(get(http(), `http://127.0.0.1:${port}/`))).toBe('headers_too_large');
  });

  it('T30: that comes byte by byte ends at the time limit, in the head as in the body', async () => {
    for (const begin of ['HTTP/1.1 200 OK\r\nx-slow: ', 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n']) {
      const clock = testClock();
      const arrived = Promise.withResolvers<(text: string) => void>();
      const server = createTcpServer((socket) => {
        socket.on('error', () => {}).resume();
        socket.write(begin);
        arrived.resolve((text) => void socket.write(text));
      });
      const { port, open } = await listening(server);
      const work = get(http({ clock }), `http://127.0.0.1:${port}/`).then(({ body }) => textOf(body));
      const code = codeOf(work);
      const write = await arrived.promise;
      let isOver = false;
      void code.then(() => (isOver = true));
      // A byte every 5 seconds is never idle for 10, and 30 seconds are all there is.
      for (let seconds = 0; seconds < 60 && !isOver; seconds += 5) {
        write('a');
        await clock.advance(5_000);
      }
      expect(['timeout', 'idle_timeout']).toContain(await code);
      await expect.poll(open).toBe(0);
      expect(clock.pending).toBe(0);
    }
  });

  it('T30: that stops coming ends at the idle limit', async () => {
    const clock = testClock();
    const { port, open } = await serve((_request, response) => void response.writeHead(200).write('begun'));
    const { body } = await get(http({ clock }), `http://127.0.0.1:${port}/`);
    const reading = codeOf(textOf(body));
    await expect.poll(() => clock.pending).toBe(2);
    await clock.advance(20_000);
    expect(await reading).toBe('idle_timeout');
    await expect.poll(open).toBe(0);
  });

  it('T30: whose body nobody reads is let go of when its time is over', async () => {
    const clock = testClock();
    const { port, open } = await serve((_request, response) => void response.writeHead(200).write('begun'));
    await get(http({ clock }), `http://127.0.0.1:${port}/`);
    await clock.advance(30_000);
    await expect.poll(open).toBe(0);
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('in %s is unpacked', async (encoding, pack) => {
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(pack('hello'));
    });
    expect(await textOf((await get(http(), `http://127.0.0.1:${port}/`)).body)).toBe('hello');
  });

  it('in an encoding that it is not in, or that nobody knows, is an error', async () => {
    let encoding = 'gzip';
    const { port, open } = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end('no gzip');
    });
    const ask = () => get(http(), `http://127.0.0.1:${port}/`).then(({ body }) => textOf(body));
    expect(await codeOf(ask())).toBe('bad_encoding');
    encoding = 'gzip, gzip';
    expect(await codeOf(ask())).toBe('bad_encoding');
    await expect.poll(open).toBe(0);
  });

  it('that breaks off is an error and not a short answer', async () => {
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy());
    });
    const { body } = await get(http(), `http://127.0.0.1:${port}/`);
    expect(await codeOf(textOf(body))).toBe('connection_failed');
  });

  it('that its reader leaves is closed', async () => {
    const { port, open } = await serve((_request, response) => void response.writeHead(200).write('begun'));
    const { body } = await get(http(), `http://127.0.0.1:${port}/`);
    for await (const chunk of body) {
      expect(String(Buffer.from(chunk))).toBe('begun');
      break;
    }
    await expect.poll(open).toBe(0);
  });

  it.each(['before', 'while it is waited for', 'in its body'])('is given up when it is aborted %s', async (when) => {
    const abort = new AbortController();
    const asked = Promise.withResolvers<void>();
    const { port, open } = await serve((_request, response) => {
      asked.resolve();
      if (when === 'in its body') response.writeHead(200).write('begun');
    });
    if (when === 'before') abort.abort();
    const work = get(http(), `http://127.0.0.1:${port}/`, { signal: abort.signal }).then(({ body }) => textOf(body));
    const code = codeOf(work);
    if (when !== 'before') await asked.promise;
    abort.abort();
    expect(await code).toBe('aborted');
    await expect.poll(open).toBe(0);
  });

  it('never shows the query of its address in an error', async () => {
    const { port } = await serve(hello);
    const message = await get(guardedHttp(), `http://127.0.0.1:${port}/path?key=canary`).catch(String);
    expect(message).toContain('/path was not asked');
    expect(message).not.toContain('canary');
  });
});

it("leaves a transport's own headers to the transport", async () => {
  const { port } = await serve((request, response) => response.end(JSON.stringify(request.headers)));
  const headers = {
    Host: 'evil.example',
    'Content-Length': '0',
    'Transfer-Encoding': 'chunked',
    Connection: 'upgrade',
    'X-A': 'b',
  };
  const response = await get(guardedHttp({ allow: ['127.0.0.1'] }), `http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers,
    body: 'four',
  });
  const sent: unknown = JSON.parse(await textOf(response.body));
  expect(sent).toMatchObject({ host: `127.0.0.1:${port}`, 'content-length': '4', connection: 'close', 'x-a': 'b' });
  expect(sent).not.toHaveProperty('transfer-encoding');
});

describe('over TLS', () => {
  const names: unknown[] = [];
  const secure = () =>
    listening(
      createSecureServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
        names.push((request.socket as { servername?: unknown }).servername);
        response.end('secret');
      }),
    );
  const http = (ca?: string) =>
    guardedHttp({ allow: ['127.0.0.1'], resolve: async () => ['127.0.0.1'], ...(ca === undefined ? {} : { ca }) });

  it("the certificate has to be the name's, although the connection is to an address", async () => {
    const { port } = await secure();
    const { body } = await get(http(CERTIFICATE), `https://shop.example:${port}/`);
    expect([await textOf(body), names.at(-1)]).toEqual(['secret', 'shop.example']);
    for (const url of [`https://other.example:${port}/`, `https://127.0.0.1:${port}/`]) {
      expect(await codeOf(get(http(CERTIFICATE), url))).toBe('connection_failed');
    }
    expect(await codeOf(get(http(), `https://shop.example:${port}/`))).toBe('connection_failed');
    expect(names).toHaveLength(1);
  });
});
