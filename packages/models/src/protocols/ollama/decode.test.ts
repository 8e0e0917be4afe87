import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answering, contractProblems, cut, joined, readJson, readModel, utf8 } from '../../test-support/streams.ts';
import type { Reading } from '../../test-support/streams.ts';
import { ollamaChat } from './protocol.ts';

const protocol = ollamaChat();

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
const said = (message: object): string =>
  line({
    model: 'qwen3',
    created_at: '2025-01-01T00:00:00Z',
    message: { role: 'assistant', content: '', ...message },
    done: false,
  });
const done = (fields: object = { done_reason: 'stop' }): string =>
  line({ model: 'qwen3', message: { role: 'assistant', content: '' }, done: true, ...fields });
const call = (name: string, args: unknown, fields: object = {}): object => ({
  ...fields,
  function: { name, arguments: args },
});

const read = (body: string, sizes: readonly number[] = [1e9], type = 'application/x-ndjson'): Promise<Reading> =>
  readModel({ protocol, http: answering(cut(utf8(body), sizes), { 'content-type': type }) });

const STREAM = [
  said({ thinking: 'Let me ' }),
  said({ thinking: 'see.' }),
  said({ content: 'Grüße ' }),
  said({ content: '🦊' }),
  said({ tool_calls: [call('search', { q: '🦊', n: [1] }), call('search', { q: 'b' })] }),
  done({ done_reason: 'stop', total_duration: 9, prompt_eval_count: 7, eval_count: 5 }),
].join('');

const BLOCKS = [
  { type: 'thinking', text: 'Let me see.' },
  { type: 'text', text: 'Grüße 🦊' },
  { type: 'tool_call', providerCallId: '', name: 'search', argumentsText: '{"q":"🦊","n":[1]}' },
  { type: 'tool_call', providerCallId: '', name: 'search', argumentsText: '{"q":"b"}' },
];

describe('a stream', () => {
  it('is read into blocks, a finish and usage', async () => {
    const reading = await read(STREAM);
    expect(reading.blocks).toEqual(BLOCKS);
    expect(reading.events[0]).toEqual({ type: 'start', model: 'qwen3' });
    expect(reading.finish).toEqual({
      type: 'finish',
      stopReason: 'tool_use',
      rawStopReason: 'stop',
      usage: { input: 7, output: 5, cacheRead: null, cacheWrite: null, reasoning: null },
      rawUsage: { total_duration: 9, prompt_eval_count: 7, eval_count: 5 },
    });
    expect(contractProblems(reading.events)).toEqual([]);
  });

  it('keeps every piece of lines that differ in their piece and their time only', async () => {
    const timed = (message: object, at: number): string =>
      said(message).replace('00:00:00Z', `00:00:${String(at).padStart(2, '0')}.${at}Z`);
    const pieces = Array.from({ length: 40 }, (_, at) => `piece ${at} "ü"`);
    const thoughts = pieces.map((thinking, at) => timed({ thinking }, at)).join('');
    const texts = pieces.map((content, at) => timed({ content }, at)).join('');
    const reading = await read(thoughts + texts + thoughts + done());
    expect(reading.blocks).toEqual([
      { type: 'thinking', text: pieces.join('') },
      { type: 'text', text: pieces.join('') },
      { type: 'thinking', text: pieces.join('') },
    ]);
  });

  it('is the same at every cut into two, and byte by byte', async () => {
    const whole = joined((await read(STREAM)).events);
    const length = utf8(STREAM).length;
    for (let at = 1; at < length; at++) expect(joined((await read(STREAM, [at, length])).events)).toEqual(whole);
    expect(joined((await read(STREAM, [1])).events)).toEqual(whole);
  });

  it.each([
    ['application/json; charset=utf-8', [1e9]],
    ['application/json', [1]],
    ['text/plain', [5]],
  ])('is recognised as %s in pieces of %j', async (type, sizes) => {
    expect((await read(STREAM, sizes, type)).blocks).toEqual(BLOCKS);
  });

  it('that was not streamed is the same', async () => {
    const body = {
      model: 'qwen3',
      message: {
        role: 'assistant',
        content: 'Grüße 🦊',
        thinking: 'Let me see.',
        tool_calls: [call('search', { q: '🦊', n: [1] }), call('search', { q: 'b' })],
      },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 7,
      eval_count: 5,
    };
    expect((await readJson(protocol, body)).blocks).toEqual(BLOCKS);
    const pretty = await read(JSON.stringify(body, null, 2), [1e9], 'application/json');
    expect(pretty).toMatchObject({ blocks: BLOCKS, finish: { usage: { input: 7 } } });
  });

  it('may end without a line end', async () => {
    expect((await read(STREAM.trimEnd())).finish).toBeDefined();
  });
});

describe('calls', () => {
  it('have the ids they come with, and may have the same index', async () => {
    const calls = [call('a', {}, { id: 'call_1' }), call('b', {}, { id: 'call_2' })];
    const indexed = calls.map((made) => ({
      ...made,
      function: { ...(made as { function: object }).function, index: 0 },
    }));
    const { blocks } = await read(said({ tool_calls: indexed }) + done());
    expect(blocks).toMatchObject([
      { providerCallId: 'call_1', name: 'a' },
      { providerCallId: 'call_2', name: 'b' },
    ]);
  });

  it('may come one by one, with text between, and with arguments as text or none', async () => {
    const body = [
      said({ tool_calls: [call('a', '{"x":1}')] }),
      said({ content: 'and' }),
      said({ tool_calls: [{ function: { name: 'b' } }] }),
      done(),
    ];
    expect((await read(body.join(''))).blocks).toMatchObject([
      { name: 'a', argumentsText: '{"x":1}' },
      { type: 'text', text: 'and' },
      { name: 'b', argumentsText: '{}' },
    ]);
  });
});

describe('the end', () => {
  it.each([
    [{ done_reason: 'stop' }, 'stop'],
    [{ done_reason: 'length' }, 'length'],
    [{ done_reason: 'load' }, 'other'],
    [{ done_reason: 'new' }, 'other'],
    [{}, 'stop'],
  ])('%j is %s', async (fields, stopReason) => {
    expect((await read(said({ content: 'Hi' }) + done(fields))).finish?.stopReason).toBe(stopReason);
  });

  it('by its limit is one although tools were called', async () => {
    const body = said({ tool_calls: [call('a', {})] }) + done({ done_reason: 'length' });
    expect((await read(body)).finish?.stopReason).toBe('length');
  });

  it('without usage is unknown usage', async () => {
    const { finish } = await read(said({ content: 'Hi' }) + done());
    expect(finish?.usage).toMatchObject({ input: null, output: null });
    expect(finish).not.toHaveProperty('rawUsage');
  });
});

describe('a broken stream', () => {
  it('is an error wherever it ends before it is done', async () => {
    const bytes = utf8(STREAM);
    // The last line is complete without its line end.
    for (let length = 1; length < bytes.length - 1; length++) {
      const http = answering([bytes.subarray(0, length)], { 'content-type': 'application/x-ndjson' });
      const reading = await readModel({ protocol, http });
      expect(reading.finish).toBeUndefined();
      expect(reading.error).toMatchObject({ kind: 'network', retryable: true });
      expect(contractProblems(reading.events)).toEqual([]);
    }
  });

  it.each([
    [{ error: 'model runner has unexpectedly stopped' }, { kind: 'api', retryable: true }],
    [{ error: { message: 'busy', code: 503 } }, { kind: 'api', status: 503, message: 'busy' }],
    [
      { StatusCode: 429, Status: 'x', error: 'slow down' },
      { kind: 'rate_limited', message: 'slow down' },
    ],
  ])('by %j in the middle keeps what came before', async (error, expected) => {
    const reading = await read(said({ content: 'Hi' }) + line(error) + done());
    expect(reading.text).toBe('Hi');
    expect(reading.error).toMatchObject(expected);
    expect(reading.finish).toBeUndefined();
  });

  it('that is not JSON is an error', async () => {
    expect((await read(`${said({ content: 'Hi' })}<html>\n`)).error).toMatchObject({ kind: 'network' });
  });

  it('that is an error from the start has its words', async () => {
    const http = answering([utf8('{"error":"model \'x\' not found"}')], { 'content-type': 'application/json' }, 404);
    expect((await readModel({ protocol, http })).error).toMatchObject({
      kind: 'api',
      status: 404,
      message: "model 'x' not found",
      retryable: false,
    });
  });

  it('of any lines in any order keeps the contract', async () => {
    const part = fc.constantFrom(...STREAM.split(/(?<=\n)/), line({ error: 'x' }), line([1]), '{"cut', '\n');
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), fc.integer({ min: 1, max: 40 }), async (parts, size) => {
        expect(contractProblems((await read(parts.join(''), [size])).events)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
