import type { HttpBody, HttpRequest } from '@treadle/core';
import { transportError } from './timeouts.ts';

const TOKEN = /^[\w!#$%&'*+\-.^`|~]+$/;
/** What a header's value mustn't have: a line end would begin another header. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/** Bytes up to which a request is sent in one piece. The pieces of a longer one are sent from where they are. */
const ONE_PIECE = 64 * 1024;

/** What all requests with one method to one address begin with. */
export interface RequestLine {
  readonly text: string;
  /** With the port, unless it is the scheme's own. */
  readonly host: string;
  /** What an address with a user and a password is asked with; empty for others. */
  readonly authorization: string;
  /** The last headers that were sent with it, and their text: a run sends the same ones every turn. */
  last?: { readonly headers: HttpRequest['headers']; readonly text: string };
}

export function requestLine(method: string, url: URL): RequestLine {
  if (!TOKEN.test(method)) throw transportError('ERR_INVALID_HTTP_TOKEN', `${JSON.stringify(method)} is no method.`);
  const { username, password } = url;
  const user = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return {
    text: `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`,
    host: url.host,
    authorization: username === '' && password === '' ? '' : `authorization: Basic ${user}\r\n`,
  };
}

const headerLine = (name: string, value: string): string => {
  if (!TOKEN.test(name)) throw transportError('ERR_INVALID_HTTP_TOKEN', `${JSON.stringify(name)} is no header's name.`);
  // Without the value: it may be a secret.
  if (FORBIDDEN.test(value))
    throw transportError('ERR_INVALID_CHAR', `The value of the header ${name} has a character that none may have.`);
  return `${name}: ${value}\r\n`;
};

/** The length is always our own; how a body is cut is nobody else's business. */
const OURS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

const headersText = (headers: HttpRequest['headers'], line: RequestLine): string => {
  let text = line.text;
  if (headers['host'] === undefined) text += `host: ${line.host}\r\n`;
  if (headers['connection'] === undefined) text += 'connection: keep-alive\r\n';
  if (headers['authorization'] === undefined) text += line.authorization;
  for (const name in headers) if (!OURS.has(name)) text += headerLine(name, headers[name] ?? '');
  return text;
};

const headOf = ({ method, headers, body }: HttpRequest, line: RequestLine, length: number): string => {
  // Only of headers that nobody can change is the text known by the object.
  const isKnown = line.last?.headers === headers;
  const text = isKnown && line.last !== undefined ? line.last.text : headersText(headers, line);
  if (!isKnown && Object.isFrozen(headers)) line.last = { headers, text };
  const hasLength = body !== undefined || (method !== 'GET' && method !== 'HEAD' && method !== 'DELETE');
  return hasLength ? `${text}content-length: ${length}\r\n\r\n` : `${text}\r\n`;
};

const piecesOf = (body: Exclude<HttpBody, string>): readonly Uint8Array[] =>
  body instanceof Uint8Array ? [body] : body;

/**
 * A request as the bytes of HTTP/1.1.
 *
 * @throws `ERR_INVALID_CHAR` and `ERR_INVALID_HTTP_TOKEN` for headers that would be something else on the wire.
 */
export function requestBytes(request: HttpRequest, line: RequestLine): readonly Uint8Array[] {
  const { body = [] } = request;
  if (typeof body === 'string') {
    const length = Buffer.byteLength(body);
    const head = headOf(request, line, length);
    const bytes = Buffer.allocUnsafe(head.length + length);
    bytes.write(head, 'latin1');
    bytes.write(body, head.length);
    return [bytes];
  }
  const pieces = piecesOf(body);
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const head = headOf(request, line, length);
  if (head.length + length > ONE_PIECE) return [Buffer.from(head, 'latin1'), ...pieces];
  const bytes = Buffer.allocUnsafe(head.length + length);
  let at = bytes.write(head, 'latin1');
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return [bytes];
}
