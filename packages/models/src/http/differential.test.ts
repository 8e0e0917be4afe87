import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createResponseParser } from './response-parser.ts';

// The same bytes, cut the same way, are given to our parser and to Node's client. Where both take a response they must
// understand the same; and what Node refuses, ours must refuse. The other way round it may be stricter.

interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Method = 'GET' | 'HEAD';

function ours(pieces: readonly Buffer[], method: Method): Heard | 'refused' {
  const parser = createResponseParser();
  let heard: Heard | undefined;
  let body = '';
  let isOver = false;
  parser.begin(
    {
      onHead: ({ status, headers }) => (heard = { status, headers, body: '' }),
      onData: (piece) => (body += Buffer.from(piece).toString('latin1')),
      onEnd: () => (isOver = true),
    },
    method !== 'HEAD',
  );
  try {
    for (const piece of pieces) {
      // What follows a response is another matter: the connection is closed.
      if (!isOver) parser.push(piece);
    }
    if (!isOver) parser.end();
  } catch {
    // A response that was over before the bytes that are too many is one for its reader.
  }
  return isOver && heard !== undefined ? { ...heard, body } : 'refused';
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );

/** What Node's client makes of the bytes of a connection that then ends. */
function nodes(pieces: readonly Buffer[], method: Method): Promise<Heard | 'refused'> {
  const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  return new Promise((resolve) => {
    const refused = (): void => resolve('refused');
    const sent = request({ method, host: 'localhost', path: '/', createConnection: () => connection });
    let isAnswered = false;
    sent.on('error', () => isAnswered || refused());
    sent.on('close', () => isAnswered || refused());
    // Another protocol: the connection is no response's any more.
    sent.on('upgrade', refused);
    sent.on('response', (response) => {
      isAnswered = true;
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
      response.on('error', refused);
      response.on('close', refused);
      response.on('end', () => {
        if (!response.complete) return refused();
        resolve({ status: response.statusCode ?? 0, headers: headersOf(response), body });
      });
    });
    sent.on('socket', () => {
      for (const piece of pieces) connection.push(piece);
      // The end is a later event, as it is on a socket.
      setImmediate(() => connection.push(null));
    });
    sent.end();
  });
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

function cut(whole: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted]
    .map((from, index) => whole.subarray(from, sorted[index] ?? whole.length))
    .filter(({ length }) => length > 0);
}

const TOKEN = [..."abcXYZ019!#$%&'*+-.^_`|~"];
const PRINTABLE = [...'abz AZ09\t,;:="/()[]{}<>?@\\', 'ä', 'ÿ'];
const NAMES = [
  'Set-Cookie',
  'set-cookie',
  'Via',
  'Age',
  'Server',
  'Retry-After',
  'Content-Type',
  'ETag',
  'Location',
  'Date',
];

const word = fc.string({ unit: fc.constantFrom(...TOKEN), minLength: 1, maxLength: 12 });
const value = fc.string({ unit: fc.constantFrom(...PRINTABLE), maxLength: 30 });
const name = fc.oneof(
  word.map((text) => `x-${text}`),
  fc.constantFrom(...NAMES),
);
const fields = fc.array(fc.tuple(name, fc.constantFrom('', ' ', '\t', '  '), value), { maxLength: 12 });
const blocks = fc.array(fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 60 }), { maxLength: 6 });
const size = fc.record({
  padding: fc.nat(3),
  upper: fc.boolean(),
  extension: fc.constantFrom('', ';a', ';a=b', ';a="b c"'),
});

const framed = fc.tuple(
  blocks,
  fc.constantFrom('sized', 'chunked', 'until_close'),
  fc.array(size, { minLength: 7, maxLength: 7 }),
  fields,
);

/** A well-formed response, before the place where its connection ends. */
const response = fc
  .record({
    version: fc.constantFrom('1.1', '1.1', '1.1', '1.0'),
    status: fc.oneof(fc.constantFrom(200, 201, 204, 304, 404, 500), fc.integer({ min: 200, max: 599 })),
    reason: fc.constantFrom('', ' ', ' OK', ' Not so good'),
    interim: fc.array(fc.constantFrom('HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n'), {
      maxLength: 2,
    }),
    fields,
    framed,
  })
  .map(({ version, status, reason, interim, fields: headers, framed: [pieces, framing, sizes, trailers] }) => {
    const lines = headers.map(([field, space, content]) => `${field}:${space}${content}\r\n`).join('');
    const head = `${interim.join('')}HTTP/${version} ${status}${reason}\r\n${lines}`;
    const body = pieces.join('');
    if (status === 204 || status === 304) return `${head}\r\n`;
    if (framing === 'until_close') return `${head}\r\n${body}`;
    if (framing === 'sized') return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    const line = (length: number, at: number): string => {
      const { padding = 0, upper = false, extension = '' } = sizes[at] ?? {};
      const digits = length.toString(16);
      return `${'0'.repeat(padding)}${upper ? digits.toUpperCase() : digits}${extension}\r\n`;
    };
    const chunks = pieces.map((piece, at) => `${line(piece.length, at)}${piece}\r\n`).join('');
    const ends = trailers.map(([field, space, content]) => `${field}:${space}${content}\r\n`).join('');
    return `${head}transfer-encoding: chunked\r\n\r\n${chunks}${line(0, 6)}${ends}\r\n`;
  });

const places = fc.array(fc.nat(), { maxLength: 10 });
const SEED = 20261122;

describe('beside Node’s client', () => {
  it('a well-formed response is the same, however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(response, places, async (text, at) => {
        const pieces = cut(bytes(text), at);
        const heard = ours(pieces, 'GET');
        expect(heard).not.toBe('refused');
        expect(heard).toEqual(await nodes(pieces, 'GET'));
      }),
      { numRuns: 300, seed: SEED },
    );
  });

  const damages = [
    ...['\0', '\r', '\n', ' ', '\t', ':', ',', ';', '"', '+', '-', 'x', '0', '5', 'f', '\u00a0', '\u0085', '\x7f'],
    ...['\r\n', '\r\n\r\n', '\n\n', '\r\n ', 'Content-Length: 3\r\n', 'Transfer-Encoding: chunked\r\n'],
    ...[
      '\r\nContent-Length:3',
      '\r\nTransfer-Encoding:gzip',
      '\r\nConnection: upgrade',
      'HTTP/1.1 200 OK\r\n\r\n',
      '\r\nHTTP/1.1 101 X',
    ],
  ];
  const damage = fc.record({
    at: fc.nat(),
    remove: fc.constantFrom(0, 0, 1, 1, 2, 7),
    put: fc.constantFrom('', ...damages),
  });

  it('a damaged response is refused where Node refuses it, else it is the same', async () => {
    await fc.assert(
      fc.asyncProperty(
        response,
        fc.array(damage, { minLength: 1, maxLength: 2 }),
        places,
        async (text, damaged, at) => {
          let broken = text;
          for (const { at: place, remove, put } of damaged) {
            const from = place % (broken.length + 1);
            broken = broken.slice(0, from) + put + broken.slice(from + remove);
          }
          const pieces = cut(bytes(broken), at);
          const heard = ours(pieces, 'GET');
          if (heard !== 'refused') expect(heard).toEqual(await nodes(pieces, 'GET'));
        },
      ),
      { numRuns: 600, seed: SEED },
    );
  });

  it.each([
    ['a length', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n'],
    ['chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['neither', 'HTTP/1.1 200 OK\r\n\r\n'],
  ])('a response to HEAD with %s has no body', async (_what, text) => {
    const heard = ours([bytes(text)], 'HEAD');
    expect(heard).toMatchObject({ status: 200, body: '' });
    expect(heard).toEqual(await nodes([bytes(text)], 'HEAD'));
  });

  it.each([
    ['content-length: 5', 'shor'],
    ['transfer-encoding: chunked', '5\r\nshort\r\n'],
    ['transfer-encoding: chunked', '5\r\nshort\r\n0\r\n'],
    ['content-length: 5', ''],
  ])('a response with %j that ends after %j is refused', async (header, body) => {
    const pieces = [bytes(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n${body}`)];
    expect([ours(pieces, 'GET'), await nodes(pieces, 'GET')]).toEqual(['refused', 'refused']);
  });
});
