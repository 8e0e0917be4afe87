import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEvents, type ReadOptions, type ServerSentEvent } from './sse.ts';

/** A body that comes in these pieces. */
const bodyOf = (...pieces: readonly (Uint8Array | string)[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces)
        controller.enqueue(typeof piece === 'string' ? new TextEncoder().encode(piece) : piece);
      controller.close();
    },
  });

async function readWith(options: ReadOptions, ...pieces: readonly (Uint8Array | string)[]): Promise<ServerSentEvent[]> {
  const events: ServerSentEvent[] = [];
  for await (const event of readEvents(bodyOf(...pieces), options)) events.push(event);
  return events;
}

const read = (...pieces: readonly (Uint8Array | string)[]): Promise<ServerSentEvent[]> => readWith({}, ...pieces);

const STREAM = [
  ': a comment',
  'id: 1',
  'data: {"text":"größer 🧵"}',
  '',
  'data:no blank',
  'data:  one blank is taken away',
  'data',
  'data: last line',
  '',
  'event: ignored by us',
  'id: 2~msg_1~1~0~t0.5',
  'data: x',
  'unknown: field',
  '',
  // A CR at the end of a piece is known to be a whole end of a line once the next line is there.
  ': beat',
  '',
];
const EVENTS: readonly ServerSentEvent[] = [
  { id: '1', data: '{"text":"größer 🧵"}' },
  { id: '1', data: 'no blank\n one blank is taken away\n\nlast line' },
  { id: '2~msg_1~1~0~t0.5', data: 'x' },
];

describe('server-sent events', () => {
  it.each([
    ['LF', '\n'],
    ['CR', '\r'],
    ['CRLF', '\r\n'],
  ])('with lines that end in %s, and a byte order mark, are the same wherever the bytes are cut', async (_, end) => {
    for (const mark of ['', '\uFEFF']) {
      const bytes = new TextEncoder().encode(mark + STREAM.join(end));
      expect(await read(bytes)).toEqual(EVENTS);
      for (let at = 1; at < bytes.length; at += 1)
        expect(await read(bytes.subarray(0, at), bytes.subarray(at))).toEqual(EVENTS);
      expect(await read(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(EVENTS);
    }
  });

  it('may have lines that end in any way, in any pieces', async () => {
    // A CR before a line that is empty and ends with LF would be one end of a line: that LF is written as CRLF.
    const ends = fc.array(fc.constantFrom('\n', '\r', '\r\n'), { minLength: STREAM.length, maxLength: STREAM.length });
    const textOf = (chosen: readonly string[]): string => {
      let text = '';
      for (const [at, line] of STREAM.slice(0, -1).entries()) {
        const end = chosen[at] ?? '\n';
        text += line + (line === '' && end === '\n' && text.endsWith('\r') ? '\r\n' : end);
      }
      return text;
    };
    await fc.assert(
      fc.asyncProperty(ends, fc.array(fc.nat(200), { maxLength: 12 }), async (chosen, cuts) => {
        const bytes = new TextEncoder().encode(textOf(chosen));
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        expect(await read(...places.slice(1).map((to, at) => bytes.subarray(places[at], to)))).toEqual(EVENTS);
      }),
      { numRuns: 200 },
    );
  });

  it('keep the last id, an empty one too, and not one with a NUL', async () => {
    const ids = await read('data: a\n\nid: 1\ndata: b\n\nid: 2\0\ndata: c\n\ndata: d\n\nid\ndata: e\n\n');
    expect(ids.map(({ id }) => id)).toEqual([null, '1', '1', '1', '']);
  });

  it('are none without data, and none without an empty line behind them', async () => {
    expect(await read('id: 1\n\n: beat\n\nevent: x\n\n')).toEqual([]);
    expect(await read('data: cut off\n')).toEqual([]);
    expect(await read('data\n\n')).toEqual([{ id: null, data: '' }]);
  });

  it('say how long to wait before the next connection, in digits only', async () => {
    const waits: number[] = [];
    await readWith({ onRetry: (ms) => waits.push(ms) }, 'retry: soon\nretry: 1.5\nretry:-1\n', 'retry: 2500\n');
    expect(waits).toEqual([2500]);
  });

  it('are refused when one of them has no end, in one line or in many', async () => {
    const whole = `data: ${'x'.repeat(900)}\n\n`;
    expect(await readWith({ maxLength: 1000 }, whole, whole)).toHaveLength(2);
    const tooLarge = expect.objectContaining({ code: 'too_large' }) as unknown;
    await expect(readWith({ maxLength: 1000 }, whole, 'x'.repeat(1001))).rejects.toEqual(tooLarge);
    const many = `data: ${'x'.repeat(50)}\n`.repeat(20);
    await expect(readWith({ maxLength: 1000 }, many)).rejects.toEqual(tooLarge);
  });

  it('let go of the connection when nobody reads on', async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('data: x\n\n')),
      cancel() {
        cancelled = true;
      },
    });
    for await (const _ of readEvents(body)) break;
    expect(cancelled).toBe(true);
  });
});
