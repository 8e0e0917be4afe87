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
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'location',
  'retry-after',
  'server',
]);

const TAB = 9;
const SPACE = 32;

/** Without the spaces around it. `trim` would take characters that are part of a value. */
const trimmed = (text: string, from: number): string => {
  const isSpace = (at: number): boolean => text.charCodeAt(at) === SPACE || text.charCodeAt(at) === TAB;
  let start = from;
  let end = text.length;
  while (start < end && isSpace(start)) start++;
  while (end > start && isSpace(end - 1)) end--;
  return text.slice(start, end);
};

/** Names as they came, and what they are: servers send the same ones with every response. */
const knownNames = new Map<string, string>();

/** As many names as a few services have. */
const MOST_KNOWN_NAMES = 256;
const LONGEST_KNOWN_NAME = 64;

const nameOf = (line: string, colon: number): string => {
  const raw = colon === -1 ? '' : line.slice(0, colon);
  const known = knownNames.get(raw);
  if (known !== undefined) return known;
  const name = raw.toLowerCase();
  if (!NAME.test(name)) throw malformed('a header has no name');
  if (knownNames.size < MOST_KNOWN_NAMES && raw.length <= LONGEST_KNOWN_NAME) knownNames.set(raw, name);
  return name;
};

const addHeader = (headers: Record<string, string>, line: string): void => {
  const colon = line.indexOf(':');
  const name = nameOf(line, colon);
  const value = trimmed(line, colon + 1);
  const earlier = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (earlier === undefined) headers[name] = value;
  else if (!ONCE.has(name)) headers[name] = `${earlier}, ${value}`;
};

/** Checks a line after the last chunk, which says nothing we ask for. */
export function checkTrailer(line: string): void {
  if (FORBIDDEN.test(line)) throw malformed('a trailer has characters that none may have');
  const name = nameOf(line, line.indexOf(':'));
  if (name === 'content-length' || name === 'transfer-encoding') throw malformed('a trailer says how long it is');
}

/** Whether a header whose value is a list of words has this one. */
export const hasToken = (list: string | undefined, token: string): boolean =>
  list !== undefined &&
  (list === token ||
    list
      .toLowerCase()
      .split(/[\t ,]+/)
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
  // Two lengths are refused even where they agree: who sends two doesn't know what it sends.
  if (!/^\d{1,15}$/.test(length)) throw malformed('its length is no number');
  return Number(length);
};

const keptMsOf = (hint: string | undefined): number | undefined => {
  const seconds = hint === undefined ? undefined : /(?:^|[\t ,])timeout=(\d{1,9})/i.exec(hint)?.[1];
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
  const isOld = status[1] === '0';
  const length = lengthOf(headers);
  // HTTP/1.0 knows no chunks: who sends them in it may be two that understand it differently.
  const isOdd = isOld && length === 'chunked';
  const closes = hasToken(connection, 'close') || isOdd || (isOld && !hasToken(connection, 'keep-alive'));
  const keptMs = keptMsOf(headers['keep-alive']);
  return { status: Number(status[2]), headers, closes, keptMs, length };
}
