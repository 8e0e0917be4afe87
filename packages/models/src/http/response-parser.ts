import { checkTrailer, createHeadReader, malformed } from './response-head.ts';
import type { HeadReader, ResponseHead } from './response-head.ts';

/** What a parser has found, in order. */
export interface ResponseHandler {
  onHead(head: ResponseHead): void;
  /** A piece of the body. It is a view of what was pushed, for as long as this call takes. */
  onData(piece: Uint8Array): void;
  /** All of the response has come. */
  onEnd(): void;
}

/** Reads the responses of one connection, one after the other. */
export interface ResponseParser {
  /** A request was sent; what is pushed from now on is its response. */
  begin(handler: ResponseHandler, hasBody: boolean): void;
  /**
   * Bytes as they come from the connection, however they are cut: so many of these.
   *
   * @throws When they are not HTTP/1.1, or more than a response has.
   */
  push(bytes: Buffer, length?: number): void;
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

const HEAD_END = '\r\n\r\n';
/** Bytes of the end of a line. */
const LINE_END = 2;
/** Bytes that nearly every head fits into. */
const USUAL_HEAD = 1024;
/** Bytes by which a head is longer than the one before at most, nearly always. */
const USUAL_GROWTH = 32;
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

/** Where the reading of a response stands. */
interface Reading {
  readonly readHead: HeadReader;
  place: Place;
  handler: ResponseHandler | undefined;
  expectsBody: boolean;
  /** Where the bytes end that are being read. */
  end: number;
  /** Bytes that the next head most likely fits into. */
  usual: number;
  /** The beginning of a head or a trailer whose end has not come. */
  held: Buffer | undefined;
  /** Bytes that are still to come of the body, or of the chunk. */
  left: number;
  digits: number;
  /** Bytes of the heads, or of the trailers, so far. */
  passed: number;
  extension: string;
  begun: boolean;
}

const finish = (reading: Reading): void => {
  const told = reading.handler;
  reading.place = 'nothing';
  reading.handler = undefined;
  told?.onEnd();
};

const readHead = (reading: Reading, bytes: Buffer, from: number): number => {
  const { held } = reading;
  const start = held === undefined ? from : 0;
  const all = held === undefined ? bytes : Buffer.concat([held, bytes.subarray(from, reading.end)]);
  const end = held === undefined ? reading.end : all.length;
  // As text at once, and its end is looked for there: every step from here into the engine costs more than the step itself.
  let text = all.toString('latin1', start, Math.min(start + reading.usual, end));
  let length = text.indexOf(HEAD_END);
  if (length === -1 && end - start > reading.usual) {
    text = all.toString('latin1', start, Math.min(start + HEAD_LIMIT + HEAD_END.length, end));
    length = text.indexOf(HEAD_END);
  }
  const isWhole = length !== -1;
  if (reading.passed + (isWhole ? length : end - start) > HEAD_LIMIT) throw malformed('its head is too long');
  if (!isWhole) {
    reading.held = Buffer.from(all.subarray(start, end));
    return reading.end;
  }
  const after = start + length + HEAD_END.length;
  const consumed = held === undefined ? after : from + after - held.length;
  reading.held = undefined;
  reading.passed += length;
  reading.usual = length + HEAD_END.length + USUAL_GROWTH;
  takeHead(reading, reading.readHead(text.slice(0, length + LINE_END)));
  return consumed;
};

const takeHead = (reading: Reading, head: ResponseHead): void => {
  const { status } = head;
  if (status === 101) throw malformed('it changes to another protocol');
  // A word in advance; the response comes after it.
  if (status < 200) return;
  const length = !reading.expectsBody || status === 204 || status === 304 ? 0 : head.length;
  if (length === 'chunked') beginChunk(reading);
  else if (length === 'until_close') reading.place = 'until_close';
  else {
    reading.place = 'sized';
    reading.left = length;
  }
  reading.handler?.onHead(length === head.length ? head : { ...head, length });
  if (length === 0) finish(reading);
};

/** Takes bytes of the body or of a chunk. */
const readData = (reading: Reading, bytes: Buffer, from: number): number => {
  const to = Math.min(reading.end, from + reading.left);
  reading.left -= to - from;
  reading.handler?.onData(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to));
  if (reading.left > 0) return to;
  if (reading.place === 'sized') finish(reading);
  else reading.place = 'chunk_return';
  return to;
};

const beginChunk = (reading: Reading): void => {
  reading.place = 'size';
  reading.left = 0;
  reading.digits = 0;
  reading.extension = '';
};

const readSize = (reading: Reading, bytes: Buffer, from: number): number => {
  let at = from;
  for (; at < reading.end; at++) {
    const byte = bytes[at] ?? 0;
    const digit = digitOf(byte);
    if (digit !== -1) {
      reading.left = reading.left * 16 + digit;
      if (++reading.digits > SIZE_DIGITS) throw malformed('a chunk is too long');
      continue;
    }
    if (reading.digits === 0) throw malformed('a chunk has no size');
    if (byte === CR) reading.place = 'size_end';
    else if (byte === SEMICOLON) reading.place = 'extension';
    else throw malformed('the size of a chunk is no number');
    return at + 1;
  }
  return at;
};

/** Where a byte comes next; -1 when it hasn't come. */
const placeOf = (byte: number, { end }: Reading, bytes: Buffer, from: number): number => {
  const at = bytes.indexOf(byte, from);
  return at < end ? at : -1;
};

/** What follows a size says nothing we ask for. */
const readExtension = (reading: Reading, bytes: Buffer, from: number): number => {
  const end = placeOf(CR, reading, bytes, from);
  const to = end === -1 ? reading.end : end;
  if (reading.extension.length + to - from > EXTENSION_LIMIT) throw malformed('the line of a chunk is too long');
  reading.extension += bytes.toString('latin1', from, to);
  if (end === -1) return to;
  if (!EXTENSION.test(reading.extension)) throw malformed('what follows the size of a chunk is no extension');
  reading.place = 'size_end';
  return to + 1;
};

const readSizeEnd = (reading: Reading, bytes: Buffer, from: number): number => {
  if (bytes[from] !== LF) throw malformed('the line of a chunk has no end');
  reading.passed = 0;
  reading.place = reading.left === 0 ? 'trailers' : 'chunk';
  return from + 1;
};

const readChunkEnd = (reading: Reading, bytes: Buffer, from: number): number => {
  if (bytes[from] !== (reading.place === 'chunk_return' ? CR : LF)) throw malformed('a chunk is longer than it says');
  if (reading.place === 'chunk_return') reading.place = 'chunk_end';
  else beginChunk(reading);
  return from + 1;
};

/** Lines that say nothing we ask for, up to the one that is empty. */
const readTrailers = (reading: Reading, bytes: Buffer, from: number): number => {
  const { held } = reading;
  // Nearly always there are none.
  const isOver = held === undefined && bytes[from] === CR && bytes[from + 1] === LF && from + 1 < reading.end;
  const end = isOver ? from + 1 : placeOf(LF, reading, bytes, from);
  const to = end === -1 ? reading.end : end + 1;
  reading.passed += to - from;
  if (reading.passed > HEAD_LIMIT) throw malformed('its trailers are too long');
  if (isOver) {
    finish(reading);
    return to;
  }
  const line = held === undefined ? bytes.subarray(from, to) : Buffer.concat([held, bytes.subarray(from, to)]);
  reading.held = end === -1 ? Buffer.from(line) : undefined;
  if (end === -1) return to;
  if (line[line.length - 2] !== CR) throw malformed('a trailer has no end');
  if (line.length === 2) finish(reading);
  else checkTrailer(line.toString('latin1', 0, line.length - 2));
  return to;
};

const read = (reading: Reading, bytes: Buffer, from: number): number => {
  switch (reading.place) {
    case 'nothing':
      throw malformed('it has more than its end');
    case 'head':
      return readHead(reading, bytes, from);
    case 'size':
      return readSize(reading, bytes, from);
    case 'extension':
      return readExtension(reading, bytes, from);
    case 'size_end':
      return readSizeEnd(reading, bytes, from);
    case 'chunk_return':
    case 'chunk_end':
      return readChunkEnd(reading, bytes, from);
    case 'trailers':
      return readTrailers(reading, bytes, from);
    case 'until_close':
      reading.handler?.onData(from === 0 && reading.end === bytes.length ? bytes : bytes.subarray(from, reading.end));
      return reading.end;
    case 'sized':
    case 'chunk':
      return readData(reading, bytes, from);
  }
};

/**
 * Heads are read as a whole, and bodies as they come: a byte of a body is looked at once at most, and never copied.
 *
 * @param readHead One for all connections to a server.
 */
export function createResponseParser(readHead: HeadReader = createHeadReader()): ResponseParser {
  const reading: Reading = {
    readHead,
    place: 'nothing',
    handler: undefined,
    expectsBody: true,
    end: 0,
    usual: USUAL_HEAD,
    held: undefined,
    left: 0,
    digits: 0,
    passed: 0,
    extension: '',
    begun: false,
  };
  return {
    begin(next, hasBody) {
      reading.handler = next;
      reading.expectsBody = hasBody;
      reading.place = 'head';
      reading.held = undefined;
      reading.passed = 0;
      reading.begun = false;
    },
    push(bytes, length = bytes.length) {
      reading.begun = true;
      reading.end = length;
      for (let at = 0; at < length;) at = read(reading, bytes, at);
    },
    end() {
      if (reading.place === 'until_close') finish(reading);
      return reading.place === 'nothing';
    },
    hasBegun: () => reading.begun,
  };
}
