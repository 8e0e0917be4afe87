import { crc32 } from 'node:zlib';
import type { Cutter } from './exchange.ts';

const PRELUDE = 12;
const CHECKSUM = 4;

/** The messages of AWS's event stream, both checksums of each checked: their event type and their payload. */
export function eventStream(onMessage: (type: string, payload: string) => void): Cutter {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const bytes =
      rest.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([rest, chunk]);
    let start = 0;
    while (bytes.length - start >= PRELUDE) {
      const length = bytes.readUInt32BE(start);
      if (crc32(bytes.subarray(start, start + 8)) !== bytes.readUInt32BE(start + 8)) throw new Error('A bad prelude.');
      if (bytes.length - start < length) break;
      const end = start + length - CHECKSUM;
      if (crc32(bytes.subarray(start, end)) !== bytes.readUInt32BE(end)) throw new Error('A bad message.');
      const payload = start + PRELUDE + bytes.readUInt32BE(start + 4);
      onMessage(eventType(bytes, start + PRELUDE, payload), bytes.toString('utf8', payload, end));
      start += length;
    }
    rest = bytes.subarray(start);
  };
}

/** The header `:event-type`. All headers of this service are text. */
function eventType(bytes: Buffer, from: number, to: number): string {
  let at = from;
  while (at < to) {
    const nameEnd = at + 1 + bytes.readUInt8(at);
    const valueStart = nameEnd + 3;
    const valueEnd = valueStart + bytes.readUInt16BE(nameEnd + 1);
    if (bytes.toString('utf8', at + 1, nameEnd) === ':event-type') return bytes.toString('utf8', valueStart, valueEnd);
    at = valueEnd;
  }
  return '';
}
