import { describe, expect, it } from 'vitest';
import { contractProblems, joined, readBody, readJson, sse, utf8, type Reading } from '../../test-support/streams.ts';
import { openaiChat } from './protocol.ts';

const protocol = openaiChat();
const DONE = '[DONE]';
const read = (...events: readonly unknown[]): Promise<Reading> => readBody(protocol, sse(...events));

const chunk = (
  delta: object | null,
  rest: { finish?: string; usage?: object | null } & Record<string, unknown> = {},
): object => {
  const { finish = null, usage, ...fields } = rest;
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model: 'model-1',
    choices: delta === null ? [] : [{ index: 0, delta, finish_reason: finish }],
    ...(usage === undefined ? {} : { usage }),
    ...fields,
  };
};
const text = (content: string): object => chunk({ content });
const calls = (...parts: readonly object[]): object => chunk({ tool_calls: parts });
const finish = (reason: string): object => chunk({}, { finish: reason });
const callsOf = (reading: Reading): unknown[] =>
  reading.blocks.flatMap((block) =>
    block.type === 'tool_call' ? [[block.providerCallId, block.name, block.argumentsText]] : [],
  );

const RICH = [
  chunk({ role: 'assistant', content: '', reasoning_content: null }),
  chunk({ reasoning_content: 'Hmm, ' }),
  chunk({ reasoning_content: 'größer 🦊' }),
  text('Hello'),
  text(', “wörld”'),
  text('\n\\ "quoted" 🦊'),
  calls({ index: 0, id: 'call_a', type: 'function', function: { name: 'search', arguments: '' } }),
  calls({ index: 0, function: { arguments: '{"query":' } }),
  calls({ index: 0, function: { arguments: ' "a\\"b' } }),
  calls({ index: 0, function: { arguments: ' 🦊"}' } }),
  finish('tool_calls'),
  chunk(null, { usage: { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } } }),
  DONE,
];

describe('a message', () => {
  it('keeps every piece of events that differ in their piece and their padding only', async () => {
    const pieces = Array.from({ length: 40 }, (_, at) => `piece ${at} "é"`);
    const padded = (delta: object, at: number): object => chunk(delta, { obfuscation: 'x'.repeat(at % 7) });
    const reading = await read(
      ...pieces.map((content, at) => padded({ content }, at)),
      ...pieces.map((reasoning_content, at) => padded({ reasoning_content }, at)),
      finish('stop'),
      DONE,
    );
    expect(reading.blocks).toEqual([
      { type: 'text', text: pieces.join('') },
      { type: 'thinking', text: pieces.join('') },
    ]);
  });

  it('is read block by block', async () => {
    const reading = await read(...RICH);
    expect(reading.events[0]).toEqual({ type: 'start', model: 'model-1', responseId: 'chatcmpl-1' });
    expect(reading.blocks).toEqual([
      { type: 'thinking', text: 'Hmm, größer 🦊' },
      { type: 'text', text: 'Hello, “wörld”\n\\ "quoted" 🦊' },
      { type: 'tool_call', providerCallId: 'call_a', name: 'search', argumentsText: '{"query": "a\\"b 🦊"}' },
    ]);
    expect(reading.finish).toEqual({
      type: 'finish',
      stopReason: 'tool_use',
      rawStopReason: 'tool_calls',
      usage: { input: 6, output: 5, cacheRead: 4, cacheWrite: null, reasoning: null },
      rawUsage: { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } },
    });
    expect(contractProblems(reading.events)).toEqual([]);
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

  it('announces a call as soon as its name is known', async () => {
    const { events } = await read(...RICH);
    const types = events.map((event) => event.type);
    expect(types.slice(types.indexOf('tool_call_start'))).toEqual([
      'tool_call_start',
      'tool_arguments_delta',
      'tool_arguments_delta',
      'tool_arguments_delta',
      'block_end',
      'finish',
    ]);
  });

  it('has one text block for text that nothing interrupts', async () => {
    const { blocks } = await read(text('a'), chunk({}), text(''), text('b'), finish('stop'), DONE);
    expect(blocks).toEqual([{ type: 'text', text: 'ab' }]);
  });
});

describe('reasoning', () => {
  it.each(['reasoning_content', 'reasoning'])('is read from `%s`', async (field) => {
    const { thinking, text: said } = await read(chunk({ [field]: 'why' }), text('that'), finish('stop'), DONE);
    expect([thinking, said]).toEqual(['why', 'that']);
  });

  it('is taken once when a server sends it under both names', async () => {
    const both = chunk({ reasoning: 'why', reasoning_content: 'why' });
    expect((await read(both, finish('stop'), DONE)).thinking).toBe('why');
  });

  it('comes before the text of the same delta', async () => {
    const { blocks } = await read(chunk({ content: 'that', reasoning_content: 'why' }), finish('stop'), DONE);
    expect(blocks.map((block) => block.type)).toEqual(['thinking', 'text']);
  });

  it('is read from the parts of a content list', async () => {
    const { blocks } = await read(
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'wh' }] }] }),
      chunk({
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'y' }] },
          { type: 'reference', ids: [1] },
        ],
      }),
      chunk({ content: [{ type: 'text', text: 'th' }] }),
      chunk({ content: 'at' }),
      finish('stop'),
      DONE,
    );
    expect(blocks).toEqual([
      { type: 'thinking', text: 'why' },
      { type: 'text', text: 'that' },
    ]);
  });

  it('keeps `reasoning_details` for the way back, put together', async () => {
    const detail = (fields: object): object => chunk({ reasoning: 'x', reasoning_details: [{ index: 0, ...fields }] });
    const { blocks } = await read(
      detail({ type: 'reasoning.text', text: 'wh' }),
      detail({ type: 'reasoning.text', text: 'y' }),
      detail({ type: 'reasoning.text', signature: 'c2ln' }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', index: 1, id: 'e', data: 'AAA=' }] }),
      text('that'),
      finish('stop'),
      DONE,
    );
    expect(blocks[0]).toEqual({
      type: 'thinking',
      text: 'xxx',
      opaque: {
        reasoning_details: [
          { type: 'reasoning.text', index: 0, text: 'why', signature: 'c2ln' },
          { type: 'reasoning.encrypted', index: 1, id: 'e', data: 'AAA=' },
        ],
      },
    });
  });

  it('is readable when it comes in `reasoning_details` only', async () => {
    const { thinking } = await read(
      chunk({ reasoning_details: [{ type: 'reasoning.summary', summary: 'why' }] }),
      finish('stop'),
      DONE,
    );
    expect(thinking).toBe('why');
  });
});

describe('tool calls', () => {
  const part = (fields: object, args?: string, name?: string): object => ({
    ...fields,
    function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
  });

  it.each<[string, object[], unknown[]]>([
    [
      'counted from 0 and interleaved',
      [
        calls(part({ index: 0, id: 'a' }, '', 'f'), part({ index: 1, id: 'b' }, '', 'g')),
        calls(part({ index: 1 }, '{"n":')),
        calls(part({ index: 0 }, '{"m":')),
        calls(part({ index: 1 }, '2}'), part({ index: 0 }, '1}')),
      ],
      [
        ['a', 'f', '{"m":1}'],
        ['b', 'g', '{"n":2}'],
      ],
    ],
    [
      'counted from 1, without a phantom',
      [calls(part({ index: 1, id: 'a' }, '', 'f')), calls(part({ index: 1 }, '{}'))],
      [['a', 'f', '{}']],
    ],
    [
      'with index 0 for every call, told apart by id',
      [
        calls(part({ index: 0, id: 'a' }, '{"m":1}', 'f')),
        calls(part({ index: 0, id: 'b' }, '{"n":', 'f')),
        calls(part({ index: 0 }, '2}')),
      ],
      [
        ['a', 'f', '{"m":1}'],
        ['b', 'f', '{"n":2}'],
      ],
    ],
    [
      'without an index, the id in the first part only',
      [calls(part({ id: 'a' }, '{"m":', 'f')), calls(part({}, '1}')), calls(part({ id: 'b' }, '{}', 'g'))],
      [
        ['a', 'f', '{"m":1}'],
        ['b', 'g', '{}'],
      ],
    ],
    [
      'without an index, the id in every part',
      [
        calls(part({ id: 'a' }, '{"m":', 'f')),
        calls(part({ id: 'b' }, '{"n":', 'g')),
        calls(part({ id: 'a' }, '1}'), part({ id: 'b' }, '2}')),
      ],
      [
        ['a', 'f', '{"m":1}'],
        ['b', 'g', '{"n":2}'],
      ],
    ],
    [
      'with id and name repeated in every part',
      [
        calls(part({ index: 0, id: 'a', type: 'function' }, '{"m":', 'f')),
        calls(part({ index: 0, id: 'a', type: 'function' }, '1', 'f')),
        calls(part({ index: 0, id: 'a', type: 'function' }, '}', 'f')),
      ],
      [['a', 'f', '{"m":1}']],
    ],
    [
      'with an empty name and a null id in later parts',
      [calls(part({ index: 0, id: 'a' }, '', 'f')), calls(part({ index: 0, id: null }, '{}', ''))],
      [['a', 'f', '{}']],
    ],
    [
      'with the name after the id and the first arguments',
      [
        calls({ index: 0, id: 'a' }),
        calls(part({ index: 0 }, '{"m"')),
        calls(part({ index: 0 }, ':1', 'f')),
        calls(part({ index: 0 }, '}')),
      ],
      [['a', 'f', '{"m":1}']],
    ],
    [
      'without any id, two complete ones after each other',
      [calls(part({ index: 0 }, '{"m":1}', 'f')), calls(part({ index: 0 }, '{"m":2}', 'f'))],
      [
        ['', 'f', '{"m":1}'],
        ['', 'f', '{"m":2}'],
      ],
    ],
    [
      'with the same id twice at different indexes',
      [calls(part({ index: 0, id: 'a' }, '{"m":1}', 'f'), part({ index: 1, id: 'a' }, '{"m":2}', 'f'))],
      [
        ['a', 'f', '{"m":1}'],
        ['a', 'f', '{"m":2}'],
      ],
    ],
    [
      'with arguments that are an object',
      [calls({ index: 0, id: 'a', function: { name: 'f', arguments: { m: 1 } } })],
      [['a', 'f', '{"m":1}']],
    ],
    ['without arguments', [calls(part({ index: 0, id: 'a' }, undefined, 'f'))], [['a', 'f', '']]],
    ['that are empty parts', [calls({ index: 0, function: {} }), calls({}), calls()], []],
    ['that never get a name', [calls(part({ index: 0, id: 'a' }, '{}'))], [['a', '', '{}']]],
  ])('are told apart %s', async (_, events, expected) => {
    const reading = await read(...events, finish('tool_calls'), DONE);
    expect(callsOf(reading)).toEqual(expected);
    expect(contractProblems(reading.events)).toEqual([]);
    expect(reading.events.filter((event) => event.type === 'tool_call_start')).toHaveLength(expected.length);
    const streamed = reading.events.flatMap((event) => (event.type === 'tool_arguments_delta' ? [event.text] : []));
    const whole = callsOf(reading).map((call) => (call as string[])[2] ?? '');
    expect([...streamed.join('')].sort()).toEqual([...whole.join('')].sort());
  });

  it('keep the fields that must go back', async () => {
    const { blocks } = await read(
      calls({ ...part({ index: 0, id: 'a' }, '{}', 'f'), extra_content: { google: { thought_signature: 'c2ln' } } }),
      finish('tool_calls'),
      DONE,
    );
    expect(blocks).toMatchObject([{ opaque: { extra_content: { google: { thought_signature: 'c2ln' } } } }]);
  });

  it('may come in the older form, `function_call`', async () => {
    const reading = await read(
      chunk({ function_call: { name: 'f', arguments: '{"m":' } }),
      chunk({ function_call: { arguments: '1}' } }),
      finish('function_call'),
      DONE,
    );
    expect(callsOf(reading)).toEqual([['', 'f', '{"m":1}']]);
    expect(reading.finish?.stopReason).toBe('tool_use');
  });

  it('cut by the output limit end with what there is', async () => {
    const reading = await read(calls(part({ index: 0, id: 'a' }, '{"m": "hal', 'f')), finish('length'), DONE);
    expect(callsOf(reading)).toEqual([['a', 'f', '{"m": "hal']]);
    expect(reading.finish?.stopReason).toBe('length');
  });
});

describe('the finish reason', () => {
  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['model_length', 'length'],
    ['tool_calls', 'tool_use'],
    ['content_filter', 'content_filter'],
    ['something_new', 'other'],
  ])('%s is %s', async (raw, stopReason) => {
    expect((await read(text('x'), finish(raw), DONE)).finish).toMatchObject({ stopReason, rawStopReason: raw });
  });

  it('is tool use when a server says `stop` after calls', async () => {
    const part = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } };
    expect((await read(calls(part), finish('stop'), DONE)).finish).toMatchObject({
      stopReason: 'tool_use',
      rawStopReason: 'stop',
    });
  });

  it('is a refusal when the text was one', async () => {
    const { text: said, finish: end } = await read(chunk({ refusal: 'I can’t.' }), finish('stop'), DONE);
    expect([said, end?.stopReason]).toEqual(['I can’t.', 'refusal']);
  });

  it('`error` is an error', async () => {
    const { error } = await read(text('x'), finish('error'), DONE);
    expect(error).toMatchObject({ kind: 'api', retryable: true });
  });

  it('that never came is no success', async () => {
    expect((await read(text('x'), DONE)).finish?.stopReason).toBe('other');
  });
});

describe('usage', () => {
  const usageOf = async (...events: readonly object[]): Promise<unknown> =>
    (await read(text('x'), ...events, finish('stop'), DONE)).finish?.usage;
  const counts = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const none = { cacheRead: null, cacheWrite: null, reasoning: null };

  it('comes in a chunk with empty choices', async () => {
    expect(await usageOf(chunk(null, { usage: counts }))).toEqual({ input: 10, output: 5, ...none });
  });

  it('comes in a chunk without choices, or with the choice', async () => {
    expect(await usageOf({ usage: counts })).toEqual({ input: 10, output: 5, ...none });
    expect(await usageOf(chunk({}, { usage: counts }))).toEqual({ input: 10, output: 5, ...none });
  });

  it('comes under `x_groq`', async () => {
    expect(await usageOf(chunk({}, { x_groq: { id: 'r', usage: counts } }))).toEqual({ input: 10, output: 5, ...none });
  });

  it('takes the last value of each field', async () => {
    expect(await usageOf(chunk({}, { usage: counts }), chunk({}, { usage: { completion_tokens: 9 } }))).toEqual({
      input: 10,
      output: 9,
      ...none,
    });
  });

  it.each([
    [{ prompt_tokens_details: { cached_tokens: 4 } }, { input: 6, cacheRead: 4 }],
    [{ prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 5 } }, { input: 1, cacheRead: 4, cacheWrite: 5 }],
    [{ prompt_cache_hit_tokens: 4 }, { input: 6, cacheRead: 4 }],
    [{ cached_tokens: 4 }, { input: 6, cacheRead: 4 }],
    [{ completion_tokens_details: { reasoning_tokens: 3 } }, { output: 5, reasoning: 3 }],
    [{ reasoning_tokens: 3 }, { output: 5, reasoning: 3 }],
    [
      { completion_tokens_details: { reasoning_tokens: 3 }, total_tokens: 18 },
      { output: 8, reasoning: 3 },
    ],
  ])('%j means %j', async (fields, expected) => {
    expect(await usageOf(chunk(null, { usage: { ...counts, ...fields } }))).toMatchObject(expected);
  });

  it('is unknown when nobody told, or told null', async () => {
    const unknown = { input: null, output: null, ...none };
    expect(await usageOf()).toEqual(unknown);
    expect(await usageOf(chunk({}, { usage: null }))).toEqual(unknown);
  });
});

describe('what servers add', () => {
  it('a first chunk without choices, id or model does not start the message', async () => {
    const { events } = await read(
      { id: '', model: '', choices: [], prompt_filter_results: [{}] },
      chunk({ role: 'assistant', content: 'x' }),
      finish('stop'),
      DONE,
    );
    expect(events[0]).toEqual({ type: 'start', model: 'model-1', responseId: 'chatcmpl-1' });
  });

  it('sources stay with the text', async () => {
    const { blocks } = await read(
      text('x'),
      chunk({}, { citations: ['https://a', 'https://b'] }),
      finish('stop'),
      DONE,
    );
    expect(blocks).toEqual([{ type: 'text', text: 'x', citations: ['https://a', 'https://b'] }]);
    const note = { type: 'url_citation', url_citation: { url: 'https://a' } };
    expect((await read(text('x'), chunk({ annotations: [note] }), finish('stop'), DONE)).blocks).toEqual([
      { type: 'text', text: 'x', citations: [note] },
    ]);
  });

  it('chunks, choices and parts of other kinds are skipped', async () => {
    const { text: said, finish: end } = await read(
      'null',
      '7',
      {},
      { choices: null },
      { choices: [null] },
      { choices: [{ index: 0 }] },
      { choices: [{ index: 1, delta: { content: 'another answer' } }] },
      chunk({ content: { odd: true }, audio: {}, tool_calls: [null, 'x'] }),
      text('x'),
      finish('stop'),
      DONE,
    );
    expect(said).toBe('x');
    expect(end?.stopReason).toBe('stop');
  });

  it('nothing after the end is read', async () => {
    const { text: said } = await read(text('x'), finish('stop'), DONE, text('y'), DONE);
    expect(said).toBe('x');
  });
});

describe('an error inside the stream', () => {
  it.each<[string, object, object]>([
    [
      'an error object',
      { error: { message: 'No.', type: 'server_error', code: null } },
      { kind: 'api', code: 'server_error', retryable: true },
    ],
    [
      'an error with a status',
      { error: { message: 'No.', code: 429 } },
      { kind: 'rate_limited', status: 429, retryable: true },
    ],
    [
      'an error beside choices',
      { ...chunk({ content: '' }), error: { message: 'No.', code: 502 } },
      { kind: 'api', status: 502, retryable: true },
    ],
    ['an error text', { error: 'No.' }, { kind: 'api', message: 'No.' }],
    ['an error under x_groq', { ...chunk({}), x_groq: { error: 'No.' } }, { message: 'No.' }],
    [
      'an error as an object of its own',
      { object: 'error', message: 'No.', type: 'invalid_request_error' },
      { kind: 'api', status: 400, retryable: false },
    ],
    [
      'a quota that is used up',
      { error: { message: 'No.', code: 'insufficient_quota' } },
      { kind: 'rate_limited', retryable: false },
    ],
    [
      'a call the server could not read',
      { error: { message: 'No.', code: 'tool_use_failed', status_code: 400 } },
      { kind: 'api', status: 400, retryable: false },
    ],
    [
      'an overflow',
      { error: { message: 'This model’s maximum context length is 8', code: 'context_length_exceeded' } },
      { kind: 'context_overflow', retryable: false },
    ],
  ])('is %s', async (_, event, expected) => {
    const { error, text: partial, blocks, events } = await read(text('partial'), event, finish('stop'), DONE);
    expect(error).toMatchObject(expected);
    expect([partial, blocks]).toEqual(['partial', []]);
    expect(contractProblems(events)).toEqual([]);
  });

  it('may have its own event name', async () => {
    const { error } = await readBody(protocol, `${sse(text('x'))}event: error\ndata: {"message":"No."}\n\n`);
    expect(error).toMatchObject({ message: 'No.' });
  });

  it('`null` is none', async () => {
    const { finish: end } = await read({ ...text('x'), error: null }, finish('stop'), DONE);
    expect(end?.stopReason).toBe('stop');
  });

  it('is told when an event is not JSON', async () => {
    const { error } = await readBody(protocol, `${sse(text('x'))}data: <html>\n\n`);
    expect(error).toMatchObject({ kind: 'network', retryable: true });
  });
});

describe('a connection that ends early', () => {
  it('at any byte before the finish reason is an error, never a success', async () => {
    const bytes = utf8(sse(...RICH));
    const ended = sse(...RICH).search(/"finish_reason":"/);
    const complete = utf8(sse(...RICH).slice(0, sse(...RICH).indexOf('\n', ended))).length;
    for (let length = 0; length < complete; length++) {
      const { error, finish: end, events } = await readBody(protocol, bytes.slice(0, length));
      expect(end).toBeUndefined();
      expect(error).toMatchObject({ kind: 'network', retryable: true });
      expect(contractProblems(events)).toEqual([]);
    }
    expect((await readBody(protocol, bytes.slice(0, complete))).finish).toBeDefined();
  });

  it('is an end without `[DONE]` where the finish reason came', async () => {
    expect((await readBody(protocol, sse(text('x'), finish('stop')))).finish?.stopReason).toBe('stop');
    expect((await readBody(protocol, sse(text('x')))).error?.kind).toBe('network');
  });
});

describe('a response that was not streamed', () => {
  it('is read as the same message', async () => {
    const {
      blocks,
      finish: end,
      events,
    } = await readJson(protocol, {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'model-1',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            reasoning_content: 'why',
            content: 'that',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"m":1}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 4 },
    });
    expect(blocks).toEqual([
      { type: 'thinking', text: 'why' },
      { type: 'text', text: 'that' },
      { type: 'tool_call', providerCallId: 'a', name: 'f', argumentsText: '{"m":1}' },
    ]);
    expect(end).toMatchObject({ stopReason: 'tool_use', usage: { input: 3, output: 4 } });
    expect(contractProblems(events)).toEqual([]);
  });
});
