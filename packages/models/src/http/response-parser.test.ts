import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createResponseParser } from './response-parser.ts';

interface Heard {
  status: number;
  closes?: boolean;
  length?: number | string;
  headers: Readonly<Record<string, string>>;
  body: string;
  ends: number;
}

/** Feeds `pieces` to a parser and says what it made of them; throws what the parser throws. */
function heardOf(
  pieces: readonly Buffer[],
  options: { readonly expectsBody?: boolean; readonly closes?: boolean } = {},
) {
  const { expectsBody = true, closes = false } = options;
  const heard: Heard = { status: 0, headers: {}, body: '', ends: 0 };
  const parser = createResponseParser();
  parser.begin(
    {
      onHead: ({ status, headers, closes, length }) => Object.assign(heard, { status, headers, closes, length }),
      onData: (piece) => (heard.body += Buffer.from(piece).toString('latin1')),
      onEnd: () => heard.ends++,
    },
    expectsBody,
  );
  for (const piece of pieces) parser.push(piece);
  if (closes) expect(parser.end()).toBe(true);
  return heard;
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const read = (text: string, options?: Parameters<typeof heardOf>[1]): Heard => heardOf([bytes(text)], options);

function cut(whole: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted].map((from, index) => whole.subarray(from, sorted[index] ?? whole.length));
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

describe('a response', () => {
  it('is the same however it is cut', () => {
    const bodies = fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }), { maxLength: 5 });
    fc.assert(
      fc.property(bodies, fc.boolean(), fc.array(fc.nat(), { maxLength: 12 }), (pieces, chunked, places) => {
        const body = pieces.join('');
        const text = chunked
          ? `transfer-encoding: chunked\r\n\r\n${pieces.map(chunk).join('')}0\r\nx-checked: yes\r\n\r\n`
          : `content-length: ${body.length}\r\n\r\n${body}`;
        const whole = bytes(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-A: 1\r\n${text}`);
        expect(heardOf(cut(whole, places))).toMatchObject({ status: 200, body, ends: 1, headers: { 'x-a': '1' } });
      }),
      { numRuns: 200 },
    );
  });

  it('is the same byte by byte', () => {
    const whole = bytes(
      `HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n${chunk('a\r\n0\r\n')}${chunk('b')}0\r\n\r\n`,
    );
    expect(heardOf([...whole].map((byte) => Buffer.of(byte)))).toMatchObject({ body: 'a\r\n0\r\nb', ends: 1 });
  });

  it('ends where the bytes do that came, whatever else lies behind them', () => {
    const whole = bytes(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk('one')}0;a=b\r\nx: y\r\n\r\n`);
    const room = Buffer.alloc(256);
    for (let size = 1; size <= whole.length; size++) {
      let body = '';
      let ends = 0;
      const parser = createResponseParser();
      const onData = (piece: Uint8Array): void => void (body += Buffer.from(piece).toString());
      parser.begin({ onHead: () => undefined, onData, onEnd: () => ends++ }, true);
      for (let at = 0; at < whole.length; at += size) {
        room.fill('\r\n\r\n0\r\n');
        parser.push(room, whole.copy(room, 0, at, at + size));
      }
      expect([body, ends]).toEqual(['one', 1]);
    }
  });

  it('without a length ends with its connection', () => {
    const text = 'HTTP/1.1 200 OK\r\n\r\nall of it';
    expect(read(text)).toMatchObject({ body: 'all of it', ends: 0 });
    expect(read(text, { closes: true })).toMatchObject({ body: 'all of it', ends: 1 });
  });

  it.each([
    ['HTTP/1.1 204 No Content\r\n\r\n', true],
    ['HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n', true],
    ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n', false],
    ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', true],
  ])('%j has no body (one is expected: %s)', (text, expectsBody) => {
    expect(read(text, { expectsBody })).toMatchObject({ body: '', ends: 1 });
  });

  it('has its headers in lowercase, trimmed; lists are joined, and of what can be only one the first counts', () => {
    const head =
      'HTTP/1.1 200 OK\r\nServer:a\r\nserver: b\r\nVia: x \r\nVIA:\ty\r\nEmpty:\r\ncontent-length: 2\r\n\r\nok';
    const { headers, body } = read(head);
    expect(headers).toEqual({ server: 'a', via: 'x, y', empty: '', 'content-length': '2' });
    expect(body).toBe('ok');
  });

  it.each(['a', 'a=b', 'a;b=c', 'a="b;c \\" d"'])('may have chunks with the extension %j', (extension) => {
    const text = `HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2;${extension}\r\nok\r\n0\r\n\r\n`;
    expect(read(text).body).toBe('ok');
    expect(heardOf([...bytes(text)].map((byte) => Buffer.of(byte))).body).toBe('ok');
  });

  it('may be announced by a few others', () => {
    const words = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n'.repeat(10);
    expect(read(`${words}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`)).toMatchObject({
      status: 200,
      headers: { 'content-length': '2' },
      body: 'ok',
      ends: 1,
    });
  });

  it('that has no body says so with its length', () => {
    for (const [text, expectsBody] of [
      ['HTTP/1.1 204 No Content\r\n\r\n', true],
      ['HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n', true],
      ['HTTP/1.1 200 OK\r\n\r\n', false],
    ] as const) {
      expect(read(text, { expectsBody })).toMatchObject({ body: '', ends: 1, length: 0 });
    }
  });

  it.each([
    ['HTTP/1.1 200 OK\r\n', false],
    ['HTTP/1.1 200 OK\r\nconnection: Keep-Alive,Close\r\n', true],
    ['HTTP/1.1 200 OK\r\nconnection: keep-alive\r\nconnection: close\r\n', true],
    ['HTTP/1.0 200 OK\r\n', true],
    ['HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n', false],
    ['HTTP/1.0 200 OK\r\nconnection: keep-alive, close\r\n', true],
    ['HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n', true],
  ])('%j closes the connection: %s', (text, closes) => {
    expect(read(`${text}\r\n`).closes).toBe(closes);
  });
});

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

describe('what is refused', () => {
  it.each([
    ['something else', 'SSH-2.0-OpenSSH_9.9\r\n\r\n'],
    ['another version', 'HTTP/2 200\r\n\r\n'],
    ['a status that is none', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n'],
    ['a header without a name', 'HTTP/1.1 200 OK\r\n: a\r\n\r\n'],
    ['a name with a space', 'HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok'],
    ['a folded line', 'HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\n\r\n'],
    ['a line end that is none', 'HTTP/1.1 200 OK\r\nx-a: b\nx-c: d\r\n\r\n'],
    ['a return that is none', 'HTTP/1.1 200 OK\r\nx-a: b\rx-c: d\r\n\r\n'],
    ['a control character', 'HTTP/1.1 200 OK\r\nx-a: b\0\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok'],
    ['a length and chunks', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['the same length twice', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nContent-Length: 2\r\n\r\nok'],
    ['a list of lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok'],
    ...['+2', '-2', '0x2', '2.0', '2e0', '', ' ', '\u00a02', '2 2', '9'.repeat(16)].map((length): [string, string] => [
      `the length ${JSON.stringify(length)}`,
      `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\nok`,
    ]),
    ['no status at all', '\r\n\r\n'],
    ['an empty line first', '\r\nHTTP/1.1 200 OK\r\n\r\n'],
    ['a status line with a tab', 'HTTP/1.1\t200 OK\r\n\r\n'],
    ['a status line with two spaces', 'HTTP/1.1  200 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a version in lowercase', 'http/1.1 200 OK\r\n\r\n'],
    ['a header without a colon', 'HTTP/1.1 200 OK\r\nx-a\r\n\r\n'],
    ['a folded line after the status', 'HTTP/1.1 200 OK\r\n x-a: b\r\n\r\n'],
    ['an empty transfer coding', 'HTTP/1.1 200 OK\r\ntransfer-encoding:\r\n\r\n0\r\n\r\n'],
    ['chunks in chunks', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['a coding that only looks like it', 'HTTP/1.1 200 OK\r\ntransfer-encoding: \u00a0chunked\r\n\r\n0\r\n\r\n'],
    ['an unknown transfer coding', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n'],
    ['a chunk without a size', `${CHUNKED}\r\nok\r\n`],
    ['a chunk whose size is no number', `${CHUNKED}-2\r\nok\r\n`],
    ['a chunk that is longer than it says', `${CHUNKED}2\r\nokay\r\n`],
    ['a size line without its return', `${CHUNKED}2\nok\r\n`],
    ['a chunk too long for a number', `${CHUNKED}fffffffffffff\r\nok`],
    ['a size in hexadecimal notation', `${CHUNKED}0x2\r\nok\r\n`],
    ['a size with spaces after it', `${CHUNKED}2 \r\nok\r\n`],
    ['an extension that is empty', `${CHUNKED}2;\r\nok\r\n`],
    ['an extension with a control character', `${CHUNKED}2;a=\0\r\nok\r\n`],
    ['an extension with a line end', `${CHUNKED}2;a=b\n;c\r\nok\r\n`],
    ['a trailer without a name', `${CHUNKED}0\r\n: b\r\n\r\n`],
    ['a trailer without a colon', `${CHUNKED}0\r\nx-a\r\n\r\n`],
    ['a length in the trailers', `${CHUNKED}0\r\nContent-Length: 0\r\n\r\n`],
    ['a transfer coding in the trailers', `${CHUNKED}0\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ['a folded trailer', `${CHUNKED}0\r\nx-a: b\r\n c\r\n\r\n`],
    ['a trailer with a control character', `${CHUNKED}0\r\nx-a: \0\r\n\r\n`],
    ['a trailer with a return that is none', `${CHUNKED}0\r\nx-a: b\rx-c: d\r\n\r\n`],
    ['bytes after the last chunk', `${CHUNKED}0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`],
    ['bytes after a length', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n'],
    ['bytes after the end', 'HTTP/1.1 204 No Content\r\n\r\nmore'],
  ])('%s', (_what, text) => {
    const refusal = expect.objectContaining({ code: 'TREADLE_MALFORMED_RESPONSE' }) as Error;
    expect(() => read(text)).toThrow(refusal);
    expect(() => heardOf([...bytes(text)].map((byte) => Buffer.of(byte)))).toThrow(refusal);
  });

  it.each([
    ['a head, or a line,', `HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(70_000)}`],
    ['the line of a chunk', `${CHUNKED}2;${'a'.repeat(2000)}`],
    ['a trailer', `${CHUNKED}0\r\nx-a: ${'a'.repeat(70_000)}`],
    ['all trailers', `${CHUNKED}0\r\n${'x-a: b\r\n'.repeat(20_000)}`],
    ['words in advance', 'HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n'.repeat(2000)],
  ])('%s that never ends', (_what, text) => {
    expect(() => heardOf(cut(bytes(text), [50, 1500, 40_000, 66_000]))).toThrow('too long');
  });

  it('the end of a connection inside a response, but not between two', () => {
    const parser = createResponseParser();
    expect(parser.end()).toBe(true);
    parser.begin({ onHead: () => undefined, onData: () => undefined, onEnd: () => undefined }, true);
    expect([parser.hasBegun(), parser.end()]).toEqual([false, false]);
    parser.push(bytes('HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok'));
    expect([parser.hasBegun(), parser.end()]).toEqual([true, false]);
  });
});
