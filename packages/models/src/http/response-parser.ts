import { checkTrailer, malformed, parseResponseHead } from './response-head.ts';
import type { ResponseHead } from './response-head.ts';

/** What a parser has found, in order. */
export interface ResponseHandler {
  onHead(head: ResponseHead): void;
  /** A piece of the body. It is a view of what was pushed. */
  onData(piece: Uint8Array): void;
  /** All of the response has come. */
  onEnd(): void;
}

/** Reads the responses of one connection, one after the other. */
export interface ResponseParser {
  /** A request was sent; what is pushed from now on is its response. */
  begin(handler: ResponseHandler, hasBody: boolean): void;
  /**
   * Bytes as they come from the connection, however they are cut.
   *
   * @throws When they are not HTTP/1.1, or more than a response has.
   */
  push(bytes: Buffer): void;
  /** The connection ended. False when it did so inside a response. */
  end(): boolean;
  /** Whether a byte of the response has come. */
  hasBegun(): boolean;
}

/** Bytes of all heads of a response, those of words in advance included, and of its trailers. As much as Node allows. */
const HEAD_LIMIT = 16 * 1024;
/** Bytes that may follow a chunk's size on its line. */
const EXTENSION_LIMIT = 1024;
/** Digits of a chunk's size. */
const SIZE_DIGITS = 12;

const HEAD_END = Buffer.from('\r\n\r\n');
const CR = 13;
const LF = 10;
const SEMICOLON = 59;

const TOKEN = "[\\w!#$%&'*+\\-.^`|~]+";
const QUOTED = String.raw`"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"`;
/** What follows the first semicolon of a chunk's line. */
const EXTENSION = new RegExp(`^${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)*$`);

/** What the next byte belongs to. */
type Place =
  | 'nothing'
  | 'head'
  | 'sized'
  | 'until_close'
  | 'size'
  | 'extension'
  | 'size_end'
  | 'chunk'
  | 'chunk_return'
  | 'chunk_end'
  | 'trailers';

/** What a hexadecimal digit stands for; -1 for other characters. */
const digitOf = (byte: number): number => {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
};

/** Heads are read as a whole, and bodies as they come: a byte of a body is looked at once at most, and never copied. */
export function createResponseParser(): ResponseParser {
  let place: Place = 'nothing';
  let handler: ResponseHandler | undefined;
  let expectsBody = true;
  /** The beginning of a head or a trailer whose end has not come. */
  let held: Buffer | undefined;
  /** Bytes that are still to come of the body, or of the chunk. */
  let left = 0;
  let digits = 0;
  /** Bytes of the heads, or of the trailers, so far. */
  let passed = 0;
  let extension = '';
  let begun = false;

  const finish = (): void => {
    const told = handler;
    place = 'nothing';
    handler = undefined;
    told?.onEnd();
  };

  const readHead = (bytes: Buffer, from: number): number => {
    const start = held === undefined ? from : 0;
    const all = held === undefined ? bytes : Buffer.concat([held, bytes.subarray(from)]);
    // What was held has no end, but may have its beginning.
    const end = all.indexOf(HEAD_END, held === undefined ? start : Math.max(0, held.length - HEAD_END.length + 1));
    const length = (end === -1 ? all.length : end) - start;
    if (passed + length > HEAD_LIMIT) throw malformed('its head is too long');
    if (end === -1) {
      held = Buffer.from(all.subarray(start));
      return bytes.length;
    }
    const after = end + HEAD_END.length;
    const consumed = held === undefined ? after : from + after - held.length;
    held = undefined;
    passed += length;
    takeHead(parseResponseHead(all.toString('latin1', start, end)));
    return consumed;
  };

  const takeHead = (head: ResponseHead): void => {
    const { status } = head;
    if (status === 101) throw malformed('it changes to another protocol');
    // A word in advance; the response comes after it.
    if (status < 200) return;
    const length = !expectsBody || status === 204 || status === 304 ? 0 : head.length;
    if (length === 'chunked') beginChunk();
    else if (length === 'until_close') place = 'until_close';
    else {
      place = 'sized';
      left = length;
    }
    handler?.onHead(length === head.length ? head : { ...head, length });
    if (length === 0) finish();
  };

  /** Takes bytes of the body or of a chunk. */
  const readData = (bytes: Buffer, from: number): number => {
    const to = Math.min(bytes.length, from + left);
    left -= to - from;
    handler?.onData(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to));
    if (left > 0) return to;
    if (place === 'sized') finish();
    else place = 'chunk_return';
    return to;
  };

  const beginChunk = (): void => {
    place = 'size';
    left = 0;
    digits = 0;
    extension = '';
  };

  const readSize = (bytes: Buffer, from: number): number => {
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      const digit = digitOf(byte);
      if (digit !== -1) {
        left = left * 16 + digit;
        if (++digits > SIZE_DIGITS) throw malformed('a chunk is too long');
        continue;
      }
      if (digits === 0) throw malformed('a chunk has no size');
      if (byte === CR) place = 'size_end';
      else if (byte === SEMICOLON) place = 'extension';
      else throw malformed('the size of a chunk is no number');
      return at + 1;
    }
    return at;
  };

  /** What follows a size says nothing we ask for. */
  const readExtension = (bytes: Buffer, from: number): number => {
    const end = bytes.indexOf(CR, from);
    const to = end === -1 ? bytes.length : end;
    if (extension.length + to - from > EXTENSION_LIMIT) throw malformed('the line of a chunk is too long');
    extension += bytes.toString('latin1', from, to);
    if (end === -1) return to;
    if (!EXTENSION.test(extension)) throw malformed('what follows the size of a chunk is no extension');
    place = 'size_end';
    return to + 1;
  };

  const readSizeEnd = (bytes: Buffer, from: number): number => {
    if (bytes[from] !== LF) throw malformed('the line of a chunk has no end');
    passed = 0;
    place = left === 0 ? 'trailers' : 'chunk';
    return from + 1;
  };

  const readChunkEnd = (bytes: Buffer, from: number): number => {
    if (bytes[from] !== (place === 'chunk_return' ? CR : LF)) throw malformed('a chunk is longer than it says');
    if (place === 'chunk_return') place = 'chunk_end';
    else beginChunk();
    return from + 1;
  };

  /** Lines that say nothing we ask for, up to the one that is empty. */
  const readTrailers = (bytes: Buffer, from: number): number => {
    const end = bytes.indexOf(LF, from);
    const to = end === -1 ? bytes.length : end + 1;
    passed += to - from;
    if (passed > HEAD_LIMIT) throw malformed('its trailers are too long');
    const line = held === undefined ? bytes.subarray(from, to) : Buffer.concat([held, bytes.subarray(from, to)]);
    held = end === -1 ? Buffer.from(line) : undefined;
    if (end === -1) return to;
    if (line[line.length - 2] !== CR) throw malformed('a trailer has no end');
    if (line.length === 2) finish();
    else checkTrailer(line.toString('latin1', 0, line.length - 2));
    return to;
  };

  const read = (bytes: Buffer, from: number): number => {
    switch (place) {
      case 'nothing':
        throw malformed('it has more than its end');
      case 'head':
        return readHead(bytes, from);
      case 'size':
        return readSize(bytes, from);
      case 'extension':
        return readExtension(bytes, from);
      case 'size_end':
        return readSizeEnd(bytes, from);
      case 'chunk_return':
      case 'chunk_end':
        return readChunkEnd(bytes, from);
      case 'trailers':
        return readTrailers(bytes, from);
      case 'until_close':
        handler?.onData(from === 0 ? bytes : bytes.subarray(from));
        return bytes.length;
      case 'sized':
      case 'chunk':
        return readData(bytes, from);
    }
  };

  return {
    begin(next, hasBody) {
      handler = next;
      expectsBody = hasBody;
      place = 'head';
      held = undefined;
      passed = 0;
      begun = false;
    },
    push(bytes) {
      begun = true;
      for (let at = 0; at < bytes.length;) at = read(bytes, at);
    },
    end() {
      if (place === 'until_close') finish();
      return place === 'nothing';
    },
    hasBegun: () => begun,
  };
}
