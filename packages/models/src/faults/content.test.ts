import { describe, expect, it } from 'vitest';
import { defineAgent, openSession, type StopReason } from '@treadle/core';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import { eventStreamMessage, fakeProvider, type Turn } from '@treadle/testing';
import { bytesOf, faultBench, ofType } from '../test-support/faults.ts';
import { sse } from '../test-support/streams.ts';
import { TEST_WIRES, type TestWire } from '../test-support/wires.ts';

// Answers that are odd but whole: what they lack must not be made up, and what they say must not be lost.

const bench = faultBench();

const wireOf = (name: string): TestWire => {
  const wire = TEST_WIRES.find((known) => known.name === name);
  if (!wire) throw new Error(`There is no wire ${name}.`);
  return wire;
};

describe.each(TEST_WIRES)('on $name', (wire) => {
  it('P34: usage that is missing is unknown, not zero, and so is the cost', async () => {
    const { result } = await bench.play({ wire, turns: [{ text: 'Hello.', usage: null }] });
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.', cost: null });
    expect(result.usage).toEqual(UNKNOWN_USAGE);
    expect(result.usage.input).toBeNull();
  });
});

/** A signature of all the characters that base64 and JSON have an opinion on. */
const SIGNATURE = 'Eq+/0aZ==.-_"\\ü🧶';
const BASE64 = Buffer.from(SIGNATURE).toString('base64');

describe('P36: the signature of reasoning comes back byte for byte', () => {
  const thinking = (signature: string) => ({ type: 'thinking', text: 'Hm.', signature }) as const;
  const call = { type: 'tool_call', name: 'act', arguments: { n: 1 } } as const;

  it.each<[string, string, Turn]>([
    ['anthropic', SIGNATURE, { content: [thinking(SIGNATURE), call] }],
    ['bedrock', SIGNATURE, { content: [thinking(SIGNATURE), call] }],
    ['openai-responses', SIGNATURE, { content: [thinking(SIGNATURE), call] }],
    ['google', BASE64, { content: [{ ...call, opaque: { thoughtSignature: BASE64 } }] }],
    ['anthropic', BASE64, { content: [{ type: 'redacted_thinking', data: BASE64 }, call] }],
  ])('on %s: %j, in the next turn, the next run, and after the session was opened again', async (name, sent, turn) => {
    const wire = wireOf(name);
    const { result, requests, next, journal, executed } = await bench.play({ wire, turns: [turn, 'Done.'] });
    expect(result.status).toBe('completed');
    expect(executed).toEqual([{ n: 1 }]);
    const written = JSON.stringify(sent);
    expect(requests[1]?.rawBody).toContain(written);
    expect(next?.rawBody).toContain(written);
    await using provider = await fakeProvider(['Opened.']);
    const session = await openSession(defineAgent({ model: wire.model(provider) }), 's1', { journal });
    expect((await session.prompt('Still there?').result).text).toBe('Opened.');
    expect(provider.requests[0]?.rawBody).toContain(written);
  });
});

describe('P40: an answer that is no success does not end as one', () => {
  const cases: readonly (readonly [string, StopReason])[] = [
    ['anthropic', 'refusal'],
    ['openai', 'refusal'],
    ['openai', 'content_filter'],
    ['openai-responses', 'refusal'],
    ['openai-responses', 'content_filter'],
    ['google', 'refusal'],
    ['google', 'content_filter'],
    ['bedrock', 'refusal'],
    ['bedrock', 'content_filter'],
  ];

  it.each(cases)('on %s: %s', async (name, stopReason) => {
    const text = 'I would rather not.';
    const turn = { text, stopReason: stopReason as Exclude<StopReason, 'error' | 'aborted'> };
    const { result } = await bench.play({ wire: wireOf(name), turns: [turn] });
    expect(result.status).toBe('refused');
    expect(['refusal', 'content_filter']).toContain(result.stopReason);
    expect(result.message).toContain('refused');
  });

  it.each(TEST_WIRES)('on $name: cut off by the output limit', async (wire) => {
    const turns = ['And so on', ' and so on', ' and so', ' on and'].map((text) => ({
      text,
      stopReason: 'length' as const,
    }));
    const { result, requests } = await bench.play({ wire, turns });
    // It is asked to go on three times, and what it said is one answer.
    expect(requests).toHaveLength(4);
    expect(result).toMatchObject({
      status: 'length',
      stopReason: 'length',
      text: 'And so on and so on and so on and',
    });
  });

  it('on anthropic: a pause goes on where it was', async () => {
    const turns = [{ text: 'Searching.', stopReason: 'pause' as const }, 'Found.'];
    const { result, requests } = await bench.play({ wire: wireOf('anthropic'), turns });
    expect(result).toMatchObject({ status: 'completed', text: 'Searching.Found.', turns: 2 });
    expect(requests[1]?.rawBody).toContain('Searching.');
  });
});

describe('Chat Completions, as servers write it', () => {
  const wire = wireOf('openai');
  const chunk = (delta: object, finish: string | null = null, more: object = {}): object => ({
    id: 'c1',
    model: 'model-1',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  });
  const usage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };

  it.each([
    [
      'P31: a last chunk with empty choices brings the usage',
      sse(chunk({ content: 'Hi.' }), chunk({}, 'stop'), { id: 'c1', choices: [], usage }, '[DONE]'),
    ],
    [
      'P31: a first chunk with empty choices is no answer yet',
      sse(
        { id: '', choices: [], prompt_filter_results: [] },
        chunk({ content: 'Hi.' }),
        chunk({}, 'stop', { usage }),
        '[DONE]',
      ),
    ],
    [
      'P32: chunks without choices are passed over',
      sse({ id: 'c1' }, chunk({ content: 'Hi.' }), { usage }, chunk({}, 'stop'), { id: 'c1', choices: null }, '[DONE]'),
    ],
    [
      'P33: unknown fields, parts and choices are passed over',
      sse(
        chunk({ role: 'assistant', mood: 'fine', content: 'Hi.' }, null, { brand_new: { a: [1] } }),
        { object: 'chat.brand_new', choices: 'none' },
        chunk({ content: [{ type: 'hologram', data: 'x' }] }),
        chunk({}, 'stop', { usage }),
        '[DONE]',
      ),
    ],
  ])('%s', async (_name, body) => {
    const { result } = await bench.play({ wire, turns: [{ faults: { body } }] });
    expect(result).toMatchObject({ status: 'completed', text: 'Hi.', usage: { input: 11, output: 4 } });
  });

  it('P33: events and parts of unknown types are counted, and new fields are not', async () => {
    const body = sse(
      chunk({ role: 'assistant', mood: 'fine', content: 'Hi.' }, null, { brand_new: { a: [1] } }),
      { object: 'chat.brand_new', choices: 'none' },
      { id: 'c1' },
      chunk({ content: [{ type: 'hologram', data: 'x' }] }),
      chunk({ content: [{ type: 'hologram', data: 'y' }] }),
      chunk({}, 'stop', { usage }),
      '[DONE]',
    );
    const { result } = await bench.play({ wire, turns: [{ faults: { body } }] });
    expect(result.finalMessage?.unknownTypes).toEqual({ 'chat.brand_new': 1, hologram: 2 });
  });
});

describe('P33: what is newer than this code', () => {
  it('on anthropic: an unknown block and an unknown delta do not disturb the others, and the block goes back', async () => {
    const [start = '', ...rest] = (await bytesOf(wireOf('anthropic'), 'Hi.')).toString().split('\n\n');
    const odd = sse(
      { type: 'content_block_start', index: 9, content_block: { type: 'hologram', data: 'x' } },
      { type: 'content_block_delta', index: 9, delta: { type: 'hologram_delta', data: 'y' } },
      { type: 'content_block_delta', index: 77, delta: { type: 'text_delta', text: 'nowhere' } },
      { type: 'content_block_stop', index: 9 },
    );
    const body = `${start}\n\n${odd}${rest.join('\n\n')}`;
    const { result, next } = await bench.play({
      wire: wireOf('anthropic'),
      turns: [{ faults: { body } }],
      newer: true,
    });
    expect(result).toMatchObject({ status: 'completed', text: 'Hi.' });
    expect(result.finalMessage?.unknownTypes).toEqual({ hologram: 1 });
    expect(next?.rawBody).toContain('hologram');
  });

  it('on bedrock: an unknown event and an unknown delta are passed over and counted', async () => {
    const event = (type: string, data: object): Buffer =>
      Buffer.from(
        eventStreamMessage(
          { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
          JSON.stringify(data),
        ),
      );
    const odd = [
      event('brandNew', { a: 1 }),
      event('contentBlockDelta', { contentBlockIndex: 9, delta: { hologram: { x: 1 } } }),
    ];
    const body = Buffer.concat([...odd, await bytesOf(wireOf('bedrock'), 'Hi.')]);
    const { result } = await bench.play({ wire: wireOf('bedrock'), turns: [{ faults: { body } }] });
    expect(result).toMatchObject({ status: 'completed', text: 'Hi.' });
    expect(result.finalMessage?.unknownTypes).toEqual({ brandNew: 1, hologram: 1 });
  });

  it('on openai-responses: an unknown item is counted', async () => {
    const item = { id: 'h1', type: 'hologram', data: 'x' };
    const odd = sse(
      { type: 'response.output_item.added', output_index: 7, item },
      { type: 'response.hologram.projecting', output_index: 7 },
      { type: 'response.output_item.done', output_index: 7, item },
    );
    const [start = '', ...rest] = (await bytesOf(wireOf('openai-responses'), 'Hi.')).toString().split('\n\n');
    const body = `${start}\n\n${odd}${rest.join('\n\n')}`;
    const { result } = await bench.play({
      wire: wireOf('openai-responses'),
      turns: [{ faults: { body } }],
      newer: true,
    });
    expect(result).toMatchObject({ status: 'completed', text: 'Hi.' });
    expect(result.finalMessage?.unknownTypes).toEqual({ 'response.hologram.projecting': 1, hologram: 1 });
  });

  it('on google: an unknown part does not disturb the others, and goes back', async () => {
    const odd = sse(
      { candidates: [{ content: { role: 'model', parts: [{ hologram: { x: 1 } }] } }], news: true },
      { brandNew: true },
    );
    const body = odd + (await bytesOf(wireOf('google'), 'Hi.')).toString();
    const { result, next } = await bench.play({ wire: wireOf('google'), turns: [{ faults: { body } }], newer: true });
    expect(result).toMatchObject({ status: 'completed', text: 'Hi.' });
    expect(result.finalMessage?.unknownTypes).toEqual({ hologram: 1, brandNew: 1 });
    expect(next?.rawBody).toContain('hologram');
  });

  it('on ollama: an unknown line is passed over and counted', async () => {
    const body = `{"model":"model-1","brand_new":[1]}\n${(await bytesOf(wireOf('ollama'), 'Hi.')).toString()}`;
    const { result } = await bench.play({ wire: wireOf('ollama'), turns: [{ faults: { body } }] });
    expect(result).toMatchObject({ status: 'completed', text: 'Hi.' });
    expect(result.finalMessage?.unknownTypes).toEqual({ brand_new: 1 });
  });

  it('a stop reason nobody knows is kept as the provider’s word', async () => {
    const turn = { text: 'Hi.', rawStopReason: 'brand_new' };
    const { result, events } = await bench.play({ wire: wireOf('anthropic'), turns: [turn] });
    expect(result.finalMessage).toMatchObject({ stopReason: 'other', rawStopReason: 'brand_new' });
    expect(ofType(events, 'attempt_failed')).toEqual([]);
  });
});

it('I7: enough of these runs came through', () => {
  expect(bench.completed).toBeGreaterThanOrEqual(TEST_WIRES.length + 5 + 1 + 5 + 5);
});
