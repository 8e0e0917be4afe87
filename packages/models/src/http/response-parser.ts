import { malformed, parseResponseHead } from './response-head.ts';
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
  readonly begun: boolean;
}

/** Bytes of a head, and of the trailers of a body. */
const HEAD_LIMIT = 64 * 1024;
/** Bytes that may follow a chunk's size on its line. */
const EXTENSION_LIMIT = 1024;
/** Digits of a chunk's size. */
const SIZE_DIGITS = 12;

const HEAD_END = Buffer.from('\r\n\r\n');
const CR = 13;
const LF = 10;
const SPACE = 32;
const TAB = 9;
const SEMICOLON = 59;

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
  /** Bytes of the extension, or of the trailers, so far. */
  let passed = 0;
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
    const end = all.indexOf(HEAD_END, start);
    if ((end === -1 ? all.length : end) - start > HEAD_LIMIT) throw malformed('its head is too long');
    if (end === -1) {
      held = Buffer.from(all.subarray(start));
      return bytes.length;
    }
    const after = end + HEAD_END.length;
    const consumed = held === undefined ? after : from + after - held.length;
    held = undefined;
    takeHead(parseResponseHead(all.toString('latin1', start, end)));
    return consumed;
  };

  const takeHead = (head: ResponseHead): void => {
    const { status, length } = head;
    if (status === 101) throw malformed('it changes to another protocol');
    // A word in advance; the response comes after it.
    if (status < 200) return;
    const isEmpty = !expectsBody || status === 204 || status === 304 || length === 0;
    if (length === 'chunked') beginChunk();
    else if (length === 'until_close') place = 'until_close';
    else {
      place = 'sized';
      left = length;
    }
    handler?.onHead(head);
    if (isEmpty) finish();
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
    passed = 0;
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
      else if (byte === SEMICOLON || byte === SPACE || byte === TAB) place = 'extension';
      else throw malformed('the size of a chunk is no number');
      return at + 1;
    }
    return at;
  };

  /** What follows a size is nobody's business. */
  const readExtension = (bytes: Buffer, from: number): number => {
    const end = bytes.indexOf(CR, from);
    const to = end === -1 ? bytes.length : end;
    passed += to - from;
    if (passed > EXTENSION_LIMIT) throw malformed('the line of a chunk is too long');
    if (bytes.subarray(from, to).includes(LF)) throw malformed('the line of a chunk has no end');
    if (end === -1) return to;
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
    get begun() {
      return begun;
    },
  };
}
