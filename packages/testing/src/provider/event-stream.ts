import { crc32 } from 'node:zlib';

function header(name: string, value: string): Buffer {
  const nameBytes = Buffer.from(name);
  const valueBytes = Buffer.from(value);
  const lengths = Buffer.alloc(2);
  lengths.writeUInt16BE(valueBytes.length);
  // 7 is the type of text.
  return Buffer.concat([Buffer.from([nameBytes.length]), nameBytes, Buffer.from([7]), lengths, valueBytes]);
}

/**
 * One message of AWS's binary event stream (`application/vnd.amazon.eventstream`): text headers, a payload, and both
 * checksums. For building bodies that a real service would send, whole or damaged.
 *
 * @example
 * ```ts
 * import { eventStreamMessage } from '@treadle/testing';
 *
 * const headers = { ':message-type': 'event', ':event-type': 'messageStop' };
 * console.log(eventStreamMessage(headers, '{"stopReason":"end_turn"}').length); // 89
 * ```
 */
export function eventStreamMessage(
  headers: Readonly<Record<string, string>>,
  payload: string | Uint8Array,
): Uint8Array {
  const headerBytes = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const payloadBytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const message = Buffer.alloc(16 + headerBytes.length + payloadBytes.length);
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(headerBytes.length, 4);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  message.set(headerBytes, 12);
  message.set(payloadBytes, 12 + headerBytes.length);
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4);
  return message;
}
