import { transportError } from './timeouts.ts';

/** The lines of a response before its body. Header names are lowercase. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the server closes the connection after the response. */
  readonly closes: boolean;
  /** Milliseconds the connection may then wait for another request, as the server says; undefined when it doesn't. */
  readonly keptMs: number | undefined;
  /** How long the body is: so many bytes, cut into chunks, or until the connection ends. */
  readonly length: number | 'chunked' | 'until_close';
}

/** A response that isn't HTTP/1.1, or whose length could be understood in two ways. */
export const malformed = (what: string): Error =>
  transportError('TREADLE_MALFORMED_RESPONSE', `The server's response is not valid HTTP: ${what}.`);

/** Without the status line's reason, which says nothing. */
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const NAME = /^[\w!#$%&'*+\-.^`|~]+$/;

/** Characters no head may have: controls, and line ends that are none. */
// oxlint-disable-next-line no-control-regex -- They are what is looked for.
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;

/** Of these the first counts; others that come twice are a list. */
const ONCE: ReadonlySet<string> = new Set([
  'age',
  'content-encoding',
  'content-type',
  'date',
  'etag',
  'expires',
  'last-modified',
  'location',
  'retry-after',
  'server',
]);

const trimmed = (text: string, from: number): string => text.slice(from).trim();

const addHeader = (headers: Record<string, string>, line: string): void => {
  const colon = line.indexOf(':');
  const name = colon === -1 ? '' : line.slice(0, colon).toLowerCase();
  if (!NAME.test(name)) throw malformed('a header has no name');
  const value = trimmed(line, colon + 1);
  const earlier = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (earlier === undefined) headers[name] = value;
  else if (!ONCE.has(name)) headers[name] = `${earlier}, ${value}`;
};

const hasToken = (list: string | undefined, token: string): boolean =>
  list !== undefined &&
  (list === token ||
    list
      .toLowerCase()
      .split(/[\s,]+/)
      .includes(token));

const lengthOf = (headers: Readonly<Record<string, string>>): ResponseHead['length'] => {
  const coding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (coding !== undefined) {
    if (length !== undefined) throw malformed('it has both a length and a transfer coding');
    if (coding.toLowerCase() !== 'chunked') throw malformed('its transfer coding is not the one every server knows');
    return 'chunked';
  }
  if (length === undefined) return 'until_close';
  const [first = '', ...others] = length.split(/[\s,]+/);
  if (!/^\d{1,15}$/.test(first) || others.some((other) => other !== first)) throw malformed('its length is no number');
  return Number(first);
};

const keptMsOf = (hint: string | undefined): number | undefined => {
  const seconds = hint === undefined ? undefined : /(?:^|[\s,])timeout=(\d{1,9})/i.exec(hint)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
};

/** @param text The head without the empty line that ends it. */
export function parseResponseHead(text: string): ResponseHead {
  if (FORBIDDEN.test(text)) throw malformed('its head has characters that none may have');
  const firstEnd = text.indexOf('\r\n');
  const status = STATUS_LINE.exec(firstEnd === -1 ? text : text.slice(0, firstEnd));
  if (status === null) throw malformed('it does not begin with a status');
  const headers: Record<string, string> = {};
  for (let start = firstEnd + 2; firstEnd !== -1 && start < text.length;) {
    const end = text.indexOf('\r\n', start);
    const lineEnd = end === -1 ? text.length : end;
    addHeader(headers, text.slice(start, lineEnd));
    start = lineEnd + 2;
  }
  const { connection } = headers;
  const closes = status[1] === '0' ? !hasToken(connection, 'keep-alive') : hasToken(connection, 'close');
  const keptMs = keptMsOf(headers['keep-alive']);
  return { status: Number(status[2]), headers, closes, keptMs, length: lengthOf(headers) };
}
