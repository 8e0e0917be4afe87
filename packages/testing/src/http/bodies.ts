import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { ask, failureOf, nextText, post, textOf, type HttpCases } from './case.ts';
import { begin, serve, serveBytes, type CaseServer } from './server.ts';

const LINES = Array.from({ length: 2000 }, (_, index) => `line ${index * 7919}`).join('\n');

type Pack = (bytes: Uint8Array) => Uint8Array;

const PACKERS: Readonly<Record<string, Pack>> = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

const packed = (codings: readonly string[]): Uint8Array =>
  codings.reduce<Uint8Array>((bytes, coding) => PACKERS[coding]?.(bytes) ?? bytes, Buffer.from(LINES));

const respond = (encoding: string, body: Uint8Array): Promise<CaseServer> =>
  serve((_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body));

const unpacks = (encoding: string): HttpCases => ({
  async [`unpacks ${encoding}`](create) {
    await using server = await respond(encoding, packed(encoding.toLowerCase().split(', ')));
    assert.equal(await ask(create({}), server.url), LINES);
  },
});

const refuses = (encoding: string): HttpCases => ({
  async [`refuses the content encoding ${encoding}, hands nothing on, and closes the connection`](create) {
    for (const isWhole of [true, false]) {
      await using server = await serve((_, response) => {
        response.writeHead(200, { 'content-encoding': encoding, ...(isWhole ? { connection: 'close' } : {}) });
        response.write('something');
        if (isWhole) response.end();
      });
      const error = await failureOf(ask(create({}), server.url));
      assert.equal(error.code, 'TREADLE_CONTENT_ENCODING');
      assert.match(error.message, /content encoding/);
      await server.allClosed();
    }
  },
});

/** Requests and responses that arrive whole. */
export const bodyCases: HttpCases = {
  async 'sends method, headers and body, and streams the response'(create) {
    let seen = '';
    await using server = await serve((request, response) => {
      void text(request).then((body) => {
        seen = `${request.method} ${request.url} ${String(request.headers['x-test'])} ${body}`;
        response.writeHead(201, { 'X-Reply': 'a' });
        response.write('first ');
        response.end('sécond');
      });
    });
    const response = await create({})(post(`${server.url}/a?q=1`, { headers: { 'X-Test': 'yes' }, body: '{"ü":1}' }));
    assert.equal(response.status, 201);
    assert.equal(response.headers['x-reply'], 'a');
    assert.equal(await textOf(response), 'first sécond');
    assert.equal(seen, 'POST /a?q=1 yes {"ü":1}');
  },
  async 'sends a long body and a short one, each with its own length'(create) {
    const seen: unknown[] = [];
    await using server = await serve((request, response) => {
      void text(request).then((body) => {
        const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
        seen.push({ body, length, coding });
        response.end();
      });
    });
    const http = create({});
    const bodies = [`{"ü":"${'x'.repeat(300_000)}🦊"}`, '{"ü":"'];
    const headers = { 'Content-Length': '999', 'Transfer-Encoding': 'chunked' };
    for (const body of bodies) await ask(http, server.url, { headers, body: new TextEncoder().encode(body) });
    assert.deepEqual(
      seen,
      bodies.map((body) => ({ body, length: String(Buffer.byteLength(body)), coding: undefined })),
    );
  },
  async 'refuses a header that would be two, without telling its value'(create) {
    await using server = await serve((_, response) => response.end());
    const http = create({});
    const refused = {
      ERR_INVALID_CHAR: { 'x-a': 'secret\r\nx-c: d' },
      ERR_INVALID_HTTP_TOKEN: { 'x-a: b\r\nx-c': 'd' },
    };
    for (const [code, headers] of Object.entries(refused)) {
      const error = await failureOf(http(post(server.url, { headers })));
      assert.equal(error.code, code);
      assert.doesNotMatch(error.message, /secret/);
    }
    assert.equal(server.connections(), 0);
  },
  async 'delivers each chunk when it comes, and ends once'(create) {
    const two = Promise.withResolvers<void>();
    await using server = await serve((_, response) => {
      begin(response).write('one');
      void two.promise.then(() => response.end('two'));
    });
    const { body } = await create({})(post(server.url));
    const chunks = body[Symbol.asyncIterator]();
    assert.equal(await nextText(chunks), 'one');
    two.resolve();
    assert.equal(await nextText(chunks), 'two');
    assert.equal(await nextText(chunks), undefined);
    assert.equal(await nextText(chunks), undefined);
  },
  ...unpacks('gzip'),
  ...unpacks('deflate'),
  ...unpacks('br'),
  ...unpacks('GZip'),
  ...unpacks('gzip, br'),
  ...unpacks('br, gzip, deflate'),
  ...refuses('compress'),
  ...refuses('gzip, compress'),
  ...refuses('compress, gzip'),
  ...refuses('none-of-these'),
  async 'delivers each event of a packed stream when it comes'(create) {
    const { createGzip, constants } = await import('node:zlib');
    const two = Promise.withResolvers<void>();
    await using server = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH });
      gzip.pipe(response);
      gzip.write('one');
      void two.promise.then(() => gzip.end('two'));
    });
    const { body } = await create({})(post(server.url));
    const chunks = body[Symbol.asyncIterator]();
    assert.equal(await nextText(chunks), 'one');
    two.resolve();
    assert.equal(await nextText(chunks), 'two');
    assert.equal(await nextText(chunks), undefined);
  },
  async 'fails on a packed body that is broken'(create) {
    const bytes = packed(['gzip']);
    bytes.fill(0xff, 15, 40);
    await using server = await respond('gzip', bytes);
    await failureOf(ask(create({}), server.url));
  },
  async 'takes an empty body for empty, whatever its coding'(create) {
    await using server = await respond('gzip', Buffer.alloc(0));
    assert.equal(await ask(create({}), server.url), '');
  },
  async 'takes the end of the connection for the end of a response without a length'(create) {
    await using server = await serveBytes((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nall of it'));
    });
    const http = create({});
    assert.equal(await ask(http, server.url), 'all of it');
    assert.equal(await ask(http, server.url), 'all of it');
  },
  async 'passes over an interim response'(create) {
    await using server = await serveBytes((socket) => {
      const hints = 'HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n';
      socket.once('data', () => socket.write(`${hints}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`));
    });
    const response = await create({})(post(server.url));
    assert.deepEqual([response.status, await textOf(response)], [200, 'ok']);
  },
  async 'delivers a response that came before the request was sent'(create) {
    await using server = await serveBytes((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno');
      });
    });
    const http = create({});
    const body = new Uint8Array(32 * 1024 * 1024);
    for (let turn = 0; turn < 2; turn++) {
      const response = await http(post(server.url, { body }));
      assert.deepEqual([response.status, await textOf(response)], [413, 'no']);
    }
    // What is left of the first request must not be taken for the beginning of the second.
    assert.equal(server.connections(), 2);
  },
  async 'does not follow redirects'(create) {
    await using other = await serve((_, response) => response.end());
    await using server = await serve((_, response) => response.writeHead(302, { location: other.url }).end());
    const response = await create({})(post(server.url));
    assert.deepEqual([response.status, response.headers['location']], [302, other.url]);
    await textOf(response);
    assert.equal(other.connections(), 0);
  },
};
