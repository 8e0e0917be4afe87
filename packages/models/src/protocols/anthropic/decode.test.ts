import { describe, expect, it } from 'vitest';
import { contractProblems, joined, readBody, readJson, sse, utf8, type Reading } from '../../test-support/streams.ts';
import { anthropicMessages } from './protocol.ts';

const protocol = anthropicMessages();
const read = (...events: readonly unknown[]): Promise<Reading> => readBody(protocol, sse(...events));

const start = (fields: object = {}): object => ({
  type: 'message_start',
  message: { id: 'msg_1', model: 'model-1', usage: { input_tokens: 10, output_tokens: 1 }, ...fields },
});
const open = (index: number, block: object): object => ({ type: 'content_block_start', index, content_block: block });
const delta = (index: number, fields: object): object => ({ type: 'content_block_delta', index, delta: fields });
const close = (index: number): object => ({ type: 'content_block_stop', index });
const text = (index: number, ...pieces: readonly string[]): object[] => [
  open(index, { type: 'text', text: '' }),
  ...pieces.map((piece) => delta(index, { type: 'text_delta', text: piece })),
  close(index),
];
const stop = (reason: string | null = 'end_turn', usage: object = { output_tokens: 5 }): object[] => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage },
  { type: 'message_stop' },
];
const tool = (index: number, ...pieces: readonly string[]): object[] => [
  open(index, { type: 'tool_use', id: `toolu_${index}`, name: 'search', input: {} }),
  ...pieces.map((piece) => delta(index, { type: 'input_json_delta', partial_json: piece })),
];

const RICH = [
  start({ container: { id: 'container_1' } }),
  { type: 'ping' },
  open(0, { type: 'thinking', thinking: '', signature: '' }),
  delta(0, { type: 'thinking_delta', thinking: 'Hmm, ' }),
  delta(0, { type: 'thinking_delta', thinking: 'größer 🦊' }),
  delta(0, { type: 'signature_delta', signature: 'EqoB+/=' }),
  close(0),
  open(1, { type: 'redacted_thinking', data: 'b3BhcXVl' }),
  close(1),
  ...text(2, 'Hello', ', “wörld”', '\n\\ "quoted" ', '🦊'),
  ...tool(3, '', '{"query":', ' "a\\"b', ' 🦊"}'),
  close(3),
  ...stop('tool_use', { output_tokens: 42 }),
];

describe('a message', () => {
  it('is read block by block', async () => {
    const { events, blocks, finish } = await read(...RICH);
    expect(events[0]).toEqual({ type: 'start', model: 'model-1', responseId: 'msg_1', containerId: 'container_1' });
    expect(blocks).toEqual([
      { type: 'thinking', text: 'Hmm, größer 🦊', signature: 'EqoB+/=' },
      { type: 'redacted_thinking', data: 'b3BhcXVl' },
      { type: 'text', text: 'Hello, “wörld”\n\\ "quoted" 🦊' },
      { type: 'tool_call', providerCallId: 'toolu_3', name: 'search', argumentsText: '{"query": "a\\"b 🦊"}' },
    ]);
    expect(finish).toEqual({
      type: 'finish',
      stopReason: 'tool_use',
      rawStopReason: 'tool_use',
      usage: { input: 10, output: 42, cacheRead: null, cacheWrite: null, reasoning: null },
      rawUsage: { input_tokens: 10, output_tokens: 42 },
      containerId: 'container_1',
    });
    expect(contractProblems(events)).toEqual([]);
  });

  it('is the same however its bytes are cut', async () => {
    const bytes = utf8(`\uFEFF${sse(...RICH)}`);
    const whole = joined((await readBody(protocol, bytes)).events);
    expect(joined((await readBody(protocol, bytes, [1])).events)).toEqual(whole);
    for (let at = 1; at < bytes.length; at++) {
      expect(joined((await readBody(protocol, bytes, [at, 1e9])).events)).toEqual(whole);
    }
  });

  it.each(['\r', '\r\n'])('may have %j at the end of its lines', async (end) => {
    const { blocks } = await readBody(protocol, sse(...RICH).replaceAll('\n', end), [3]);
    expect(blocks).toEqual((await read(...RICH)).blocks);
  });

  it('streams each piece as it comes', async () => {
    const { events } = await read(start(), ...text(0, 'a', 'b'), ...tool(1, '{', '}'), close(1), ...stop());
    expect(events.map((event) => ('text' in event ? event.text : event.type))).toEqual([
      'start',
      'a',
      'b',
      'block_end',
      'tool_call_start',
      '{',
      '}',
      'block_end',
      'finish',
    ]);
  });
});

describe('tool input', () => {
  it('given whole at the start of a block counts as the arguments', async () => {
    const { blocks, events } = await read(
      start(),
      open(0, { type: 'tool_use', id: 't', name: 'n', input: { a: [1] } }),
      close(0),
      ...stop('tool_use'),
    );
    expect(blocks).toEqual([{ type: 'tool_call', providerCallId: 't', name: 'n', argumentsText: '{"a":[1]}' }]);
    expect(events).toContainEqual({ type: 'tool_arguments_delta', index: 0, text: '{"a":[1]}' });
  });

  it('that is empty is an empty object', async () => {
    const { blocks } = await read(start(), ...tool(0, ''), close(0), ...stop('tool_use'));
    expect(blocks).toMatchObject([{ argumentsText: '{}' }]);
  });

  it('keeps fields of the call that must go back', async () => {
    const block = { type: 'tool_use', id: 't', name: 'n', input: {}, caller: { type: 'code', tool_id: 's' } };
    const { blocks } = await read(start(), open(0, block), close(0), ...stop('tool_use'));
    expect(blocks).toMatchObject([{ opaque: { caller: { type: 'code', tool_id: 's' } } }]);
  });

  it('that the output limit cut ends with what there is', async () => {
    const { blocks, finish } = await read(start(), ...tool(0, '{"query": "hal'), ...stop('max_tokens'));
    expect(blocks).toMatchObject([{ type: 'tool_call', argumentsText: '{"query": "hal' }]);
    expect(finish?.stopReason).toBe('length');
  });

  it('of two calls may come interleaved', async () => {
    const { blocks } = await read(
      start(),
      open(0, { type: 'tool_use', id: 'a', name: 'x', input: {} }),
      open(1, { type: 'tool_use', id: 'b', name: 'y', input: {} }),
      delta(1, { type: 'input_json_delta', partial_json: '{"n":' }),
      delta(0, { type: 'input_json_delta', partial_json: '{"m":' }),
      delta(1, { type: 'input_json_delta', partial_json: '2}' }),
      delta(0, { type: 'input_json_delta', partial_json: '1}' }),
      close(0),
      close(1),
      ...stop('tool_use'),
    );
    expect(blocks).toMatchObject([{ argumentsText: '{"m":1}' }, { argumentsText: '{"n":2}' }]);
  });
});

describe('what the provider runs itself', () => {
  const call = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} };
  const result = {
    type: 'web_search_tool_result',
    tool_use_id: 'srv_1',
    content: [{ type: 'web_search_result', url: 'u' }],
  };

  it('is no call of ours', async () => {
    const { blocks, events } = await read(
      start(),
      open(0, call),
      delta(0, { type: 'input_json_delta', partial_json: '{"query":"q"}' }),
      close(0),
      open(1, result),
      close(1),
      ...stop(),
    );
    expect(blocks).toEqual([
      {
        type: 'provider_tool_call',
        callId: 'srv_1',
        name: 'web_search',
        arguments: { query: 'q' },
        raw: { ...call, input: { query: 'q' } },
      },
      { type: 'provider_tool_result', callId: 'srv_1', name: 'web_search', isError: false, raw: result },
    ]);
    expect(events.some((event) => event.type === 'tool_call_start' || event.type === 'tool_arguments_delta')).toBe(
      false,
    );
  });

  it('says when it failed', async () => {
    const failed = { ...result, content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' } };
    const { blocks } = await read(start(), open(0, failed), close(0), ...stop());
    expect(blocks).toMatchObject([{ isError: true }]);
    const flagged = { type: 'mcp_tool_result', tool_use_id: 'm', is_error: true, content: [] };
    expect((await read(start(), open(0, flagged), close(0), ...stop())).blocks).toMatchObject([{ isError: true }]);
  });

  it('covers tools of MCP servers', async () => {
    const block = { type: 'mcp_tool_use', id: 'm', name: 'echo', server_name: 's', input: { a: 1 } };
    const { blocks } = await read(start(), open(0, block), close(0), ...stop());
    expect(blocks).toEqual([
      { type: 'provider_tool_call', callId: 'm', name: 'echo', arguments: { a: 1 }, raw: block },
    ]);
  });
});

describe('what this version does not know', () => {
  it('is kept as a block, with its deltas merged in', async () => {
    const { blocks } = await read(
      start(),
      open(0, { type: 'compaction', content: null }),
      delta(0, { type: 'compaction_delta', content: 'So far: ' }),
      delta(0, { type: 'compaction_delta', content: 'nothing.', extra: [1] }),
      delta(0, { type: 'compaction_delta', extra: [2] }),
      close(0),
      ...text(1, 'Hi'),
      ...stop(),
    );
    expect(blocks).toEqual([
      {
        type: 'provider_block',
        kind: 'compaction',
        raw: { type: 'compaction', content: 'So far: nothing.', extra: [1, 2] },
      },
      { type: 'text', text: 'Hi' },
    ]);
  });

  it('is skipped as an event, a delta or a field', async () => {
    const { blocks, finish } = await read(
      { type: 'something_new', index: 0 },
      start({ brand_new: true }),
      open(0, { type: 'text', text: '' }),
      delta(0, { type: 'sparkle_delta', text: 'no' }),
      delta(0, { type: 'text_delta', text: 'yes', more: 1 }),
      delta(9, { type: 'text_delta', text: 'nowhere' }),
      close(9),
      'null',
      '[1]',
      '"text"',
      close(0),
      ...stop(),
    );
    expect(blocks).toEqual([{ type: 'text', text: 'yes' }]);
    expect(finish?.stopReason).toBe('stop');
  });
});

describe('citations', () => {
  it('stay with their text', async () => {
    const source = { type: 'web_search_result_location', url: 'u', encrypted_index: 'EiQ=' };
    const { blocks } = await read(
      start(),
      open(0, { type: 'text', text: '', citations: [] }),
      delta(0, { type: 'text_delta', text: 'Fact' }),
      delta(0, { type: 'citations_delta', citation: source }),
      close(0),
      ...stop(),
    );
    expect(blocks).toEqual([{ type: 'text', text: 'Fact', citations: [source] }]);
  });
});

describe('the stop reason', () => {
  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['tool_use', 'tool_use'],
    ['pause_turn', 'pause'],
    ['refusal', 'refusal'],
    ['something_new', 'other'],
  ])('%s is %s', async (raw, stopReason) => {
    const { finish } = await read(start(), ...text(0, 'x'), ...stop(raw));
    expect(finish).toMatchObject({ stopReason, rawStopReason: raw });
  });

  it('that never came is no success', async () => {
    const { finish } = await read(start(), ...text(0, 'x'), ...stop(null));
    expect(finish?.stopReason).toBe('other');
    expect(finish).not.toHaveProperty('rawStopReason');
  });
});

describe('usage', () => {
  it('takes the last value of each field, and unknown is not zero', async () => {
    const { finish } = await read(
      start({ usage: { input_tokens: 10, cache_read_input_tokens: 100, output_tokens: 1 } }),
      ...stop('end_turn', { input_tokens: 12, cache_read_input_tokens: null, output_tokens: 7 }),
    );
    expect(finish?.usage).toEqual({ input: 12, output: 7, cacheRead: 100, cacheWrite: null, reasoning: null });
  });

  it('is unknown when nobody told', async () => {
    const { finish } = await read({ type: 'message_start', message: {} }, { type: 'message_stop' });
    expect(finish?.usage).toEqual({ input: null, output: null, cacheRead: null, cacheWrite: null, reasoning: null });
    expect(finish).not.toHaveProperty('rawUsage');
  });
});

describe('a message that begins again', () => {
  it('begins once when nothing came between', async () => {
    const { events } = await read(start(), start(), ...text(0, 'x'), ...stop());
    expect(events.filter((event) => event.type === 'start')).toHaveLength(1);
  });

  it('voids what came before it', async () => {
    const { events, blocks } = await read(
      start(),
      ...text(0, 'first'),
      ...tool(1, '{"a":"hal'),
      start({ id: 'msg_2' }),
      ...text(0, 'second'),
      ...tool(1, '{"a":"whole"}'),
      close(1),
      ...stop('tool_use'),
    );
    expect(events.filter((event) => event.type === 'start').map((event) => event.responseId)).toEqual([
      'msg_1',
      'msg_2',
    ]);
    expect(blocks).toMatchObject([{ text: 'second' }, { argumentsText: '{"a":"whole"}' }]);
    expect(contractProblems(events)).toEqual([]);
  });
});

describe('an error inside the stream', () => {
  it.each([
    ['overloaded_error', 'api', 529, true],
    ['rate_limit_error', 'rate_limited', 429, true],
    ['api_error', 'api', 500, true],
    ['authentication_error', 'auth', 401, false],
    ['invalid_request_error', 'api', 400, false],
  ])('%s has the kind and status it would have had', async (type, kind, status, retryable) => {
    const {
      error,
      text: partial,
      blocks,
    } = await read(
      start(),
      open(0, { type: 'text', text: '' }),
      delta(0, { type: 'text_delta', text: 'partial' }),
      { type: 'error', error: { type, message: 'No.' } },
      close(0),
      ...stop(),
    );
    expect(error).toMatchObject({ kind, status, retryable, code: type, message: 'No.' });
    expect(partial).toBe('partial');
    expect(blocks).toEqual([]);
  });

  it('is a context overflow when it says so', async () => {
    const { error } = await read(start(), {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
    });
    expect(error).toMatchObject({ kind: 'context_overflow', retryable: false });
  });

  it('is told when an event is not JSON', async () => {
    const { error } = await readBody(protocol, sse(start()) + 'data: {broken\n\n');
    expect(error).toMatchObject({ kind: 'network', retryable: true });
  });
});

describe('a connection that ends early', () => {
  it.each([0, 1, 3, 9, 12, 15])('after %i events is an error, whatever had come', async (count) => {
    const { error, events } = await read(...RICH.slice(0, count));
    expect(error).toMatchObject({ kind: 'network', retryable: true });
    expect(error?.message).toContain('ended early');
    expect(contractProblems(events)).toEqual([]);
  });

  it('at any byte is an error, never a success and never a whole call', async () => {
    const bytes = utf8(sse(...RICH));
    // The stream is complete once the JSON of its last event is.
    const complete = bytes.length - 2;
    for (let length = 0; length < complete; length++) {
      const { error, finish, events } = await readBody(protocol, bytes.slice(0, length));
      expect(finish).toBeUndefined();
      expect(error?.retryable).toBe(true);
      expect(contractProblems(events)).toEqual([]);
    }
    expect((await readBody(protocol, bytes.slice(0, complete))).finish).toBeDefined();
  });
});

describe('a character split between deltas', () => {
  it('is put together, and half a character alone becomes U+FFFD', async () => {
    const { events, blocks } = await read(start(), ...text(0, 'a\ud83e', '\udd8ab', '\udd8ac', 'd\ud83e'), ...stop());
    expect(blocks).toEqual([{ type: 'text', text: 'a🦊b\uFFFDcd\uFFFD' }]);
    for (const event of events) {
      if ('text' in event) expect(event.text).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$/);
    }
  });
});

describe('a response that was not streamed', () => {
  it('is read as the same message', async () => {
    const { blocks, finish, events } = await readJson(protocol, {
      type: 'message',
      id: 'msg_1',
      model: 'model-1',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'sig' },
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 't', name: 'n', input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 3, output_tokens: 4 },
    });
    expect(events[0]).toEqual({ type: 'start', model: 'model-1', responseId: 'msg_1' });
    expect(blocks).toEqual([
      { type: 'thinking', text: 'Hm', signature: 'sig' },
      { type: 'text', text: 'Hello' },
      { type: 'tool_call', providerCallId: 't', name: 'n', argumentsText: '{"a":1}' },
    ]);
    expect(finish).toMatchObject({ stopReason: 'tool_use', usage: { input: 3, output: 4 } });
    expect(contractProblems(events)).toEqual([]);
  });
});
