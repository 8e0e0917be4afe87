import type { JsonObject } from '@treadle/core';
import { eventStreamMessage } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  answering,
  contractProblems,
  cut,
  joined,
  readBody,
  readJson,
  readModel,
  utf8,
} from '../../test-support/streams.ts';
import type { Reading } from '../../test-support/streams.ts';
import { bedrockConverse } from './protocol.ts';

const protocol = bedrockConverse();

type Frame = readonly [name: string, data: JsonObject];

const start = (index: number, value: JsonObject): Frame => [
  'contentBlockStart',
  { contentBlockIndex: index, start: value },
];
const delta = (index: number, value: JsonObject): Frame => [
  'contentBlockDelta',
  { contentBlockIndex: index, delta: value },
];
const stop = (index: number): Frame => ['contentBlockStop', { contentBlockIndex: index }];
const BEGIN: Frame = ['messageStart', { role: 'assistant' }];
const end = (stopReason: string): Frame => ['messageStop', { stopReason }];
const USAGE: Frame = ['metadata', { usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 }, metrics: {} }];
const tool = (index: number, toolUseId: string, name: string): Frame => start(index, { toolUse: { toolUseId, name } });
const input = (index: number, text: string): Frame => delta(index, { toolUse: { input: text } });

const event = ([name, data]: Frame): Uint8Array =>
  eventStreamMessage(
    { ':event-type': name, ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify(data),
  );
const exception = (type: string, data: JsonObject): Uint8Array =>
  eventStreamMessage({ ':message-type': 'exception', ':exception-type': type }, JSON.stringify(data));

const binary = (...frames: readonly Frame[]): Uint8Array => Buffer.concat(frames.map((frame) => event(frame)));
const lines = (...frames: readonly Frame[]): string =>
  frames.map(([name, data]) => `${JSON.stringify({ [name]: data })}\n`).join('');

const readBinary = (body: Uint8Array, sizes: readonly number[] = [1e9]): Promise<Reading> =>
  readModel({ protocol, http: answering(cut(body, sizes), { 'content-type': 'application/vnd.amazon.eventstream' }) });
const read = (...frames: readonly Frame[]): Promise<Reading> => readBinary(binary(...frames));
const readLines = (text: string, type = 'application/x-ndjson', sizes: readonly number[] = [1e9]): Promise<Reading> =>
  readModel({ protocol, http: answering(cut(utf8(text), sizes), { 'content-type': type }) });

const CONVERSATION: readonly Frame[] = [
  BEGIN,
  delta(0, { reasoningContent: { text: 'Let me ' } }),
  delta(0, { reasoningContent: { text: 'see.' } }),
  delta(0, { reasoningContent: { signature: 'c2lnbmF0dXJl' } }),
  stop(0),
  delta(1, { reasoningContent: { redactedContent: 'AAEC' } }),
  stop(1),
  delta(2, { text: 'Grüße ' }),
  delta(2, { text: '🦊 "quoted"\n' }),
  stop(2),
  tool(3, 'tooluse_1', 'search'),
  input(3, ''),
  input(3, '{"q":'),
  input(3, '"🦊"}'),
  stop(3),
  end('tool_use'),
  USAGE,
];

const BLOCKS = [
  { type: 'thinking', text: 'Let me see.', signature: 'c2lnbmF0dXJl' },
  { type: 'redacted_thinking', data: 'AAEC' },
  { type: 'text', text: 'Grüße 🦊 "quoted"\n' },
  { type: 'tool_call', providerCallId: 'tooluse_1', name: 'search', argumentsText: '{"q":"🦊"}' },
];

describe('a stream', () => {
  it('keeps every piece of events that differ in their piece and their padding only', async () => {
    const pieces = Array.from({ length: 40 }, (_, at) => `piece ${at} "é🦊"`.slice(at % 9));
    const padded = ([name, data]: Frame, at: number): Frame => [name, { ...data, p: 'abcdefgh'.slice(at % 8) }];
    const texts = pieces.map((text, at) => padded(delta(0, { text }), at));
    const inputs = pieces.map((text, at) => padded(input(1, text), at));
    const frames = [BEGIN, ...texts, stop(0), tool(1, 't1', 'write'), ...inputs, stop(1), end('tool_use'), USAGE];
    for (const reading of [await readBinary(binary(...frames)), await readBinary(binary(...frames), [61])]) {
      expect(reading.text).toBe(pieces.join(''));
      expect(reading.blocks[1]).toMatchObject({ name: 'write', argumentsText: pieces.join('') });
    }
  });

  it('is read into blocks, a finish and usage', async () => {
    const reading = await read(...CONVERSATION);
    expect(reading.error).toBeUndefined();
    expect(reading.blocks).toEqual(BLOCKS);
    expect(reading.finish).toEqual({
      type: 'finish',
      stopReason: 'tool_use',
      rawStopReason: 'tool_use',
      usage: { input: 3, output: 2, cacheRead: null, cacheWrite: null, reasoning: null },
      rawUsage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    });
    expect(contractProblems(reading.events)).toEqual([]);
  });

  it('is the same at every cut into two, in both forms', async () => {
    const body = binary(...CONVERSATION);
    const whole = joined((await readBinary(body)).events);
    for (let at = 1; at < body.length; at++) {
      expect(joined((await readBinary(body, [at, body.length])).events)).toEqual(whole);
    }
    const text = utf8(lines(...CONVERSATION));
    for (let at = 1; at < text.length; at++) {
      expect(joined((await readBody(protocol, text, [at, text.length])).events)).toEqual(whole);
    }
  });

  it.each([
    ['application/x-ndjson', [1e9]],
    ['application/json', [1e9]],
    ['application/json', [1]],
    ['application/vnd.amazon.eventstream', [1]],
    ['text/plain', [7]],
  ])('of JSON lines is recognised as %s in pieces of %j', async (type, sizes) => {
    const reading = await readLines(lines(...CONVERSATION), type, sizes);
    expect(reading.blocks).toEqual(BLOCKS);
    expect(reading.finish?.stopReason).toBe('tool_use');
  });

  it('in the binary form is recognised without its content type', async () => {
    const reading = await readBody(protocol, binary(...CONVERSATION), [1]);
    expect(reading.blocks).toEqual(BLOCKS);
  });

  it('that was not streamed is the same', async () => {
    const content = [
      { reasoningContent: { reasoningText: { text: 'Let me see.', signature: 'c2lnbmF0dXJl' } } },
      { reasoningContent: { redactedContent: 'AAEC' } },
      { text: 'Grüße 🦊 "quoted"\n' },
      { toolUse: { toolUseId: 'tooluse_1', name: 'search', input: { q: '🦊' } } },
    ];
    const body = {
      output: { message: { role: 'assistant', content } },
      stopReason: 'tool_use',
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    };
    const reading = await readJson(protocol, body);
    expect(reading.blocks).toEqual(BLOCKS);
    expect(reading.finish?.usage).toMatchObject({ input: 3, output: 2 });
    expect(contractProblems(reading.events)).toEqual([]);
    // Over several lines nothing looks like the start of a stream.
    const pretty = await readLines(JSON.stringify(body, null, 2), 'application/json');
    expect(pretty.blocks).toEqual(BLOCKS);
  });

  it('may have the usage before the stop, or none, and blocks without start or stop', async () => {
    const early = await read(delta(0, { text: 'Hi' }), USAGE, end('end_turn'));
    expect(early.finish).toMatchObject({ stopReason: 'stop', usage: { input: 3 } });
    const none = await read(start(0, {}), delta(0, { text: 'Hi' }), delta(1, { text: ' you' }), end('end_turn'));
    expect(none.finish).toMatchObject({ stopReason: 'stop', usage: { input: null } });
    expect(none.blocks).toEqual([
      { type: 'text', text: 'Hi' },
      { type: 'text', text: ' you' },
    ]);
  });

  it('counts what was read from and written to the cache beside the input', async () => {
    const usage = { inputTokens: 5, outputTokens: 1, cacheReadInputTokens: 100, cacheWriteInputTokens: 20 };
    const { finish } = await read(BEGIN, end('end_turn'), ['metadata', { usage }]);
    expect(finish?.usage).toEqual({ input: 5, output: 1, cacheRead: 100, cacheWrite: 20, reasoning: null });
  });

  it('keeps the padding and what else is new from changing anything', async () => {
    const padded = CONVERSATION.map(([name, data], at): Frame => [name, { ...data, p: 'abcdef'.slice(at % 6) }]);
    const odd: Frame[] = [['newEvent', { anything: 1 }], delta(2, { newDelta: { x: 1 } }), ['messageMiddle', {}]];
    const reading = await read(...padded.slice(0, 8), ...odd, ...padded.slice(8));
    expect(reading.blocks).toEqual(BLOCKS);
  });

  it('that begins again voids what came before', async () => {
    const reading = await read(
      BEGIN,
      delta(0, { text: 'old' }),
      BEGIN,
      delta(0, { text: 'new' }),
      end('end_turn'),
      USAGE,
    );
    expect(reading.blocks).toEqual([{ type: 'text', text: 'new' }]);
    expect(reading.events.filter(({ type }) => type === 'start')).toHaveLength(2);
  });

  it('shows no half of a character', async () => {
    const reading = await read(
      BEGIN,
      delta(0, { text: 'a\ud83e' }),
      delta(0, { text: '\udd8a\ud83e' }),
      stop(0),
      end('end_turn'),
      USAGE,
    );
    expect(reading.text).toBe('a🦊\uFFFD');
    for (const made of reading.events) if (made.type === 'text_delta') expect(made.text.isWellFormed()).toBe(true);
  });
});

describe('the stop reason', () => {
  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['guardrail_intervened', 'content_filter'],
    ['content_filtered', 'content_filter'],
    ['malformed_model_output', 'other'],
    ['something_new', 'other'],
  ])('%s is %s', async (raw, stopReason) => {
    const { finish } = await read(BEGIN, end(raw), USAGE);
    expect(finish).toMatchObject({ stopReason, rawStopReason: raw });
  });
});

describe('tools of the service', () => {
  it('leave calls of type tool_use to the client, streamed and whole', async () => {
    const call = { toolUseId: 't1', name: 'search', type: 'tool_use' };
    const streamed = await read(
      BEGIN,
      start(0, { toolUse: call }),
      input(0, '{"q":"x"}'),
      stop(0),
      end('tool_use'),
      USAGE,
    );
    const toolUse = { ...call, input: { q: 'x' } };
    const message = { role: 'assistant', content: [{ toolUse }] };
    const whole = await readJson(protocol, { output: { message }, stopReason: 'tool_use', usage: {} });
    for (const { blocks } of [streamed, whole])
      expect(blocks).toEqual([{ type: 'tool_call', providerCallId: 't1', name: 'search', argumentsText: '{"q":"x"}' }]);
  });

  it('are no calls of ours, and are kept as they were', async () => {
    const call = { toolUseId: 't1', name: 'nova_grounding', type: 'server_tool_use' };
    const reading = await read(
      BEGIN,
      start(0, { toolUse: call }),
      input(0, '{"query":"x"}'),
      stop(0),
      start(1, { toolResult: { toolUseId: 't1', type: 'nova_grounding_result', status: 'success' } }),
      delta(1, { toolResult: [{ json: { found: 1 } }] }),
      stop(1),
      delta(2, { text: 'Found.' }),
      delta(2, { citation: { title: 'A', location: { web: { url: 'https://a.example' } } } }),
      stop(2),
      end('end_turn'),
      USAGE,
    );
    expect(reading.blocks).toEqual([
      {
        type: 'provider_tool_call',
        callId: 't1',
        name: 'nova_grounding',
        arguments: { query: 'x' },
        raw: { toolUse: { ...call, input: { query: 'x' } } },
      },
      {
        type: 'provider_tool_result',
        callId: 't1',
        name: 'nova_grounding',
        isError: false,
        raw: {
          toolResult: {
            toolUseId: 't1',
            type: 'nova_grounding_result',
            status: 'success',
            content: [{ json: { found: 1 } }],
          },
        },
      },
      { type: 'text', text: 'Found.', citations: [{ title: 'A', location: { web: { url: 'https://a.example' } } }] },
    ]);
    expect(reading.events.some(({ type }) => type === 'tool_call_start')).toBe(false);
  });

  it('may draw: the bytes of an image are joined', async () => {
    const reading = await read(
      BEGIN,
      start(0, { image: { format: 'png' } }),
      delta(0, { image: { source: { bytes: btoa('ab') } } }),
      delta(0, { image: { source: { bytes: btoa('cd') } } }),
      stop(0),
      end('end_turn'),
      USAGE,
    );
    expect(reading.blocks).toEqual([{ type: 'image', mediaType: 'image/png', data: btoa('abcd') }]);
  });
});

describe('calls', () => {
  const calls = (reading: Reading): unknown[] => reading.blocks.filter(({ type }) => type === 'tool_call');

  it('of several tools may interleave', async () => {
    const reading = await read(
      BEGIN,
      tool(0, 'a', 'one'),
      tool(1, 'b', 'two'),
      input(1, '{"b":'),
      input(0, '{"a":1}'),
      input(1, '2}'),
      stop(1),
      stop(0),
      end('tool_use'),
      USAGE,
    );
    expect(calls(reading)).toMatchObject([
      { providerCallId: 'a', argumentsText: '{"a":1}' },
      { providerCallId: 'b', argumentsText: '{"b":2}' },
    ]);
  });

  it.each(['max_tokens', 'tool_use'])('that are cut off have no end when the model stops by %s', async (reason) => {
    const reading = await read(BEGIN, tool(0, 'a', 'one'), input(0, '{"path": "/et'), end(reason), USAGE);
    expect(calls(reading)).toEqual([]);
    expect(reading.events.some(({ type }) => type === 'tool_call_start')).toBe(true);
  });

  it('that begin twice are not taken for calls without arguments', async () => {
    const reading = await read(
      BEGIN,
      tool(0, 'a', 'one'),
      tool(0, 'a', 'one'),
      input(0, '{"a":1}'),
      stop(0),
      end('tool_use'),
      USAGE,
    );
    expect(calls(reading)).toMatchObject([{ providerCallId: 'a', argumentsText: '{"a":1}' }]);
  });

  it('without their end are whole when the model stopped for them and their JSON is', async () => {
    const reading = await read(BEGIN, tool(0, 'a', 'one'), input(0, '{"a":1}'), end('tool_use'), USAGE);
    expect(calls(reading)).toMatchObject([{ argumentsText: '{"a":1}' }]);
  });

  it('whose beginning was lost make the answer an error', async () => {
    const { error } = await read(BEGIN, delta(0, { text: 'Hi' }), input(1, '{}'), stop(1), end('tool_use'), USAGE);
    expect(error).toMatchObject({ kind: 'network', retryable: true });
  });
});

describe('an exception', () => {
  it.each([
    ['throttlingException', 'Too many tokens, please wait before trying again.', 'rate_limited', true],
    ['throttlingException', 'Too many requests, please wait before trying again.', 'rate_limited', true],
    ['validationException', 'Input is too long for requested model.', 'context_overflow', false],
    ['validationException', 'The model returned: prompt is too long: 9 tokens > 8 maximum', 'context_overflow', false],
    ['validationException', 'Malformed input request', 'api', false],
    ['accessDeniedException', 'You are not authorized', 'auth', false],
    ['modelTimeoutException', 'The model took too long', 'network', true],
    ['modelStreamErrorException', 'The stream failed', 'api', true],
    ['internalServerException', 'Oh', 'api', true],
    ['serviceUnavailableException', 'Busy', 'api', true],
    ['brandNewException', 'What', 'api', true],
  ])('%s: %s is of kind %s', async (type, message, kind, retryable) => {
    const inBinary = await readBinary(
      Buffer.concat([binary(BEGIN, delta(0, { text: 'Hi' })), exception(type, { message })]),
    );
    expect(inBinary.error).toMatchObject({ kind, retryable, code: type, message });
    expect(inBinary.text).toBe('Hi');
    const inLines = await readLines(lines(BEGIN, delta(0, { text: 'Hi' }), [type, { message }]));
    expect(inLines.error).toEqual(inBinary.error);
    expect(contractProblems(inBinary.events)).toEqual([]);
  });

  it('of a model’s stream has the status of the model', async () => {
    const body = { message: 'x', originalStatusCode: 400, originalMessage: 'bad' };
    const { error } = await readBinary(exception('modelStreamErrorException', body));
    expect(error).toMatchObject({ status: 400, retryable: false });
  });

  it('is one even when its payload is no JSON, or when it is an error with headers only', async () => {
    const odd = eventStreamMessage({ ':message-type': 'exception', ':exception-type': 'weird' }, 'oops');
    expect((await readBinary(odd)).error).toMatchObject({ code: 'weird', message: 'oops' });
    const plain = eventStreamMessage(
      { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'Broken' },
      '',
    );
    expect((await readBinary(plain)).error).toMatchObject({ code: 'InternalFailure', message: 'Broken', status: 500 });
  });

  it('between the stop and the usage is not hidden by the stop', async () => {
    const body = Buffer.concat([
      binary(BEGIN, delta(0, { text: 'Hi' }), end('end_turn')),
      exception('internalServerException', { message: 'x' }),
    ]);
    expect(await readBinary(body)).toMatchObject({ finish: undefined, error: { kind: 'api' } });
  });

  it('as a response of its own is classified by its status and its words', async () => {
    const refused = async (status: number, body: JsonObject): Promise<Reading> =>
      readModel({
        protocol,
        http: answering(
          [utf8(JSON.stringify(body))],
          { 'content-type': 'application/json', 'x-amzn-requestid': 'r1' },
          status,
        ),
      });
    const overflow = await refused(400, { message: 'Input is too long for requested model.' });
    expect(overflow.error).toMatchObject({ kind: 'context_overflow', requestId: 'r1', status: 400 });
    const throttled = await refused(429, { message: 'Too many tokens, please wait before trying again.' });
    expect(throttled.error).toMatchObject({ kind: 'rate_limited', retryable: true });
    const denied = await refused(403, { Message: 'User is not authorized', __type: 'a.b#AccessDeniedException' });
    expect(denied.error).toMatchObject({
      kind: 'auth',
      code: 'AccessDeniedException',
      message: 'User is not authorized',
    });
  });
});

describe('a broken stream', () => {
  const body = binary(...CONVERSATION);
  const beforeUsage = binary(...CONVERSATION.slice(0, -1)).length;

  it('is an error wherever it ends, unless only the usage is missing', async () => {
    for (let length = 1; length < body.length; length++) {
      const reading = await readBinary(body.subarray(0, length));
      expect(reading.finish === undefined).toBe(length !== beforeUsage);
      if (length !== beforeUsage) expect(reading.error).toMatchObject({ kind: 'network', retryable: true });
      expect(contractProblems(reading.events)).toEqual([]);
    }
  });

  it('is an error wherever its lines end, unless only the usage is missing', async () => {
    const text = lines(...CONVERSATION);
    const usage = text.length - lines(USAGE).length;
    for (let length = 1; length < text.length - 1; length++) {
      const reading = await readLines(text.slice(0, length));
      // A line is complete without its line end.
      const complete = length === usage || length === usage - 1;
      expect(reading.finish === undefined).toBe(!complete);
    }
  });

  it('with a flipped bit anywhere is an error, and no word after the damage is believed', async () => {
    const short = binary(BEGIN, delta(0, { text: 'Hi' }), stop(0), end('end_turn'), USAGE);
    for (let bit = 0; bit < short.length * 8; bit++) {
      const damaged = Uint8Array.from(short);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const reading = await readBinary(damaged);
      expect(reading.finish).toBeUndefined();
      expect(reading.error?.kind).toBe('network');
    }
  });

  it('that is not JSON inside is an error', async () => {
    const odd = eventStreamMessage({ ':message-type': 'event', ':event-type': 'contentBlockDelta' }, 'oops');
    expect((await readBinary(odd)).error).toMatchObject({ kind: 'network', message: expect.stringContaining('JSON') });
    expect((await readLines('{"messageStart":{}}\noops\n')).error).toMatchObject({ kind: 'network' });
  });

  it('of any frames in any order keeps the contract, and ends no call it did not begin', async () => {
    const frame = fc.constantFrom(...CONVERSATION, tool(0, 'z', 'other'), end('max_tokens'), stop(7));
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 25 }), fc.integer({ min: 1, max: 50 }), async (frames, size) => {
        const reading = await readBinary(binary(...frames), [size]);
        expect(contractProblems(reading.events)).toEqual([]);
        const started = reading.events.filter(({ type }) => type === 'tool_call_start').length;
        const calls = reading.events.filter((made) => made.type === 'block_end' && made.block.type === 'tool_call');
        expect(calls.length).toBeLessThanOrEqual(started);
      }),
      { numRuns: 300 },
    );
  });
});
