import type { HttpBody, HttpRequest } from '@treadle/core';
import { describe, expect, it } from 'vitest';
import { headerText, requestLine, sendRequest } from './request-bytes.ts';
import type { RequestLine } from './request-bytes.ts';

/** What is sent of a request. */
const sentOf = (request: HttpRequest, line: RequestLine): Buffer => {
  const pieces: Uint8Array[] = [];
  const sender = {
    write: (bytes: Uint8Array) => pieces.push(Buffer.from(bytes)),
    cork: () => undefined,
    uncork: () => undefined,
    writableLength: 0,
  };
  sendRequest(sender, request, headerText(request.headers, line), false);
  return Buffer.concat(pieces);
};

const textOf = (url: string, fields: Partial<HttpRequest> = {}): string => {
  const request: HttpRequest = { method: 'GET', url, headers: {}, ...fields };
  return sentOf(request, requestLine(request.method, new URL(url))).toString('latin1');
};

/** The first two lines: what is asked for, and of whom. */
const asked = (url: string): string[] => textOf(url).split('\r\n').slice(0, 2);

describe('an address', () => {
  it.each([
    ['http://example.com', 'GET / HTTP/1.1', 'host: example.com'],
    ['http://example.com:80/a', 'GET /a HTTP/1.1', 'host: example.com'],
    ['https://example.com:443/a', 'GET /a HTTP/1.1', 'host: example.com'],
    ['https://example.com:80/a', 'GET /a HTTP/1.1', 'host: example.com:80'],
    ['http://[::1]:8080/a?b', 'GET /a?b HTTP/1.1', 'host: [::1]:8080'],
    ['http://bücher.example/ä?ö=ü', 'GET /%C3%A4?%C3%B6=%C3%BC HTTP/1.1', 'host: xn--bcher-kva.example'],
    ['http://example.com/a#secret', 'GET /a HTTP/1.1', 'host: example.com'],
    ['http://example.com?a=b', 'GET /?a=b HTTP/1.1', 'host: example.com'],
    ['http://example.com/a/../../b\\c', 'GET /b/c HTTP/1.1', 'host: example.com'],
    ['http://example.com/a b\u0000\u007f', 'GET /a%20b%00%7F HTTP/1.1', 'host: example.com'],
  ])('%j is asked for on one line', (url, ...lines) => {
    expect(asked(url)).toEqual(lines);
  });

  it('with line ends in it makes no header', () => {
    expect(asked('http://example.com/a HTTP/1.1\r\nx-a: b\r\n\r\n')).toEqual([
      'GET /a%20HTTP/1.1x-a:%20b HTTP/1.1',
      'host: example.com',
    ]);
  });

  it('with a user that is not text is refused without the password', () => {
    const broken = 'http://user:hunter%ff@example.com';
    expect(() => textOf(broken)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_URL' }) as Error);
    expect(() => textOf(broken)).not.toThrow(/hunter/);
  });

  it('says nothing of its user where the request has a header for that', () => {
    const text = textOf('http://user:pw@example.com/', { headers: { Authorization: 'Bearer key' } });
    expect(text.match(/authorization: .*/g)).toEqual(['authorization: Bearer key']);
    expect(text).not.toContain('pw');
  });
});

describe('headers', () => {
  it('have one length, whatever the case of their names', () => {
    const headers = { 'Content-Length': '9', 'TRANSFER-ENCODING': 'chunked', 'Transfer-Encoding': 'gzip' };
    const text = textOf('http://example.com/', { method: 'POST', headers, body: 'ab' });
    expect(text.toLowerCase().match(/content-length: .*|transfer-encoding: .*/g)).toEqual(['content-length: 2']);
    expect(text.endsWith('\r\n\r\nab')).toBe(true);
  });

  it('have one host and one connection, whatever the case of their names', () => {
    const text = textOf('http://example.com/', { headers: { Host: 'other.example', CONNECTION: 'close' } });
    expect(text).toBe('GET / HTTP/1.1\r\nhost: other.example\r\nconnection: close\r\n\r\n');
  });

  it('that are frozen are written once for a line, and others each time', () => {
    const line = requestLine('GET', new URL('http://example.com/'));
    const sent = (headers: HttpRequest['headers']): string =>
      sentOf({ method: 'GET', url: '', headers }, line).toString();
    const changing = { 'x-a': '1' };
    expect(sent(changing)).toContain('x-a: 1');
    changing['x-a'] = '2';
    expect(sent(changing)).toContain('x-a: 2');
    const frozen = Object.freeze({ 'X-A': '3', Connection: 'close' });
    expect(sent(frozen)).toContain('x-a: 3');
    expect(headerText(frozen, line).closes).toBe(true);
    expect(sent(frozen)).toBe(sent({ ...frozen }));
  });

  it('of the same name in two cases are one: the last', () => {
    const text = textOf('http://example.com/', { headers: { 'x-api-key': 'a', 'X-Api-Key': 'b' } });
    expect(text.toLowerCase().match(/x-api-key: ./g)).toEqual(['x-api-key: b']);
  });

  it.each(['\r', '\n', '\0', '\r\n x', '\u0001', '\u007f', '\u0100', '😀'])(
    'with %j in a value are refused',
    (text) => {
      const headers = { 'X-Key': `secret${text}` };
      expect(() => textOf('http://example.com/', { headers })).toThrow(
        'The value of the header x-key has a character that none may have.',
      );
    },
  );

  it.each(['', ' ', 'a b', 'a:', 'a\r\nb', 'a\0', 'ä', '(a)'])('named %j are refused', (name) => {
    expect(() => textOf('http://example.com/', { headers: { [name]: 'b' } })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_HTTP_TOKEN' }) as Error,
    );
  });
});

describe('a method', () => {
  it.each(['', 'GET /', 'GET\r\n', 'G\0ET', 'CONNECT'])('%j is refused', (method) => {
    expect(() => requestLine(method, new URL('http://example.com'))).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_HTTP_TOKEN' }) as Error,
    );
  });
});

describe('a body', () => {
  it('has its length in bytes, also where it is not well-formed text', () => {
    for (const body of ['🦊ü', 'a\ud800b', new Uint8Array([1, 2, 255]), [new Uint8Array(2), new Uint8Array(70_000)]]) {
      const [head = '', ...rest] = textOf('http://example.com/', { method: 'POST', body }).split('\r\n\r\n');
      expect(head).toContain(`content-length: ${rest.join('\r\n\r\n').length}`);
    }
  });
});

describe('a request that is sent', () => {
  const line = requestLine('POST', new URL('http://example.com/'));
  const send = (body: HttpBody, writableLength: number, sendsAtOnce = true) => {
    const given: Uint8Array[] = [];
    const sender = { write: (bytes: Uint8Array) => given.push(bytes), cork() {}, uncork() {}, writableLength };
    const request: HttpRequest = { method: 'POST', url: '', headers: {}, body };
    sendRequest(sender, request, headerText(request.headers, line), sendsAtOnce);
    return { given, text: () => Buffer.concat(given).toString() };
  };

  it('stays as it is while a part of it waits to be sent, whatever is sent after it', () => {
    const bodies = ['first', 'second', [Buffer.from('third')], Buffer.from('fourth'), 'last'];
    const sent = bodies.map((body) => send(body, 1));
    const ends = sent.map(({ text }) => text().split('\r\n\r\n')[1]);
    expect(ends).toEqual(['first', 'second', 'third', 'fourth', 'last']);
  });

  it('is the same wherever it is put together', () => {
    for (const text of ['', 'a', 'ü🦊', 'x'.repeat(9999), 'ü'.repeat(30_000), 'x'.repeat(70_000), 'a\ud800']) {
      const [one, ...others] = [send(text, 1), send(text, 1, false), send([Buffer.from(text)], 1)].map((sent) =>
        sent.text(),
      );
      expect(one).toContain(`content-length: ${Buffer.byteLength(text)}\r\n\r\n`);
      expect(others).toEqual([one, one]);
    }
  });

  it('and taken at once makes place for the next', () => {
    const [first, second] = [send('first', 0), send('second', 0)].map(({ given }) => given[0]?.buffer);
    expect(second).toBe(first);
  });
});
