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

/** A line of a head: of the first one the version's digit and the status, of others a header's name and its value. */
interface Line {
  /** With its end. */
  readonly text: string;
  readonly name: string;
  readonly value: string;
}

const statusLine = (text: string): Line => {
  const status = STATUS_LINE.exec(text.slice(0, -2));
  if (status === null) throw malformed('it does not begin with a status');
  return { text, name: status[1] ?? '', value: status[2] ?? '' };
};

const headerLine = (text: string): Line => {
  const line = text.slice(0, -2);
  const colon = line.indexOf(':');
  return { text, name: nameOf(line, colon), value: trimmed(line, colon + 1) };
};

const headersOf = (lines: readonly Line[]): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (let at = 1; at < lines.length; at++) {
    const { name = '', value = '' } = lines[at] ?? {};
    const earlier = Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (earlier === undefined) headers[name] = value;
    else if (!ONCE.has(name)) headers[name] = `${earlier}, ${value}`;
  }
  return headers;
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

const headOf = (lines: readonly Line[]): ResponseHead => {
  const headers = headersOf(lines);
  const { connection } = headers;
  const isOld = lines[0]?.name === '0';
  const length = lengthOf(headers);
  // HTTP/1.0 knows no chunks: who sends them in it may be two that understand it differently.
  const isOdd = isOld && length === 'chunked';
  const closes = hasToken(connection, 'close') || isOdd || (isOld && !hasToken(connection, 'keep-alive'));
  const keptMs = keptMsOf(headers['keep-alive']);
  // Frozen, for the next response may have the same.
  return { status: Number(lines[0]?.value), headers: Object.freeze(headers), closes, keptMs, length };
};

/** Reads a head: its text with the end of its last line, without the empty one that follows. */
export type HeadReader = (text: string) => ResponseHead;

/** A longer head is not kept for the next one: its lines may hold on to the text of several. */
const LONGEST_KNOWN_HEAD = 4096;
const MOST_KNOWN_LINES = 100;

/**
 * Reads the heads of one server. They say nearly the same every time, in the same order: a line that is the same as in the
 * head before is known to be right, and isn't taken apart again.
 */
export function createHeadReader(): HeadReader {
  const lines: Line[] = [];
  /** What the lines say; undefined where they are not those of one head. */
  let head: ResponseHead | undefined;
  return (text) => {
    let count = 0;
    let isChecked = false;
    for (let at = 0; at < text.length; count++) {
      const known = lines[count];
      if (known !== undefined && text.startsWith(known.text, at)) {
        at += known.text.length;
        continue;
      }
      if (!isChecked && FORBIDDEN.test(text)) throw malformed('its head has characters that none may have');
      isChecked = true;
      head = undefined;
      const end = text.indexOf('\r\n', at) + 2;
      lines[count] = (count === 0 ? statusLine : headerLine)(text.slice(at, end));
      at = end;
    }
    if (head !== undefined && count === lines.length) return head;
    lines.length = count;
    head = undefined;
    const read = headOf(lines);
    if (text.length <= LONGEST_KNOWN_HEAD && count <= MOST_KNOWN_LINES) head = read;
    else lines.length = 0;
    return read;
  };
}
