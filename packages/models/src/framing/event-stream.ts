import type { FrameScanner } from '../protocols/shared/protocol.ts';
import { crc32 } from './crc32.ts';

/** A header's value. Timestamps are milliseconds since 1970-01-01 UTC, UUIDs their 36 characters. */
export type EventStreamValue = boolean | number | bigint | string | Uint8Array;

/** Called with what an event stream holds. After `corrupt`, `tooLong` or `cut` nothing follows. */
export interface EventStreamHandler {
  /** One message whose checksums are right. `payload` is only valid during the call. */
  message(headers: ReadonlyMap<string, EventStreamValue>, payload: Uint8Array): void;
  /** The bytes are not an event stream, or not the ones that were sent. */
  corrupt(problem: string): void;
  /** A message is longer than the limit, which it would be the next time too. */
  tooLong(problem: string): void;
  /** The body ended in the middle of a message. */
  cut(): void;
}

/** What AWS allows: 16 MiB of payload, 128 KiB of headers, and the fixed fields. */
const DEFAULT_MESSAGE_LIMIT = 16 * 1024 * 1024 + 128 * 1024 + 16;

/** Total length, length of the headers, and their checksum. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
const SMALLEST_MESSAGE = PRELUDE_BYTES + CHECKSUM_BYTES;

const NO_BYTES = new Uint8Array(0);
const UTF8 = new TextDecoder();

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const uint32 = (bytes: Uint8Array, at: number): number =>
  (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0;

const uuid = (bytes: Uint8Array): string => {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

/** Bytes of each type whose size is fixed; types 6 (bytes) and 7 (text) begin with their length. */
const FIXED_SIZES: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];

const readValue = (type: number, value: Uint8Array): EventStreamValue => {
  const view = viewOf(value);
  switch (type) {
    case 0:
    case 1:
      return type === 0;
    case 2:
      return view.getInt8(0);
    case 3:
      return view.getInt16(0);
    case 4:
      return view.getInt32(0);
    case 5:
      return view.getBigInt64(0);
    case 6:
      return new Uint8Array(value);
    case 7:
      return UTF8.decode(value);
    case 8:
      return Number(view.getBigInt64(0));
    default:
      return uuid(value);
  }
};

/** The headers in `bytes`, or undefined when they aren't headers. */
const readHeaders = (bytes: Uint8Array): Map<string, EventStreamValue> | undefined => {
  const headers = new Map<string, EventStreamValue>();
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    const type = bytes[nameEnd];
    if (type === undefined || nameEnd === at + 1 || type >= FIXED_SIZES.length) return undefined;
    const name = UTF8.decode(bytes.subarray(at + 1, nameEnd));
    let start = nameEnd + 1;
    let size = FIXED_SIZES[type];
    if (size === undefined) {
      size = ((bytes[start] ?? 0) << 8) | (bytes[start + 1] ?? 0);
      start += 2;
    }
    at = start + size;
    if (at > bytes.length) return undefined;
    headers.set(name, readValue(type, bytes.subarray(start, at)));
  }
  return headers;
};

/** Headers that were read before, with their bytes. */
interface KnownHeaders {
  readonly bytes: Uint8Array;
  readonly headers: ReadonlyMap<string, EventStreamValue>;
}

/** Kinds of events that a service has, and a few to spare. */
const MOST_KNOWN = 16;

/** Longer headers than this say more than what kind of event it is. */
const LONGEST_KNOWN = 256;

/** The newest last. Every stream of a service has the same few, each of them in every event of its kind. */
let known: readonly KnownHeaders[] = [];

const isSame = (bytes: Uint8Array, from: number, to: number, kept: Uint8Array): boolean => {
  if (to - from !== kept.length) return false;
  for (let at = 0; at < kept.length; at++) if (bytes[from + at] !== kept[at]) return false;
  return true;
};

const remember = (bytes: Uint8Array, headers: ReadonlyMap<string, EventStreamValue>): KnownHeaders => {
  // Not `slice`: that of a Node buffer would share its memory.
  const read = { bytes: new Uint8Array(bytes), headers };
  if (bytes.length <= LONGEST_KNOWN) known = [...known.slice(1 - MOST_KNOWN), read];
  return read;
};

/** The headers that lie between two places, or undefined when they aren't headers. */
const headersIn = (bytes: Uint8Array, from: number, to: number): KnownHeaders | undefined => {
  for (let at = known.length - 1; at >= 0; at--) {
    const one = known[at];
    if (one !== undefined && isSame(bytes, from, to, one.bytes)) return one;
  }
  const own = bytes.subarray(from, to);
  const headers = readHeaders(own);
  return headers === undefined ? undefined : remember(own, headers);
};

/**
 * Cuts a body in AWS's event stream encoding into messages and checks both checksums of each. Source of the format:
 * Amazon's description of `application/vnd.amazon.eventstream`.
 *
 * A message that lies whole in a chunk is read where it lies; one that spans chunks is gathered in a buffer that
 * doubles up to the message's length. So the cost is linear in the bytes, however they are chunked. A length is
 * believed only after its checksum was right, and nothing is set aside for bytes that haven't come.
 *
 * @param limit Bytes a message may have.
 */
export function createEventStreamScanner(
  handler: EventStreamHandler,
  limit: number = DEFAULT_MESSAGE_LIMIT,
): FrameScanner {
  let waiting = NO_BYTES;
  let waitingLength = 0;
  /** Length of the message that is waiting, once its prelude is there. */
  let total = 0;
  let stopped = false;
  /** Most messages of a stream have the headers of the one before. */
  let last: KnownHeaders | undefined;

  const stop = (problem: string, what: 'corrupt' | 'tooLong' = 'corrupt'): void => {
    stopped = true;
    waiting = NO_BYTES;
    handler[what](problem);
  };

  /** The length of the message at `start`, whose prelude is there; 0 when it can't be one. */
  const readPrelude = (bytes: Uint8Array, start: number): number => {
    const length = uint32(bytes, start);
    if (crc32(bytes, start, start + 8) !== uint32(bytes, start + 8)) {
      stop('The stream is damaged: the checksum of a message’s lengths is wrong.');
      return 0;
    }
    if (length < SMALLEST_MESSAGE || uint32(bytes, start + 4) > length - SMALLEST_MESSAGE) {
      stop('The stream is damaged: a message has impossible lengths.');
      return 0;
    }
    if (length > limit) {
      stop(`The stream has a message of ${length} bytes; more than ${limit} are not read.`, 'tooLong');
      return 0;
    }
    return length;
  };

  /** The message between two places, whose prelude was right. */
  const deliver = (bytes: Uint8Array, from: number, to: number): void => {
    const end = to - CHECKSUM_BYTES;
    if (crc32(bytes, from, end) !== uint32(bytes, end)) {
      return stop('The stream is damaged: the checksum of a message is wrong.');
    }
    const start = from + PRELUDE_BYTES;
    const payloadStart = start + uint32(bytes, from + 4);
    if (last === undefined || !isSame(bytes, start, payloadStart, last.bytes)) {
      last = headersIn(bytes, start, payloadStart);
    }
    if (last === undefined) return stop('The stream is damaged: a message has headers that can’t be read.');
    handler.message(last.headers, bytes.subarray(payloadStart, end));
  };

  /** Adds to the waiting message what it still wants, up to `wanted` bytes in all, and returns how many it took. */
  const gather = (chunk: Uint8Array, from: number, wanted: number): number => {
    const count = Math.min(wanted - waitingLength, chunk.length - from);
    const needed = waitingLength + count;
    if (needed > waiting.length) {
      const larger = new Uint8Array(Math.min(Math.max(needed, waiting.length * 2, 256), Math.max(wanted, 256)));
      larger.set(waiting.subarray(0, waitingLength));
      waiting = larger;
    }
    waiting.set(chunk.subarray(from, from + count), waitingLength);
    waitingLength = needed;
    return count;
  };

  /** Goes on with the waiting message and returns where in the chunk the next one begins. */
  const complete = (chunk: Uint8Array): number => {
    let at = 0;
    if (total === 0) {
      at = gather(chunk, 0, PRELUDE_BYTES);
      if (waitingLength < PRELUDE_BYTES) return at;
      total = readPrelude(waiting, 0);
      if (stopped) return at;
    }
    at += gather(chunk, at, total);
    if (waitingLength < total) return at;
    const length = total;
    total = 0;
    waitingLength = 0;
    deliver(waiting, 0, length);
    return at;
  };

  return {
    push(chunk) {
      if (stopped) return;
      let at = waitingLength === 0 ? 0 : complete(chunk);
      while (!stopped && chunk.length - at >= PRELUDE_BYTES) {
        const length = readPrelude(chunk, at);
        if (stopped) return;
        if (chunk.length - at < length) {
          total = length;
          break;
        }
        deliver(chunk, at, at + length);
        at += length;
      }
      if (!stopped && at < chunk.length) gather(chunk, at, total === 0 ? PRELUDE_BYTES : total);
    },
    end() {
      if (!stopped && waitingLength > 0) handler.cut();
      stopped = true;
    },
  };
}
