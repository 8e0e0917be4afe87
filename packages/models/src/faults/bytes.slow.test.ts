// @module-tag slow

import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Turn } from '@treadle/testing';
import { crc32 } from '../framing/crc32.ts';
import { bytesOf, faultBench, isSse, type Outcome } from '../test-support/faults.ts';
import { TEST_WIRES } from '../test-support/wires.ts';

// The same answer in every dress that bytes can wear on their way, and bytes that are no answer at all.

const bench = faultBench();

const TURN: Turn = {
  text: 'Grüße 🧶 aus der Ferne, 日本語 und 👩‍👩‍👧.',
  toolCalls: [{ name: 'act', arguments: { path: 'ü/🧵.txt', n: 12 } }],
  chunkSize: 5,
};

/** What a run said and did, without the ids and times that differ between runs. */
const gistOf = ({ result, executed }: Outcome): unknown => [
  result.status,
  result.text,
  executed,
  result.messages.map((message) =>
    message.role === 'extension'
      ? message.kind
      : message.content.map((block) => (block.type === 'text' ? block.text : block.type)),
  ),
  result.usage,
];

const TEXT_LINE_END = /\r\n|\r|\n/g;

describe.each(TEST_WIRES)('on $name', (wire) => {
  it('P28: a stream that comes byte by byte says the same as one that comes whole', async () => {
    const whole = await bench.play({ wire, turns: [{ ...TURN, faults: { chunking: 'whole' } }, 'Done.'] });
    const single = await bench.play({ wire, turns: [{ ...TURN, faults: { chunking: 1 } }, 'Done.'] });
    expect(whole.executed).toEqual([{ path: 'ü/🧵.txt', n: 12 }]);
    expect(gistOf(single)).toEqual(gistOf(whole));
    expect(single.next?.body).toEqual(whole.next?.body);
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('P23: a stream packed with %s is unpacked', async (encoding, pack) => {
    const body = pack(await bytesOf(wire, TURN));
    const faults = { body, headers: { 'content-encoding': encoding }, chunking: 7 };
    const { result, executed } = await bench.play({ wire, turns: [{ faults }, 'Done.'] });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(executed).toEqual([{ path: 'ü/🧵.txt', n: 12 }]);
  });

  it('P23: a broken gzip stream is an error, never an answer', async () => {
    const body = gzipSync(await bytesOf(wire, TURN));
    body.fill(0xff, body.length >> 1, (body.length >> 1) + 40);
    const broken = { faults: { body, headers: { 'content-encoding': 'gzip' } } };
    const { result, executed } = await bench.play({ wire, turns: [broken, broken, broken, broken] });
    expect(result).toMatchObject({ status: 'model_error', error: { kind: 'network' } });
    expect(executed).toEqual([]);
  });

  it('P29: half a character in what the model wrote does not reach the next request', async () => {
    const text = 'half a \ud83d and';
    const { result, next } = await bench.play({ wire, turns: [{ text, chunkSize: 1000 }] });
    expect(result.status).toBe('completed');
    expect(next?.rawBody).toContain('half a');
    // Written as JSON again, a lone surrogate would show as an escape.
    expect(JSON.stringify(next?.body)).not.toMatch(/\\ud[89a-f]/i);
  });
});

/** The head of a binary message that says it is 50 MB long. */
function longMessage(): Uint8Array {
  const head = Buffer.alloc(12);
  head.writeUInt32BE(50 * 1024 * 1024, 0);
  head.writeUInt32BE(crc32(head.subarray(0, 8)), 8);
  return head;
}

/** How one very long line, or frame, begins where it isn't an event of text. */
const LONG_BEGINNINGS: Readonly<Record<string, Uint8Array>> = {
  ollama: Buffer.from('{"message":"'),
  bedrock: longMessage(),
};

describe.each(TEST_WIRES)('on $name', (wire) => {
  it(
    'P24: one line or frame of 50 MB ends in an error, and is neither kept nor asked for again',
    { timeout: 30_000 },
    async () => {
      const body = Buffer.alloc(50 * 1024 * 1024, 'x');
      body.set(LONG_BEGINNINGS[wire.name] ?? Buffer.from('data: {"'));
      const before = process.memoryUsage().arrayBuffers;
      let most = 0;
      const { result, requests } = await bench.play({
        wire,
        turns: Array.from({ length: 4 }, () => ({ faults: { body, chunking: 1024 * 1024 } })),
        during: async ({ run }) => {
          let over = false;
          void run.result.finally(() => (over = true));
          while (!over) {
            most = Math.max(most, process.memoryUsage().arrayBuffers - before);
            await new Promise((resolve) => setImmediate(resolve));
          }
        },
      });
      expect(result.status).toBe('model_error');
      expect(result.message).toMatch(/longer than \d+ bytes|more than \d+ are not read/);
      // It would be as long the next time.
      expect(requests).toHaveLength(1);
      // The scanner's doubling buffer and its copy, and what is on its way between the two sides.
      expect(most).toBeLessThan(160 * 1024 * 1024);
    },
  );
});

describe.each(TEST_WIRES.filter(({ name }) => name !== 'bedrock'))('on $name', (wire) => {
  it('P29: bytes that are not UTF-8 become U+FFFD, and the next request is valid', { tags: ['share'] }, async () => {
    const body = await bytesOf(wire, { text: 'before #### after', chunkSize: 1000 });
    const at = body.indexOf('####');
    expect(at).toBeGreaterThan(0);
    body.set([0xff, 0xc3, 0x28, 0xf0], at);
    const { result, next } = await bench.play({ wire, turns: [{ faults: { body } }] });
    expect(result.status).toBe('completed');
    expect(result.text).toMatch(/^before \ufffd+\(\ufffd after$/);
    expect(next?.rawBody).toContain('\ufffd');
  });

  it('P26: a byte order mark before everything is passed over', async () => {
    const body = Buffer.concat([Buffer.from('\ufeff'), await bytesOf(wire, TURN)]);
    const { result, executed } = await bench.play({ wire, turns: [{ faults: { body, chunking: 1 } }, 'Done.'] });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(executed).toHaveLength(1);
  });
});

describe.each(TEST_WIRES.filter(isSse))('on $name', (wire) => {
  const textOf = async (turn: Turn = TURN): Promise<string> =>
    (await bytesOf(wire, turn)).toString().replace(TEXT_LINE_END, '\n');

  /** Plays a body and says that it was understood as the turn it was made of. */
  async function understood(body: string): Promise<void> {
    for (const chunking of ['whole', 3] as const) {
      const { result, executed } = await bench.play({ wire, turns: [{ faults: { body, chunking } }, 'Done.'] });
      expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
      expect(result.messages[1]).toMatchObject({ content: [{ text: TURN.text }, { name: 'act' }] });
      expect(executed).toEqual([{ path: 'ü/🧵.txt', n: 12 }]);
    }
  }

  it.each([
    ['CR', ['\r']],
    ['LF', ['\n']],
    ['CRLF', ['\r\n']],
    ['all three, mixed', ['\r\n', '\n', '\r']],
  ])('P27: lines may end in %s', async (_name, ends) => {
    let at = 0;
    const text = (await textOf()).replaceAll('\n', () => ends[at++ % ends.length] ?? '\n');
    await understood(text);
  });

  it('P30: data in several lines, comments, retry: and id: change nothing', async () => {
    const text = (await textOf())
      .replaceAll('data: {', ': a comment\nid: 7\nretry: 10\ndata: {\ndata:')
      .replaceAll('\n\n', '\n:\n\n: keep-alive\n\n');
    await understood(`retry: 3000\n\n${text}`);
  });

  it('P30: the last event needs no blank line after it', { tags: ['share'] }, async () => {
    await understood((await textOf()).trimEnd());
  });

  it('P33: events of unknown types are passed over and counted', async () => {
    const unknown = 'event: brand_new\ndata: {"type":"brand_new","object":"brand_new","news":[1,{"a":null}]}\n\n';
    const ping = ': ping\n\nevent: ping\ndata: {"type":"ping"}\n\n';
    const frames = (await textOf()).trimEnd().split('\n\n');
    const last = frames.pop() ?? '';
    const body = `${frames.map((frame) => `${frame}\n\n${unknown}${ping}`).join('')}${last}\n\n`;
    for (const chunking of ['whole', 3] as const) {
      const { result, executed } = await bench.play({ wire, turns: [{ faults: { body, chunking } }, 'Done.'] });
      expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
      expect(executed).toHaveLength(1);
      const counted = result.messages.flatMap((message) =>
        message.role === 'assistant' ? [message.unknownTypes] : [],
      );
      expect(counted).toEqual([{ brand_new: frames.length }, undefined]);
    }
  });

  it('P25: a hundred thousand tiny events cost in proportion', { timeout: 60_000 }, async () => {
    const cost = async (events: number): Promise<number> => {
      const body = await bytesOf(wire, { text: 'a'.repeat(events), chunkSize: 1 });
      const start = process.cpuUsage();
      const { result } = await bench.play({ wire, turns: [{ faults: { body, chunking: 65_536 } }] });
      expect(result).toMatchObject({ status: 'completed', text: 'a'.repeat(events) });
      const used = process.cpuUsage(start);
      return used.user + used.system;
    };
    await cost(10_000);
    const small = await cost(10_000);
    // Ten times the events; quadratic work would cost a hundred times as much.
    expect(await cost(100_000)).toBeLessThan(Math.max(small, 20_000) * 40);
  });
});

describe('answers that are not streamed', () => {
  it.each([
    [
      'anthropic',
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'model-1',
        content: [{ type: 'text', text: 'Whole.' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 3, output_tokens: 2 },
      },
    ],
    [
      'openai',
      {
        id: 'c1',
        object: 'chat.completion',
        model: 'model-1',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Whole.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      },
    ],
    [
      'google',
      {
        candidates: [{ content: { role: 'model', parts: [{ text: 'Whole.' }] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
      },
    ],
    [
      'ollama',
      {
        model: 'model-1',
        message: { role: 'assistant', content: 'Whole.' },
        done: true,
        done_reason: 'stop',
        prompt_eval_count: 3,
        eval_count: 2,
      },
    ],
    [
      'bedrock',
      {
        output: { message: { role: 'assistant', content: [{ text: 'Whole.' }] } },
        stopReason: 'end_turn',
        usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
      },
    ],
    [
      'openai-responses',
      {
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        model: 'model-1',
        output: [
          {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'Whole.', annotations: [] }],
          },
        ],
        usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      },
    ],
  ])('P22: one JSON object from %s is read as a whole', async (name, body) => {
    const wire = TEST_WIRES.find((known) => known.name === name);
    if (!wire) throw new Error(`There is no wire ${name}.`);
    const { result } = await bench.play({ wire, turns: [{ faults: { body } }] });
    expect(result).toMatchObject({ status: 'completed', text: 'Whole.', usage: { input: 3, output: 2 } });
  });
});

it('I7: enough of these runs came through', () => {
  expect(bench.completed).toBeGreaterThanOrEqual(TEST_WIRES.length * 5 + 4 * 17);
});
