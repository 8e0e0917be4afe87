import { crc32 } from 'node:zlib';
import { padding } from './noise.ts';
import type { Reply } from './reply.ts';

/** A reply as the messages of a ConverseStream body, in AWS's event stream, with both checksums. */
export function bedrockMessages(reply: Reply): Buffer[] {
  const messages: Buffer[] = [];
  const send = (type: string, data: object): void => {
    messages.push(message(type, JSON.stringify({ ...data, p: padding(messages.length) })));
  };
  send('messageStart', { role: 'assistant' });
  if (reply.type === 'text') {
    for (const text of reply.pieces) send('contentBlockDelta', { contentBlockIndex: 0, delta: { text } });
    send('contentBlockStop', { contentBlockIndex: 0 });
  } else {
    for (const [contentBlockIndex, { id, name, pieces }] of reply.calls.entries()) {
      send('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } });
      for (const input of pieces) send('contentBlockDelta', { contentBlockIndex, delta: { toolUse: { input } } });
      send('contentBlockStop', { contentBlockIndex });
    }
  }
  send('messageStop', { stopReason: reply.type === 'text' ? 'end_turn' : 'tool_use' });
  const usage = { inputTokens: 128, outputTokens: 48, totalTokens: 688, cacheReadInputTokens: 512 };
  send('metadata', { usage, metrics: { latencyMs: 873 } });
  return messages;
}

/** A header whose value is text (type 7). */
function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value));
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)]);
}

function message(type: string, payload: string): Buffer {
  const head = Buffer.concat([
    header(':event-type', type),
    header(':content-type', 'application/json'),
    header(':message-type', 'event'),
  ]);
  const bytes = Buffer.alloc(16 + head.length + Buffer.byteLength(payload));
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(head.length, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  head.copy(bytes, 12);
  bytes.write(payload, 12 + head.length);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
  return bytes;
}
