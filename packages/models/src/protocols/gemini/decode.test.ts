import type { ModelBlock } from '@treadle/core/model';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  answering,
  contractProblems,
  joined,
  readBody,
  readJson,
  readModel,
  utf8,
} from '../../test-support/streams.ts';
import type { Reading } from '../../test-support/streams.ts';
import { gemini } from './protocol.ts';

const protocol = gemini();

/** Events as the service frames them: it ends its lines with both characters. */
const frames = (...events: readonly unknown[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\r\n\r\n`).join('');

const read = (...events: readonly unknown[]): Promise<Reading> => readBody(protocol, frames(...events));

const FACTS = { modelVersion: 'gemini-3-pro', responseId: 'r1' };

const chunk = (parts: readonly object[], rest: object = {}, fields: object = {}): object => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...rest }],
  ...FACTS,
  ...fields,
});
const text = (piece: string): object => chunk([{ text: piece }]);
const thought = (piece: string): object => chunk([{ text: piece, thought: true }]);
const call = (functionCall: object, rest: object = {}): object => chunk([{ functionCall, ...rest }]);
const stop = (finishReason = 'STOP', usageMetadata?: object): object =>
  chunk([{ text: '' }], { finishReason }, usageMetadata === undefined ? {} : { usageMetadata });

const callsOf = ({ blocks }: Reading): unknown[] =>
  blocks.flatMap((block) =>
    block.type === 'tool_call' ? [[block.providerCallId, block.name, block.argumentsText]] : [],
  );

const SIGNATURE = 'AY89+a18/8==';

const RICH = [
  thought('Hmm, '),
  thought('größer 🦊'),
  text('Hello'),
  text(', “wörld”'),
  text('\n\\ "quoted" 🦊'),
  chunk([{ text: '', thoughtSignature: SIGNATURE }]),
  call({ name: 'read_theme' }, { thoughtSignature: 'c2ln' }),
  call({ name: 'search', args: { query: 'a"b 🦊', deep: [1, { x: null }] } }),
  call({ name: 'write', willContinue: true }),
  call({ partialArgs: [{ jsonPath: '$.items[0].text', stringValue: 'half ', willContinue: true }], willContinue: true }),
  call({ partialArgs: [{ jsonPath: '$.items[0].text', stringValue: 'a “fox”', willContinue: true }], willContinue: true }),
  call({ partialArgs: [{ jsonPath: '$.items[0].text', stringValue: '' }], willContinue: true }),
  call({ willContinue: true }),
  call({ partialArgs: [{ jsonPath: '$.items[1].price', numberValue: 0.5 }, { jsonPath: '$.ok', boolValue: true }], willContinue: true }),
  call({}),
  stop('STOP', { promptTokenCount: 10, cachedContentTokenCount: 4, candidatesTokenCount: 5, thoughtsTokenCount: 3, totalTokenCount: 18 }),
]; // prettier-ignore

describe('a message', () => {
  it('is read part by part', async () => {
    const reading = await read(...RICH);
    expect(reading.events[0]).toEqual({ type: 'start', model: 'gemini-3-pro', responseId: 'r1' });
    expect(reading.blocks).toEqual([
      { type: 'thinking', text: 'Hmm, größer 🦊' },
      { type: 'text', text: 'Hello, “wörld”\n\\ "quoted" 🦊' },
      { type: 'text', text: '', opaque: { thoughtSignature: SIGNATURE } },
      {
        type: 'tool_call',
        providerCallId: 'google-fc-0',
        name: 'read_theme',
        argumentsText: '{}',
        opaque: { thoughtSignature: 'c2ln' },
      },
      {
        type: 'tool_call',
        providerCallId: 'google-fc-1',
        name: 'search',
        argumentsText: '{"query":"a\\"b 🦊","deep":[1,{"x":null}]}',
      },
      {
        type: 'tool_call',
        providerCallId: 'google-fc-2',
        name: 'write',
        argumentsText: '{"items":[{"text":"half a “fox”"},{"price":0.5}],"ok":true}',
      },
    ]);
    expect(reading.finish).toEqual({
      type: 'finish',
      stopReason: 'tool_use',
      rawStopReason: 'STOP',
      usage: { input: 6, output: 8, cacheRead: 4, cacheWrite: null, reasoning: 3 },
      rawUsage: {
        promptTokenCount: 10,
        cachedContentTokenCount: 4,
        candidatesTokenCount: 5,
        thoughtsTokenCount: 3,
        totalTokenCount: 18,
      },
    });
    expect(contractProblems(reading.events)).toEqual([]);
  });

  it('is the same however its bytes are cut', async () => {
    const body = utf8(frames(...RICH));
    const whole = joined((await readBody(protocol, body)).events);
    for (let size = 1; size <= 40; size++)
      expect(joined((await readBody(protocol, body, [size])).events)).toEqual(whole);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 }), async (sizes) => {
        expect(joined((await readBody(protocol, body, sizes)).events)).toEqual(whole);
      }),
      { numRuns: 60 },
    );
  });

  it('shows the arguments of a call as they come, and all of them in the end', async () => {
    const { events, blocks } = await read(...RICH);
    for (const [index, block] of blocks.entries()) {
      if (block.type !== 'tool_call') continue;
      const shown = events.flatMap((e) => (e.type === 'tool_arguments_delta' && e.index === index ? [e.text] : []));
      expect(shown.join('')).toBe(block.argumentsText);
    }
    expect(events).toContainEqual({ type: 'tool_arguments_delta', index: 5, text: 'a “fox”' });
  });

  it('that was not streamed is read too, as one response or as a list of them', async () => {
    const parts = [
      { text: 'Hm', thought: true },
      { text: 'Hello', thoughtSignature: SIGNATURE },
    ];
    const one = await readJson(protocol, chunk(parts, { finishReason: 'STOP' }));
    const blocks: ModelBlock[] = [
      { type: 'thinking', text: 'Hm' },
      { type: 'text', text: 'Hello', opaque: { thoughtSignature: SIGNATURE } },
    ];
    expect([one.blocks, one.finish?.stopReason]).toEqual([blocks, 'stop']);
    const list = await readJson(protocol, [chunk(parts), stop('MAX_TOKENS')]);
    expect([list.blocks, list.finish?.stopReason]).toEqual([blocks, 'length']);
    expect((await readJson(protocol, { hello: 1 })).error?.kind).toBe('other');
  });

  it('of other candidates is left alone', async () => {
    const other = { candidates: [{ content: { parts: [{ text: 'other' }] }, index: 1, finishReason: 'STOP' }] };
    const reading = await read(text('mine'), other, text('!'), stop());
    expect(reading.text).toBe('mine!');
  });

  it('may have unknown fields, events and parts', async () => {
    const reading = await read(
      { ...text('a'), news: { x: 1 } },
      { createTime: 'now' },
      chunk([{ hologram: { x: 1 }, thoughtSignature: 's' }]),
      '[1,2]',
      '"text"',
      '[DONE]',
      stop(),
    );
    expect(reading.blocks).toEqual([
      { type: 'text', text: 'a' },
      { type: 'provider_block', kind: 'hologram', raw: { hologram: { x: 1 }, thoughtSignature: 's' } },
    ]);
    expect(reading.finish?.stopReason).toBe('stop');
  });

  it('keeps the text of every event when they differ in nothing else, and the usage when they do', async () => {
    const pieces = ['a', '', 'b"', '\\', '\u0000', 'é', '🦊', '}]}', 'text'];
    const same = await read(...pieces.map((piece) => text(piece)), stop());
    expect(same.text).toBe(pieces.join(''));
    const counted = pieces.map((piece, at) =>
      chunk([{ text: piece }], {}, { usageMetadata: { candidatesTokenCount: at % 2 } }),
    );
    const reading = await read(...counted, stop());
    expect(reading.text).toBe(pieces.join(''));
    expect(reading.finish?.rawUsage).toEqual({ candidatesTokenCount: 0 });
  });

  it('counts what the last event said that differed in nothing but its text and its counts', async () => {
    const pieces = Array.from({ length: 40 }, (_, at) => `piece ${at} "quoted"`);
    const counted = (piece: string, at: number): object => {
      const usageMetadata = { candidatesTokenCount: at, promptTokensDetails: [{ modality: 'TEXT', tokenCount: at }] };
      return chunk([{ text: piece }], {}, { usageMetadata });
    };
    const reading = await read(...pieces.map((piece, at) => counted(piece, at)), thought('Hm.'), stop());
    expect(reading.text).toBe(pieces.join(''));
    expect(reading.finish?.rawUsage).toEqual({
      candidatesTokenCount: 39,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 39 }],
    });
  });

  it('does not confuse text with thoughts that are the same', async () => {
    const reading = await read(text('a'), text('b'), thought('a'), thought('b'), text('a'), stop());
    expect(reading.blocks).toEqual([
      { type: 'text', text: 'ab' },
      { type: 'thinking', text: 'ab' },
      { type: 'text', text: 'a' },
    ]);
  });
});

describe('a signature', () => {
  it('stays with its part: nothing is added to it, and it is added to nothing', async () => {
    const reading = await read(
      text('a'),
      chunk([{ text: 'b', thoughtSignature: 's1' }]),
      text('c'),
      chunk([{ text: 'd', thought: true, thoughtSignature: 's2' }]),
      chunk([{ text: 'e', thought: true }]),
      stop(),
    );
    expect(reading.blocks).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b', opaque: { thoughtSignature: 's1' } },
      { type: 'text', text: 'c' },
      { type: 'thinking', text: 'd', signature: 's2' },
      { type: 'thinking', text: 'e' },
    ]);
  });

  it('of a picture stays with the picture', async () => {
    const picture = { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: 's' };
    const clip = { fileData: { mimeType: 'video/mp4', fileUri: 'gs://a/b' } };
    const reading = await read(chunk([picture, clip]), stop());
    expect(reading.blocks).toEqual([
      { type: 'image', mediaType: 'image/png', data: 'AAAA', opaque: { thoughtSignature: 's' } },
      { type: 'file', mediaType: 'video/mp4', url: 'gs://a/b' },
    ]);
  });
});

describe('a tool call', () => {
  it('keeps an id of the wire', async () => {
    expect(callsOf(await read(call({ id: 'x1', name: 'f', args: {} }), call({ name: 'g' }), stop()))).toEqual([
      ['x1', 'f', '{}'],
      ['google-fc-1', 'g', '{}'],
    ]);
    const vertex = await readBody(gemini({ callIdPrefix: 'vertex' }), frames(call({ name: 'g' }), stop()));
    expect(callsOf(vertex)).toEqual([['vertex-fc-0', 'g', '{}']]);
  });

  const open = [
    call({ name: 'f', willContinue: true }),
    call({ partialArgs: [{ jsonPath: '$.a', numberValue: 1 }], willContinue: true }),
  ];
  const half = call({
    partialArgs: [{ jsonPath: '$.b', stringValue: '/tmp/a', willContinue: true }],
    willContinue: true,
  });

  it.each([
    ['the end', [stop()]],
    ['a text', [text('So.'), stop()]],
    ['another call', [call({ name: 'g', args: {} }), stop()]],
  ])('without a last part is whole when %s comes', async (_, rest) => {
    expect(callsOf(await read(...open, ...rest))[0]).toEqual(['google-fc-0', 'f', '{"a":1}']);
  });

  it.each([
    ['the end', [stop()]],
    ['a text', [text('So.'), stop()]],
    ['another call', [call({ name: 'g', args: {} }), stop()]],
  ])('with a string in the middle is none when %s comes', async (_, rest) => {
    const reading = await read(...open, half, ...rest);
    expect(callsOf(reading)[0]).toEqual(['google-fc-0', 'f', '{"a":1,"b":"/tmp/a']);
    expect(reading.finish?.stopReason).toBe('tool_use');
  });

  it.each(['MAX_TOKENS', 'SAFETY', 'OTHER'])('that %s cut is none', async (reason) => {
    const reading = await read(...open, stop(reason));
    expect(callsOf(reading)).toEqual([['google-fc-0', 'f', '{"a":1']]);
    expect(reading.finish?.stopReason).not.toBe('tool_use');
  });

  it('whose end is said is whole, whatever its last string says', async () => {
    expect(callsOf(await read(...open, half, call({}), stop()))).toEqual([
      ['google-fc-0', 'f', '{"a":1,"b":"/tmp/a"}'],
    ]);
  });

  it('whose paths make no sense is none', async () => {
    const reading = await read(...open, call({ partialArgs: [{ jsonPath: '$.c[7]', numberValue: 1 }] }), stop());
    expect(callsOf(reading)).toEqual([['google-fc-0', 'f', '{"a":1']]);
  });

  it('has no end without its beginning', async () => {
    const reading = await read(call({}), call({ partialArgs: [{ jsonPath: '$.a', numberValue: 1 }] }), stop());
    expect(reading.blocks).toEqual([]);
    expect(reading.finish?.stopReason).toBe('stop');
  });
});

describe('what the provider ran itself', () => {
  it('is no call of ours', async () => {
    const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } };
    const outcome = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } };
    const failed = { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: '' }, thoughtSignature: 's' };
    const search = { toolCall: { toolType: 'GOOGLE_SEARCH', id: 't1', args: { q: 'x' } } };
    const found = { toolResponse: { toolType: 'GOOGLE_SEARCH', id: 't1', response: { n: 1 } } };
    const reading = await read(chunk([code]), chunk([outcome, failed]), chunk([search, found]), stop());
    expect(reading.blocks).toEqual([
      {
        type: 'provider_tool_call',
        callId: 'google-pc-0',
        name: 'code_execution',
        arguments: code.executableCode,
        raw: code,
      },
      { type: 'provider_tool_result', callId: 'google-pc-0', name: 'code_execution', isError: false, raw: outcome },
      { type: 'provider_tool_result', callId: 'google-pc-0', name: 'code_execution', isError: true, raw: failed },
      { type: 'provider_tool_call', callId: 't1', name: 'google_search', arguments: { q: 'x' }, raw: search },
      { type: 'provider_tool_result', callId: 't1', name: 'google_search', isError: false, raw: found },
    ]);
    expect(reading.finish?.stopReason).toBe('stop');
  });

  it('leaves its sources with the text', async () => {
    const groundingMetadata = { webSearchQueries: ['x'] };
    const more = { groundingChunks: [{ web: { uri: 'https://a' } }] };
    const reading = await read(
      chunk([{ text: 'Yes' }], { groundingMetadata }),
      chunk([{ text: '.' }], { groundingMetadata: more, finishReason: 'STOP' }),
    );
    expect(reading.blocks).toEqual([
      { type: 'text', text: 'Yes.', citations: [{ groundingMetadata: { ...groundingMetadata, ...more } }] },
    ]);
    const bare = await read(call({ name: 'f' }), chunk([], { citationMetadata: { x: 1 }, finishReason: 'STOP' }));
    expect(bare.blocks[1]).toEqual({
      type: 'provider_block',
      kind: 'response_metadata',
      raw: { citationMetadata: { x: 1 } },
    });
  });
});

describe('the end', () => {
  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['CONTINUATION', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['SPII', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['MALFORMED_FUNCTION_CALL', 'other'],
    ['OTHER', 'other'],
    ['SOMETHING_NEW', 'other'],
  ])('for %s is %s', async (raw, expected) => {
    const { finish } = await read(text('a'), stop(raw));
    expect([finish?.stopReason, finish?.rawStopReason]).toEqual([expected, raw]);
    const withCall = await read(call({ name: 'f' }), stop(raw));
    expect(withCall.finish?.stopReason).toBe(raw === 'STOP' ? 'tool_use' : expected);
  });

  it('of a prompt that was blocked is no success', async () => {
    const usageMetadata = { promptTokenCount: 7, totalTokenCount: 7 };
    const { finish, blocks } = await read({
      promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
      usageMetadata,
      ...FACTS,
    });
    expect(blocks).toEqual([]);
    expect(finish).toMatchObject({ stopReason: 'content_filter', rawStopReason: 'PROHIBITED_CONTENT' });
    expect(finish?.usage).toEqual({ input: 7, output: null, cacheRead: null, cacheWrite: null, reasoning: null });
    const blockReasonMessage = 'The prompt is about weapons.';
    const told = await readJson(protocol, { promptFeedback: { blockReason: 'SAFETY', blockReasonMessage } });
    expect(told.finish?.warnings).toEqual([
      { code: 'prompt_blocked', message: `The provider blocked the prompt: ${blockReasonMessage}` },
    ]);
    expect((await readJson(protocol, { promptFeedback: { blockReason: 'SAFETY' } })).finish?.stopReason).toBe(
      'content_filter',
    );
  });

  it('is that of the body: text and usage after a finish reason still count', async () => {
    const reading = await read(stop(), text('late'), { usageMetadata: { promptTokenCount: 3 } });
    expect([reading.text, reading.finish?.usage.input]).toEqual(['late', 3]);
  });

  it('without a finish reason is an error, with the text that came', async () => {
    const reading = await read(text('half'));
    expect(reading.text).toBe('half');
    expect(reading.error).toMatchObject({ kind: 'network', retryable: true });
    expect((await read()).error?.kind).toBe('network');
  });

  it('counts the prompt of tools as input, and knows nothing where nothing is said', async () => {
    const counted = await read(stop('STOP', { promptTokenCount: 5, toolUsePromptTokenCount: 2, trafficType: 'X' }));
    expect(counted.finish?.usage.input).toBe(7);
    const silent = (await read(stop())).finish;
    expect(silent).not.toHaveProperty('rawUsage');
    expect(silent?.usage.input).toBeNull();
  });
});

describe('an error', () => {
  const quota = {
    error: {
      code: 429,
      message: 'You exceeded your current quota.',
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '31.5s' }, 'odd'],
    },
  };

  it('in the stream ends it, with the text before it', async () => {
    const reading = await read(text('half'), quota, text('never'));
    expect(reading.text).toBe('half');
    expect(reading.error).toMatchObject({
      kind: 'rate_limited',
      status: 429,
      code: 'RESOURCE_EXHAUSTED',
      message: 'You exceeded your current quota.',
      retryAfterMs: 31500,
      retryable: true,
    });
  });

  const answer = (body: unknown, status: number): Promise<Reading> =>
    readModel({
      protocol,
      http: answering([utf8(JSON.stringify(body))], { 'content-type': 'application/json' }, status),
    });

  it.each([
    ['an object', quota],
    ['a list', [quota]],
  ])('as %s in place of the stream says when to come back', async (_, body) => {
    for (const status of [429, 200]) {
      const { error } = await answer(body, status);
      expect(error).toMatchObject({ kind: 'rate_limited', code: 'RESOURCE_EXHAUSTED', retryAfterMs: 31500 });
    }
  });

  it('for a bad key is one of authentication, although its status is another', async () => {
    const details = [{ reason: 'API_KEY_INVALID', domain: 'googleapis.com' }];
    const error = { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT', details };
    expect((await answer({ error }, 400)).error).toMatchObject({ kind: 'auth', status: 400, retryable: false });
  });

  it('for a long prompt is an overflow', async () => {
    const message = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).';
    const error = { code: 400, message, status: 'INVALID_ARGUMENT' };
    expect((await answer({ error }, 400)).error).toMatchObject({ kind: 'context_overflow', retryable: false });
  });

  it.each([
    [
      { message: 'Busy', status: 'UNAVAILABLE' },
      { status: 503, retryable: true },
    ],
    [{ code: 500 }, { status: 500, code: '500', message: '500' }],
    [{}, { kind: 'api', message: 'The provider reported an error without a message.' }],
  ])('%j is told as far as it says', async (error, expected) => {
    expect((await read({ error })).error).toMatchObject(expected);
  });

  it('is made of what is not JSON', async () => {
    expect((await read(text('a'), '{"candidates": [')).error).toMatchObject({ kind: 'network', retryable: true });
  });
});
