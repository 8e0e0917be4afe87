import { crc32 as zlibCrc32 } from 'node:zlib';
import { eventStreamMessage } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { cut } from '../test-support/streams.ts';
import { createEventStreamScanner } from './event-stream.ts';

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string;
}

interface Seen {
  readonly messages: readonly Message[];
  readonly corrupt: readonly string[];
  readonly tooLong: readonly string[];
  readonly cuts: number;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function scan(chunks: Iterable<Uint8Array>, limit?: number): Seen {
  const messages: Message[] = [];
  const corrupt: string[] = [];
  const tooLong: string[] = [];
  let cuts = 0;
  const scanner = createEventStreamScanner(
    {
      message: (headers, payload) => messages.push({ headers: Object.fromEntries(headers), payload: hex(payload) }),
      corrupt: (problem) => corrupt.push(problem),
      tooLong: (problem) => tooLong.push(problem),
      cut: () => cuts++,
    },
    limit,
  );
  for (const chunk of chunks) scanner.push(chunk);
  scanner.end();
  return { messages, corrupt, tooLong, cuts };
}

/** A message whose headers are these bytes, and whose lengths and checksums are right unless told otherwise. */
function framed(headers: readonly number[], payload = 'x', lengths: { total?: number; headers?: number } = {}): Buffer {
  const total = 16 + headers.length + payload.length;
  const message = Buffer.alloc(total);
  message.writeUInt32BE(lengths.total ?? total, 0);
  message.writeUInt32BE(lengths.headers ?? headers.length, 4);
  message.writeUInt32BE(zlibCrc32(message.subarray(0, 8)), 8);
  message.set([...headers, ...Buffer.from(payload)], 12);
  message.writeUInt32BE(zlibCrc32(message.subarray(0, -4)), total - 4);
  return message;
}

const text = (value: string): number[] => [value.length, ...Buffer.from(value)];

const EVENT = { ':message-type': 'event', ':event-type': 'contentBlockDelta' };

describe('a message', () => {
  it('has its headers that are text, among headers of every type', () => {
    const headers = [
      ...[...text('yes'), 0],
      ...[...text('no'), 1],
      ...[...text('byte'), 2, 0xff],
      ...[...text('short'), 3, 0xff, 0xfe],
      ...[...text('int'), 4, 0x80, 0, 0, 0],
      ...[...text('long'), 5, 0, 0, 0, 1, 0, 0, 0, 0],
      ...[...text('bytes'), 6, 0, 2, 1, 2],
      ...[...text('text'), 7, 0, 2, 0xc3, 0xbc],
      ...[...text('time'), 8, 0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0],
      ...[...text('id'), 9, ...Array.from({ length: 16 }, (_unused, at) => at)],
    ];
    expect(scan([framed(headers, 'hi')]).messages).toEqual([
      { headers: { text: 'ü' }, payload: hex(Buffer.from('hi')) },
    ]);
  });

  it('may have no headers and no payload', () => {
    expect(scan([framed([], '')]).messages).toEqual([{ headers: {}, payload: '' }]);
  });

  it('is read alone, whatever headers came before it', () => {
    const bodies = ['a', 'b', 'a'].map((name) => eventStreamMessage({ ':event-type': name }, name));
    expect(scan(bodies).messages.map(({ headers }) => headers[':event-type'])).toEqual(['a', 'b', 'a']);
  });

  it('has its own headers, whatever streams of however many kinds of messages came before', () => {
    const names = Array.from({ length: 60 }, (_, index) => `kind${index % 40}`);
    const bodies = names.map((name) => eventStreamMessage({ ':message-type': 'event', ':event-type': name }, name));
    const long = eventStreamMessage({ ':message-type': 'event', ':note': 'x'.repeat(1000) }, '');
    for (const stream of [bodies, [long, ...bodies], bodies.toReversed()]) {
      const seen = stream.flatMap((body) => scan([body]).messages);
      expect(seen).toEqual(scan(stream).messages);
      expect(seen.map(({ headers, payload }) => headers[':event-type'] ?? payload)).toEqual(
        stream.map((body) => (body === long ? '' : names[bodies.indexOf(body)])),
      );
    }
  });
});

describe('any messages, cut anywhere', () => {
  const message = fc.record({
    headers: fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), fc.string({ maxLength: 40 }), { maxKeys: 4 }),
    payload: fc.uint8Array({ maxLength: 300 }),
  });

  it('are what was written', () => {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 5 }),
        (messages, sizes) => {
          const body = Buffer.concat(messages.map(({ headers, payload }) => eventStreamMessage(headers, payload)));
          const expected = messages.map(({ headers, payload }) => ({ headers, payload: hex(payload) }));
          expect(scan(cut(body, sizes))).toEqual({ messages: expected, corrupt: [], tooLong: [], cuts: 0 });
        },
      ),
    );
  });

  it('are the same at every cut into two', () => {
    const body = Buffer.concat(['Hello', ' ', 'world 🦊'].map((word) => eventStreamMessage(EVENT, word)));
    const whole = scan([body]);
    expect(whole.messages).toHaveLength(3);
    for (let at = 1; at < body.length; at++) expect(scan([body.subarray(0, at), body.subarray(at)])).toEqual(whole);
  });

  it('are delivered as soon as they are whole', () => {
    const body = Buffer.concat([eventStreamMessage(EVENT, 'one'), eventStreamMessage(EVENT, 'two')]);
    let count = 0;
    const ignore = (): void => undefined;
    const scanner = createEventStreamScanner({ message: () => count++, corrupt: ignore, tooLong: ignore, cut: ignore });
    scanner.push(body.subarray(0, body.length - 1));
    expect(count).toBe(1);
    scanner.push(body.subarray(body.length - 1));
    expect(count).toBe(2);
  });
});

describe('damage', () => {
  const first = eventStreamMessage(EVENT, 'first');
  const second = eventStreamMessage(EVENT, '{"contentBlockIndex":0,"delta":{"text":"Hi"}}');

  it('of any bit of a message is noticed, in one piece and byte by byte', () => {
    for (let bit = 0; bit < second.length * 8; bit++) {
      const damaged = Uint8Array.from(second);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const body = Buffer.concat([first, damaged, first]);
      for (const sizes of [[body.length], [1]]) {
        const seen = scan(cut(body, sizes));
        expect(seen.messages).toHaveLength(1);
        expect(seen.corrupt).toHaveLength(1);
      }
    }
  });

  it.each([
    ['a total shorter than any message', { total: 15, headers: 0 }],
    ['headers longer than the message', { headers: 1000 }],
    ['headers that leave no room for the checksum', { headers: 4 }],
  ])('such as %s is refused although its checksum is right', (_name, lengths) => {
    const seen = scan([framed([], 'abc', lengths)]);
    expect(seen).toMatchObject({ messages: [], corrupt: [expect.stringContaining('impossible lengths')] });
  });

  it.each([
    ['a name longer than the headers', [20, 97]],
    ['a type that does not exist', [1, 97, 10]],
    ['no type', [1, 97]],
    ['no name', [0, 0]],
    ['a value longer than the headers', [1, 97, 7, 0, 9, 97]],
    ['half a number', [1, 97, 4, 0, 0]],
  ])('such as headers with %s is refused although the checksums are right', (_name, headers) => {
    expect(scan([framed(headers)])).toMatchObject({ messages: [], corrupt: [expect.stringContaining('headers')] });
  });

  it('ends the reading', () => {
    const damaged = Uint8Array.from(first);
    damaged[20] = (damaged[20] ?? 0) ^ 1;
    expect(scan([damaged, first, first])).toMatchObject({ messages: [], corrupt: [expect.any(String)], cuts: 0 });
  });
});

describe('limits', () => {
  it('refuse a message that is too long by its first twelve bytes', () => {
    const long = eventStreamMessage(EVENT, 'x'.repeat(2000));
    expect(scan([long.subarray(0, 12)], 1000)).toMatchObject({
      corrupt: [],
      tooLong: [expect.stringContaining('more than 1000')],
    });
    expect(scan([long], 3000).messages).toHaveLength(1);
  });

  it('take a message of exactly the limit', () => {
    const message = eventStreamMessage(EVENT, 'x');
    expect(scan([message], message.length).messages).toHaveLength(1);
    expect(scan([message], message.length - 1).messages).toHaveLength(0);
  });
});

describe('a body that breaks off', () => {
  it('in the middle of a message is told apart from one that ends, at every byte', () => {
    const body = Buffer.concat([eventStreamMessage(EVENT, 'one'), eventStreamMessage(EVENT, 'two')]);
    const border = body.length / 2;
    for (let length = 0; length <= body.length; length++) {
      const seen = scan([body.subarray(0, length)]);
      expect(seen.cuts).toBe(length % border === 0 ? 0 : 1);
      expect(seen.messages).toHaveLength(Math.floor(length / border));
      expect(seen.corrupt).toEqual([]);
    }
  });
});

it('copies each byte of a long message a bounded number of times', () => {
  const set = vi.spyOn(Uint8Array.prototype, 'set');
  const body = eventStreamMessage({}, new Uint8Array(400_000));
  set.mockClear();
  expect(scan(cut(body, [100])).messages).toHaveLength(1);
  const copied = set.mock.calls.reduce((sum, [source]) => sum + source.length, 0);
  expect(copied).toBeGreaterThan(body.length);
  expect(copied).toBeLessThan(body.length * 4);
});
