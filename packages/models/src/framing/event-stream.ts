import type { FrameScanner } from '../protocols/shared/protocol.ts';
import { crc32 } from './crc32.ts';

/** Called with what an event stream holds. After `corrupt`, `tooLong` or `cut` nothing follows. */
export interface EventStreamHandler {
  /** One message whose checksums are right, with its headers that are text. `payload` is only valid during the call. */
  message(headers: ReadonlyMap<string, string>, payload: Uint8Array): void;
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

const UTF8 = new TextDecoder();
const LATIN1 = new TextDecoder('latin1');

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Bytes of each type whose size is fixed; types 6 (bytes) and 7 (text) begin with their length. */
const FIXED_SIZES: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];

/** The type of a text. */
const TEXT = 7;

const NOT_ASCII = /[\u0080-\uffff]/;

/** The headers in `bytes` that are text, or undefined when they aren't headers. */
const readHeaders = (bytes: Uint8Array): Map<string, string> | undefined => {
  const headers = new Map<string, string>();
  // Headers are nearly always ASCII, and one call decodes them all.
  const all = LATIN1.decode(bytes);
  const isAscii = !NOT_ASCII.test(all);
  const textOf = (start: number, end: number): string =>
    isAscii ? all.slice(start, end) : UTF8.decode(bytes.subarray(start, end));
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    const type = bytes[nameEnd];
    if (type === undefined || nameEnd === at + 1 || type >= FIXED_SIZES.length) return undefined;
    const name = textOf(at + 1, nameEnd);
    let start = nameEnd + 1;
    let size = FIXED_SIZES[type];
    if (size === undefined) {
      size = ((bytes[start] ?? 0) << 8) | (bytes[start + 1] ?? 0);
      start += 2;
    }
    at = start + size;
    if (at > bytes.length) return undefined;
    if (type === TEXT) headers.set(name, textOf(start, at));
  }
  return headers;
};

/**
 * Cuts a body in AWS's event stream encoding into messages and checks both checksums of each. Source of the format:
 * Amazon's description of `application/vnd.amazon.eventstream`.
 *
 * What has come of a message waits in a buffer that doubles, so the cost is linear in the bytes, however they are chunked.
 * A length is believed only after its checksum was right, and nothing is set aside for bytes that haven't come.
 *
 * @param limit Bytes a message may have.
 */
export function createEventStreamScanner(
  handler: EventStreamHandler,
  limit: number = DEFAULT_MESSAGE_LIMIT,
): FrameScanner {
  let waiting = new Uint8Array(1024);
  let view = viewOf(waiting);
  let length = 0;
  /** Bytes that must have come before there is something to read: a prelude, or the message it announced. */
  let needed = PRELUDE_BYTES;
  let stopped = false;

  const stop = (problem: string, what: 'corrupt' | 'tooLong' = 'corrupt'): void => {
    stopped = true;
    waiting = new Uint8Array(0);
    handler[what](problem);
  };

  const keep = (chunk: Uint8Array): void => {
    if (length + chunk.length > waiting.length) {
      const larger = new Uint8Array(2 * (length + chunk.length));
      larger.set(waiting.subarray(0, length));
      waiting = larger;
      view = viewOf(waiting);
    }
    waiting.set(chunk, length);
    length += chunk.length;
  };

  /** The length of the message that begins at `at`, whose prelude is there. Stops when it can't be one. */
  const readPrelude = (at: number): number => {
    const size = view.getUint32(at);
    if (crc32(waiting.subarray(at, at + 8)) !== view.getUint32(at + 8))
      stop('The stream is damaged: the checksum of a message’s lengths is wrong.');
    else if (size < SMALLEST_MESSAGE || view.getUint32(at + 4) > size - SMALLEST_MESSAGE)
      stop('The stream is damaged: a message has impossible lengths.');
    else if (size > limit)
      stop(`The stream has a message of ${size} bytes; more than ${limit} are not read.`, 'tooLong');
    return size;
  };

  /** A message from `start` to `end` whose prelude was right. */
  const deliver = (start: number, end: number): void => {
    const payloadEnd = end - CHECKSUM_BYTES;
    if (crc32(waiting.subarray(start, payloadEnd)) !== view.getUint32(payloadEnd)) {
      return stop('The stream is damaged: the checksum of a message is wrong.');
    }
    const headersStart = start + PRELUDE_BYTES;
    const payloadStart = headersStart + view.getUint32(start + 4);
    const headers = readHeaders(waiting.subarray(headersStart, payloadStart));
    if (headers === undefined) return stop('The stream is damaged: a message has headers that can’t be read.');
    handler.message(headers, waiting.subarray(payloadStart, payloadEnd));
  };

  /** Reads the messages that are there. Returns where the first that isn't whole begins. */
  const readMessages = (): number => {
    let at = 0;
    while (length - at >= needed) {
      const size = readPrelude(at);
      needed = size;
      if (stopped || length - at < size) return at;
      deliver(at, at + size);
      needed = PRELUDE_BYTES;
      at += size;
      if (stopped) return at;
    }
    return at;
  };

  return {
    push(chunk) {
      if (stopped) return;
      keep(chunk);
      const at = readMessages();
      waiting.copyWithin(0, at, length);
      length -= at;
    },
    end() {
      if (!stopped && length > 0) handler.cut();
      stopped = true;
    },
  };
}
