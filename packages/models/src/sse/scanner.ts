import type { FrameHandler, FrameScanner, Framing } from '../protocols/shared/protocol.ts';

/** Bytes a line may have. */
export const DEFAULT_LINE_LIMIT = 32 * 1024 * 1024;

const LF = 10;
const CR = 13;
const SPACE = 32;
const COLON = 58;
const BYTE_ORDER_MARK = 0xfeff;

/** It decodes whole lines and keeps nothing between two calls, so that one is enough for all. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const NOTHING = new Uint8Array(0);

const lastLineEnd = (bytes: Uint8Array): number => {
  // Nearly every chunk ends at the end of a line; only the others are searched.
  const last = bytes[bytes.length - 1];
  if (last === LF || last === CR) return bytes.length - 1;
  return Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR));
};

const firstLineEnd = (bytes: Uint8Array, from: number): number => {
  const lf = bytes.indexOf(LF, from);
  const cr = (lf === -1 ? bytes : bytes.subarray(0, lf)).indexOf(CR, from);
  return cr === -1 ? lf : cr;
};

/** Where the first line longer than `limit` begins, or -1. `bytes` ends at the end of a line. */
const startOfLongLine = (bytes: Uint8Array, limit: number): number => {
  let start = 0;
  while (start < bytes.length) {
    const end = firstLineEnd(bytes, start);
    if (end - start > limit) return start;
    start = end + 1;
  }
  return -1;
};

/** One body, as far as it was scanned. */
interface Body {
  readonly onEvent: FrameHandler;
  readonly onProblem: (message: string) => void;
  readonly limit: number;
  /** The bytes of an unfinished line, in a buffer that doubles. */
  waiting: Uint8Array;
  waitingLength: number;
  skipLineFeed: boolean;
  started: boolean;
  stopped: boolean;
  name: string;
  data: string | undefined;
}

const stop = (body: Body): void => {
  body.stopped = true;
  body.waiting = NOTHING;
  body.waitingLength = 0;
  body.data = undefined;
  body.onProblem(`The stream has a line or an event longer than ${body.limit} bytes.`);
};

const keep = (body: Body, bytes: Uint8Array): void => {
  const needed = body.waitingLength + bytes.length;
  // The line end itself doesn't count; `decode` checks exactly.
  if (needed > body.limit + 2) return stop(body);
  if (needed > body.waiting.length) {
    const larger = new Uint8Array(Math.max(needed, body.waiting.length * 2, 256));
    larger.set(body.waiting.subarray(0, body.waitingLength));
    body.waiting = larger;
  }
  body.waiting.set(bytes, body.waitingLength);
  body.waitingLength = needed;
};

const field = (body: Body, text: string, start: number, end: number): void => {
  const colon = text.indexOf(':', start);
  const nameEnd = colon === -1 || colon > end ? end : colon;
  let valueStart = Math.min(nameEnd + 1, end);
  if (valueStart < end && text.charCodeAt(valueStart) === SPACE) valueStart++;
  const length = nameEnd - start;
  if (length === 4 && text.startsWith('data', start)) {
    const value = text.slice(valueStart, end);
    if (body.data === undefined) body.data = value;
    else if (body.data.length + value.length > body.limit) stop(body);
    else body.data += `\n${value}`;
  } else if (length === 5 && text.startsWith('event', start)) {
    body.name = text.slice(valueStart, end);
  }
  // `id` and `retry` belong to reconnecting, which a model stream can't; other fields are unknown.
};

const dispatch = (body: Body, whole: boolean): void => {
  const { name, data } = body;
  body.name = '';
  body.data = undefined;
  if (data !== undefined) body.onEvent(name, data, whole);
};

/** `text` holds whole lines that end in LF only. */
const lines = (body: Body, text: string, start: number): void => {
  let position = start;
  while (!body.stopped && position < text.length) {
    const end = text.indexOf('\n', position);
    const first = text.charCodeAt(position);
    if (first === LF) dispatch(body, true);
    else if (first !== COLON) field(body, text, position, end);
    position = end + 1;
  }
};

/** `bytes` ends at the end of a line. */
const decode = (body: Body, bytes: Uint8Array): void => {
  const tooLong = bytes.length > body.limit ? startOfLongLine(bytes, body.limit) : -1;
  let text = decoder.decode(tooLong === -1 ? bytes : bytes.subarray(0, tooLong));
  if (text.includes('\r')) text = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  const skipMark = !body.started && text.charCodeAt(0) === BYTE_ORDER_MARK;
  body.started = true;
  lines(body, text, skipMark ? 1 : 0);
  if (tooLong !== -1 && !body.stopped) stop(body);
};

/** Completes the waiting line with the beginning of `bytes` and returns the rest. */
const completeLine = (body: Body, bytes: Uint8Array): Uint8Array => {
  let next = firstLineEnd(bytes, 0) + 1;
  // Both halves of a CRLF belong to this line.
  if (bytes[next - 1] === CR && bytes[next] === LF) next++;
  keep(body, bytes.subarray(0, next));
  if (!body.stopped) {
    const line = body.waiting.subarray(0, body.waitingLength);
    body.waitingLength = 0;
    decode(body, line);
  }
  return bytes.subarray(next);
};

const push = (body: Body, chunk: Uint8Array): void => {
  if (body.stopped || chunk.length === 0) return;
  let bytes = chunk;
  if (body.skipLineFeed) {
    body.skipLineFeed = false;
    if (bytes[0] === LF) bytes = bytes.subarray(1);
    if (bytes.length === 0) return;
  }
  const end = lastLineEnd(bytes) + 1;
  if (end === 0) return keep(body, bytes);
  // A CR at the very end of a chunk may be the first half of CRLF.
  body.skipLineFeed = bytes[bytes.length - 1] === CR;
  let head = end === bytes.length ? bytes : bytes.subarray(0, end);
  if (body.waitingLength > 0) head = completeLine(body, head);
  if (!body.stopped && head.length > 0) decode(body, head);
  if (!body.stopped && end < bytes.length) keep(body, bytes.subarray(end));
};

const finish = (body: Body): void => {
  if (body.stopped) return;
  const cut = body.waitingLength > 0;
  if (cut) {
    const text = decoder.decode(body.waiting.subarray(0, body.waitingLength));
    body.waitingLength = 0;
    const start = !body.started && text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
    if (text.length > start && text.charCodeAt(start) !== COLON) field(body, text, start, text.length);
  }
  if (!body.stopped) dispatch(body, !cut);
  body.stopped = true;
};

/**
 * Cuts a body of server-sent events into events, by the rules of the HTML standard, with one difference: an event
 * that the end of the body cut short is delivered too, marked as not whole.
 *
 * Bytes are decoded only up to the last line end of each chunk, so no chunk boundary falls inside a character, and
 * bytes of an unfinished line wait in a buffer that doubles. Both together make the cost linear in the bytes, however
 * they are chunked. Invalid UTF-8 becomes U+FFFD.
 *
 * @param limit Bytes a line may have, and characters the data of an event; the scanner stops at the first with more.
 */
export function createSseScanner(
  onEvent: FrameHandler,
  onProblem: (message: string) => void,
  limit: number = DEFAULT_LINE_LIMIT,
): FrameScanner {
  const body: Body = {
    onEvent,
    onProblem,
    limit,
    waiting: NOTHING,
    waitingLength: 0,
    skipLineFeed: false,
    started: false,
    stopped: false,
    name: '',
    data: undefined,
  };
  return { push: (chunk) => push(body, chunk), end: () => finish(body) };
}

/** Server-sent events, as {@link Framing}. */
export const sseFraming: Framing = (onFrame, onProblem) => createSseScanner(onFrame, onProblem);
