import type { HttpBody, HttpRequest } from '@treadle/core';
import { hasToken } from './response-head.ts';
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
  last?: HeaderText;
}

const basic = ({ username, password }: URL): string => {
  if (username === '' && password === '') return '';
  try {
    const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `authorization: Basic ${Buffer.from(user).toString('base64')}\r\n`;
  } catch {
    // Without the address: it has a password.
    throw transportError('ERR_INVALID_URL', 'The user or the password in the address is not percent-encoded UTF-8.');
  }
};

/**
 * An address is safe on the wire as `URL` writes it: it has dropped line ends, and percent-encoded what isn't ASCII. Its
 * fragment is not sent.
 */
export function requestLine(method: string, url: URL): RequestLine {
  // What follows a CONNECT is no response but whatever the other end of a tunnel says.
  if (!TOKEN.test(method) || method === 'CONNECT')
    throw transportError('ERR_INVALID_HTTP_TOKEN', `${JSON.stringify(method)} is no method of a request.`);
  return { text: `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`, host: url.host, authorization: basic(url) };
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

/** With names in lowercase; of two that differ only in case the last counts, as everywhere. */
const lowercased = (headers: HttpRequest['headers']): HttpRequest['headers'] => {
  const names = Object.keys(headers);
  if (names.every((name) => name === name.toLowerCase())) return headers;
  const all: Record<string, string> = {};
  for (const name of names) all[name.toLowerCase()] = headers[name] ?? '';
  return all;
};

/** Headers as they are sent. */
export interface HeaderText {
  readonly headers: HttpRequest['headers'];
  readonly text: string;
  /** The text as bytes, of headers that are sent more than once. */
  readonly bytes: Uint8Array | undefined;
  /** Whether they ask the server to close the connection after the response. */
  readonly closes: boolean;
}

/**
 * What a request begins with, up to its length.
 *
 * @throws `ERR_INVALID_CHAR` and `ERR_INVALID_HTTP_TOKEN` for headers that would be something else on the wire.
 */
export function headerText(given: HttpRequest['headers'], line: RequestLine): HeaderText {
  // Only of headers that nobody can change is the text known by the object.
  if (line.last?.headers === given) return line.last;
  const headers = lowercased(given);
  let text = line.text;
  if (headers['host'] === undefined) text += `host: ${line.host}\r\n`;
  if (headers['connection'] === undefined) text += 'connection: keep-alive\r\n';
  if (headers['authorization'] === undefined) text += line.authorization;
  for (const name in headers) if (!OURS.has(name)) text += headerLine(name, headers[name] ?? '');
  const isKept = Object.isFrozen(given);
  const bytes = isKept ? Buffer.from(text, 'latin1') : undefined;
  const made = { headers: given, text, bytes, closes: hasToken(headers['connection'], 'close') };
  if (isKept) line.last = made;
  return made;
}

const lengthLine = ({ method, body }: HttpRequest, length: number): string => {
  const hasLength = body !== undefined || (method !== 'GET' && method !== 'HEAD' && method !== 'DELETE');
  return hasLength ? `content-length: ${length}\r\n\r\n` : '\r\n';
};

const piecesOf = (body: Exclude<HttpBody, string>): readonly Uint8Array[] =>
  body instanceof Uint8Array ? [body] : body;

/** Writes a head and says where it ends. */
const writeHead = (bytes: Buffer, from: number, headers: HeaderText, end: string): number => {
  if (headers.bytes === undefined) bytes.write(headers.text, from, 'latin1');
  else bytes.set(headers.bytes, from);
  let at = from + headers.text.length;
  // Of so few characters each costs less than a call that writes them all.
  for (let index = 0; index < end.length; index++) bytes[at++] = end.charCodeAt(index);
  return at;
};

/** Characters that the line with the length has at most, and the empty line after it. */
const LONGEST_END = 40;
/** Bytes that a character has at most, as they are counted here. */
const WIDEST = 3;

/** How many bytes a text has is known when it was written: its head is put before it then. */
const textOn = (desk: Buffer, request: HttpRequest, headers: HeaderText, body: string): Buffer => {
  const bodyAt = headers.text.length + LONGEST_END;
  const length = desk.write(body, bodyAt);
  const end = lengthLine(request, length);
  const start = bodyAt - end.length - headers.text.length;
  writeHead(desk, start, headers, end);
  return desk.subarray(start, bodyAt + length);
};

const textBytes = (request: HttpRequest, headers: HeaderText, body: string): Buffer => {
  const length = Buffer.byteLength(body);
  const end = lengthLine(request, length);
  const bytes = Buffer.allocUnsafe(headers.text.length + end.length + length);
  bytes.write(body, writeHead(bytes, 0, headers, end));
  return bytes;
};

/** @param desk Where a request may be put together that is sent in one piece. */
const bytesOf = (request: HttpRequest, headers: HeaderText, desk: Buffer | undefined): readonly Uint8Array[] => {
  const { body = [] } = request;
  if (typeof body === 'string') {
    const fits = headers.text.length + LONGEST_END + body.length * WIDEST <= ONE_PIECE;
    return [desk !== undefined && fits ? textOn(desk, request, headers, body) : textBytes(request, headers, body)];
  }
  const pieces = piecesOf(body);
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const end = lengthLine(request, length);
  const whole = headers.text.length + end.length + length;
  if (whole > ONE_PIECE) return [Buffer.from(headers.text + end, 'latin1'), ...pieces];
  const bytes = desk === undefined ? Buffer.allocUnsafe(whole) : desk.subarray(0, whole);
  let at = writeHead(bytes, 0, headers, end);
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return [bytes];
};

/** What a request is sent with. */
export interface Sender {
  write(bytes: Uint8Array): unknown;
  cork(): void;
  uncork(): void;
  /** Bytes that were given to it and wait to be sent. */
  readonly writableLength: number;
}

/** Where requests are put together, one after the other. */
let desk: Buffer | undefined;

/**
 * Sends a request.
 *
 * @param sendsAtOnce Whether the system nearly always takes all bytes at once. Then the next request may lie where this
 * one did.
 */
export function sendRequest(sender: Sender, request: HttpRequest, headers: HeaderText, sendsAtOnce: boolean): void {
  const bytes = bytesOf(request, headers, sendsAtOnce ? (desk ??= Buffer.allocUnsafeSlow(ONE_PIECE)) : undefined);
  const [first] = bytes;
  if (first !== undefined && bytes.length === 1) {
    sender.write(first);
    // What still waits must stay as it is.
    if (sendsAtOnce && sender.writableLength > 0) desk = undefined;
    return;
  }
  sender.cork();
  for (const piece of bytes) sender.write(piece);
  sender.uncork();
}
