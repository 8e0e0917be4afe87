import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  contractProblems,
  cut,
  answering,
  joined,
  readBody,
  readModel,
  sse,
  utf8,
} from '../../test-support/streams.ts';
import type { Reading } from '../../test-support/streams.ts';
import { readOpenAIResponsesUsage } from './decode.ts';
import { openaiResponses } from './protocol.ts';

const protocol = openaiResponses();
const read = (...events: readonly unknown[]): Promise<Reading> => readBody(protocol, sse(...events));

const created = (fields: object = {}): object => ({
  type: 'response.created',
  response: { id: 'resp_1', object: 'response', status: 'in_progress', model: 'model-1', output: [], ...fields },
});
const USAGE = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const completed = (fields: object = {}): object => ({
  type: 'response.completed',
  response: { id: 'resp_1', object: 'response', status: 'completed', output: [], usage: USAGE, ...fields },
});
const incomplete = (reason: string | undefined, fields: object = {}): object => ({
  type: 'response.incomplete',
  response: { status: 'incomplete', ...(reason === undefined ? {} : { incomplete_details: { reason } }), ...fields },
});
const added = (output_index: number, item: object): object => ({
  type: 'response.output_item.added',
  output_index,
  item,
});
const done = (output_index: number, item: object): object => ({
  type: 'response.output_item.done',
  output_index,
  item,
});

const message = (id: string, fields: object = {}): object => ({ id, type: 'message', role: 'assistant', ...fields });
const outputText = (text: string, annotations: readonly object[] = []): object => ({
  type: 'output_text',
  text,
  annotations,
  logprobs: [],
});
const textDelta = (item_id: string, output_index: number, delta: string, content_index = 0): object => ({
  type: 'response.output_text.delta',
  item_id,
  output_index,
  content_index,
  delta,
  logprobs: [],
  sequence_number: 7,
});
const say = (output_index: number, id: string, ...pieces: readonly string[]): object[] => [
  added(output_index, message(id, { status: 'in_progress', content: [] })),
  ...pieces.map((piece) => textDelta(id, output_index, piece)),
  done(output_index, message(id, { status: 'completed', content: [outputText(pieces.join(''))] })),
];

const call = (id: string, fields: object = {}): object => ({
  id,
  type: 'function_call',
  status: 'in_progress',
  call_id: `call_${id}`,
  name: 'search',
  arguments: '',
  ...fields,
});
const argumentsDelta = (item_id: string, output_index: number, delta: string): object => ({
  type: 'response.function_call_arguments.delta',
  item_id,
  output_index,
  delta,
});
const argumentsDone = (item_id: string, output_index: number, args: string): object => ({
  type: 'response.function_call_arguments.done',
  item_id,
  output_index,
  arguments: args,
});
const summaryDelta = (item_id: string, output_index: number, summary_index: number, delta: string): object => ({
  type: 'response.reasoning_summary_text.delta',
  item_id,
  output_index,
  summary_index,
  delta,
});
const summary = (...texts: readonly string[]): object[] => texts.map((text) => ({ type: 'summary_text', text }));

const textBlock = (text: string, item: object = {}): object => ({
  type: 'text',
  text,
  opaque: { item: expect.objectContaining({ type: 'message', ...item }) },
});

const RICH = [
  created(),
  { type: 'response.in_progress', response: { id: 'resp_1' } },
  added(0, { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'draft' }),
  {
    type: 'response.reasoning_summary_part.added',
    item_id: 'rs_1',
    output_index: 0,
    summary_index: 0,
    part: { type: 'summary_text', text: '' },
  },
  summaryDelta('rs_1', 0, 0, '**Größer** '),
  summaryDelta('rs_1', 0, 0, '🦊'),
  {
    type: 'response.reasoning_summary_text.done',
    item_id: 'rs_1',
    output_index: 0,
    summary_index: 0,
    text: '**Größer** 🦊',
  },
  {
    type: 'response.reasoning_summary_part.done',
    item_id: 'rs_1',
    output_index: 0,
    summary_index: 0,
    part: { type: 'summary_text', text: '**Größer** 🦊' },
  },
  summaryDelta('rs_1', 0, 1, 'Then'),
  done(0, { id: 'rs_1', type: 'reasoning', summary: summary('**Größer** 🦊', 'Then'), encrypted_content: 'gAAAA+/=' }),
  added(1, message('msg_1', { status: 'in_progress', content: [], phase: 'commentary' })),
  { type: 'response.content_part.added', item_id: 'msg_1', output_index: 1, content_index: 0, part: outputText('') },
  textDelta('msg_1', 1, 'Hello, “wörld”\n\\ "quoted" '),
  textDelta('msg_1', 1, '🦊'),
  {
    type: 'response.output_text.done',
    item_id: 'msg_1',
    output_index: 1,
    content_index: 0,
    text: 'Hello, “wörld”\n\\ "quoted" 🦊',
  },
  {
    type: 'response.content_part.done',
    item_id: 'msg_1',
    output_index: 1,
    content_index: 0,
    part: outputText('Hello, “wörld”\n\\ "quoted" 🦊'),
  },
  done(
    1,
    message('msg_1', {
      status: 'completed',
      phase: 'commentary',
      content: [outputText('Hello, “wörld”\n\\ "quoted" 🦊')],
    }),
  ),
  added(2, call('fc_1')),
  argumentsDelta('fc_1', 2, '{"query":'),
  argumentsDelta('fc_1', 2, ' "a\\"b 🦊"}'),
  argumentsDone('fc_1', 2, '{"query": "a\\"b 🦊"}'),
  done(2, call('fc_1', { status: 'completed', arguments: '{"query": "a\\"b 🦊"}' })),
  completed({
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
      output_tokens: 42,
      output_tokens_details: { reasoning_tokens: 30 },
      total_tokens: 142,
    },
  }),
];

describe('a response', () => {
  it('is read item by item', async () => {
    const { events, blocks, finish } = await read(...RICH);
    expect(events[0]).toEqual({ type: 'start', model: 'model-1', responseId: 'resp_1' });
    expect(blocks).toEqual([
      {
        type: 'thinking',
        text: '**Größer** 🦊',
        opaque: { item: { id: 'rs_1', type: 'reasoning' }, part: 'summary_text' },
      },
      {
        type: 'thinking',
        text: 'Then',
        signature: 'gAAAA+/=',
        opaque: { item: { id: 'rs_1', type: 'reasoning' }, part: 'summary_text' },
      },
      {
        type: 'text',
        text: 'Hello, “wörld”\n\\ "quoted" 🦊',
        opaque: { item: { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', phase: 'commentary' } },
      },
      {
        type: 'tool_call',
        providerCallId: 'call_fc_1',
        name: 'search',
        argumentsText: '{"query": "a\\"b 🦊"}',
        opaque: { item: { id: 'fc_1', type: 'function_call', status: 'completed' } },
      },
    ]);
    expect(finish).toMatchObject({
      stopReason: 'tool_use',
      rawStopReason: 'completed',
      usage: { input: 30, output: 42, cacheRead: 60, cacheWrite: 10, reasoning: 30 },
      rawUsage: { total_tokens: 142 },
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

  it('may name its events, and end its lines in any way', async () => {
    const framed = RICH.map(
      (event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`,
    );
    const expected = (await read(...RICH)).events;
    for (const end of ['\n', '\r', '\r\n']) {
      const { events } = await readBody(protocol, framed.join('').replaceAll('\n', end), [5]);
      expect(joined(events)).toEqual(joined(expected));
    }
  });

  it('may come whole, as one JSON object', async () => {
    const items = RICH.filter((event) => (event as { type: string }).type === 'response.output_item.done');
    const output = items.map((event) => (event as { item: object }).item);
    const body = JSON.stringify({
      object: 'response',
      id: 'resp_1',
      model: 'model-1',
      status: 'completed',
      output,
      usage: USAGE,
      error: null,
    });
    const http = answering(cut(utf8(body), [7]), { 'content-type': 'application/json' });
    const { blocks, finish, events } = await readModel({ protocol, http });
    expect(blocks).toEqual((await read(...RICH)).blocks);
    expect(finish).toMatchObject({ stopReason: 'tool_use', usage: { input: 10 } });
    expect(contractProblems(events)).toEqual([]);
  });

  it('that isn’t one is not taken for one', async () => {
    const http = answering([utf8('{"object":"list","output":[]}')], { 'content-type': 'application/json' });
    expect((await readModel({ protocol, http })).error?.message).toMatch(/not a response of openai-responses/);
  });

  it('that begins again makes what came before void', async () => {
    const { blocks, events } = await read(
      created(),
      ...say(0, 'msg_1', 'first'),
      created({ id: 'resp_2' }),
      ...say(0, 'msg_2', 'second'),
      completed(),
    );
    expect(blocks).toEqual([textBlock('second', { id: 'msg_2' })]);
    expect(events.filter(({ type }) => type === 'start')).toHaveLength(2);
  });

  it('that says twice that it begins begins once', async () => {
    const { events } = await read(created(), created(), ...say(0, 'm', 'x'), completed());
    expect(events.filter(({ type }) => type === 'start')).toHaveLength(1);
  });

  it('without an introduction has begun all the same', async () => {
    const { events, text, finish } = await read(
      textDelta('m', 0, 'x'),
      completed({ output: [message('m', { content: [outputText('x')] })] }),
    );
    expect(contractProblems(events)).toEqual([]);
    expect([events[0]?.type, text, finish?.stopReason]).toEqual(['start', 'x', 'stop']);
  });
});

describe('text', () => {
  it('of several parts is a block each, in the order of the message', async () => {
    const { blocks, text } = await read(
      created(),
      added(0, message('m', { content: [] })),
      textDelta('m', 0, 'one ', 0),
      textDelta('m', 0, 'two', 1),
      textDelta('m', 0, 'one again', 0),
      done(0, message('m', { content: [outputText('one one again'), outputText('two')] })),
      completed(),
    );
    expect(blocks).toEqual([textBlock('one one again'), textBlock('two')]);
    expect(text).toBe('one twoone again');
  });

  it('that only its end says is shown once', async () => {
    const whole = { item_id: 'm', output_index: 0, content_index: 0 };
    for (const end of [
      { type: 'response.output_text.done', ...whole, text: 'Hi' },
      { type: 'response.content_part.done', ...whole, part: outputText('Hi') },
      done(0, message('m', { content: [outputText('Hi')] })),
    ]) {
      const { text, blocks } = await read(created(), added(0, message('m')), end, end, completed());
      expect(text).toBe('Hi');
      expect(blocks).toEqual([textBlock('Hi')]);
    }
  });

  it('that was shown is not taken back by what its end says', async () => {
    const { text, blocks } = await read(
      created(),
      added(0, message('m')),
      textDelta('m', 0, 'Got it'),
      done(0, message('m', { content: [outputText('Got it, and more')] })),
      completed(),
    );
    expect(text).toBe('Got it');
    expect(blocks).toEqual([textBlock('Got it')]);
  });

  it('keeps its sources, those at its end before those on the way', async () => {
    const source = (url: string): object => ({ type: 'url_citation', url, start_index: 0, end_index: 1 });
    const cite = (annotation: object): object => ({
      type: 'response.output_text.annotation.added',
      item_id: 'm',
      output_index: 0,
      content_index: 0,
      annotation_index: 0,
      annotation,
    });
    const streamed = [created(), added(0, message('m')), textDelta('m', 0, 'x'), cite(source('a')), cite(source('b'))];
    const onlyStreamed = await read(...streamed, done(0, message('m', { content: [outputText('x')] })), completed());
    expect(onlyStreamed.blocks).toMatchObject([{ citations: [source('a'), source('b')] }]);
    const atEnd = await read(
      ...streamed,
      done(0, message('m', { content: [outputText('x', [source('c')])] })),
      completed(),
    );
    expect(atEnd.blocks).toMatchObject([{ citations: [source('c')] }]);
  });

  it('never has half a character, even when it comes in two pieces', async () => {
    const { events, blocks } = await read(created(), ...say(0, 'm', 'a\ud83e', '\udd8a', 'b\ud83e'), completed());
    expect(blocks).toEqual([textBlock('a🦊b\uFFFD')]);
    for (const event of events) if (event.type === 'text_delta') expect(event.text).not.toMatch(/\p{Surrogate}/u);
  });

  it('of a refusal is text, and no success', async () => {
    const refusal = (type: string, fields: object): object => ({
      type,
      item_id: 'm',
      output_index: 0,
      content_index: 0,
      ...fields,
    });
    const { blocks, finish } = await read(
      created(),
      added(0, message('m')),
      refusal('response.refusal.delta', { delta: 'I ' }),
      refusal('response.refusal.delta', { delta: 'can’t.' }),
      refusal('response.refusal.done', { refusal: 'I can’t.' }),
      done(0, message('m', { content: [{ type: 'refusal', refusal: 'I can’t.' }] })),
      completed(),
    );
    expect(blocks).toMatchObject([{ type: 'text', text: 'I can’t.', opaque: { part: 'refusal' } }]);
    expect(finish).toMatchObject({ stopReason: 'refusal', rawStopReason: 'completed' });
  });
});

describe('reasoning', () => {
  const reasoning = (fields: object = {}): object => ({ id: 'rs_1', type: 'reasoning', summary: [], ...fields });

  it('is the summary or the text itself, by any of their names', async () => {
    for (const [type, position] of [
      ['response.reasoning_summary_text', 'summary_index'],
      ['response.reasoning_text', 'content_index'],
      ['response.reasoning', 'content_index'],
      ['response.reasoning_summary', 'summary_index'],
    ] as const) {
      const at = { item_id: 'rs_1', output_index: 0, [position]: 0 };
      const { thinking, blocks } = await read(
        created(),
        added(0, reasoning()),
        { type: `${type}.delta`, ...at, delta: 'Hm' },
        { type: `${type}.delta`, ...at, delta: { text: 'm.' } },
        { type: `${type}.done`, ...at, text: 'Hmm.' },
        done(0, reasoning()),
        completed(),
      );
      expect(thinking).toBe('Hmm.');
      expect(blocks).toMatchObject([{ type: 'thinking', text: 'Hmm.' }]);
    }
  });

  it('that only its item has is shown once', async () => {
    const item = reasoning({ summary: summary('One', 'Two'), content: [{ type: 'reasoning_text', text: 'Three' }] });
    const { thinking, blocks } = await read(created(), added(0, reasoning()), done(0, item), completed());
    expect(thinking).toBe('OneTwoThree');
    expect(blocks).toMatchObject([
      { opaque: { part: 'summary_text' } },
      { opaque: { part: 'summary_text' } },
      { opaque: { part: 'reasoning_text' } },
    ]);
  });

  it('that is only encrypted is redacted reasoning, byte for byte', async () => {
    const encrypted_content = 'gAAAAABo+/=\u00e9';
    const { blocks } = await read(
      created(),
      added(0, reasoning({ encrypted_content: 'draft' })),
      done(0, reasoning({ encrypted_content })),
      completed(),
    );
    expect(blocks).toEqual([
      { type: 'redacted_thinking', data: encrypted_content, opaque: { item: { id: 'rs_1', type: 'reasoning' } } },
    ]);
  });

  it('of which nothing is known is left out, unless the provider keeps it', async () => {
    const events = [created(), added(0, reasoning()), done(0, reasoning()), ...say(1, 'm', 'x'), completed()];
    expect((await read(...events)).blocks).toEqual([textBlock('x')]);
    const kept = await readBody(openaiResponses({ store: true }), sse(...events));
    expect(kept.blocks).toMatchObject([
      { type: 'thinking', text: '', opaque: { item: { id: 'rs_1' } } },
      { text: 'x' },
    ]);
  });
});

describe('a call', () => {
  const whole = (args: string, fields: object = {}): object =>
    call('fc_1', { status: 'completed', arguments: args, ...fields });
  const toolCall = (argumentsText: string): object => ({
    type: 'tool_call',
    providerCallId: 'call_fc_1',
    name: 'search',
    argumentsText,
    opaque: expect.anything(),
  });

  it('has the id of the call, which isn’t the id of its item', async () => {
    const { events } = await read(
      created(),
      added(0, call('fc_1')),
      argumentsDelta('fc_1', 0, '{}'),
      done(0, whole('{}')),
      completed(),
    );
    expect(events).toContainEqual({ type: 'tool_call_start', index: 0, providerCallId: 'call_fc_1', name: 'search' });
  });

  it.each<[string, object[]]>([
    [
      'with deltas',
      [
        added(0, call('fc_1')),
        argumentsDelta('fc_1', 0, '{"a"'),
        argumentsDelta('fc_1', 0, ':1}'),
        argumentsDone('fc_1', 0, '{"a":1}'),
        done(0, whole('{"a":1}')),
      ],
    ],
    [
      'with arguments at the end only',
      [added(0, call('fc_1')), argumentsDone('fc_1', 0, '{"a":1}'), done(0, whole('{"a":1}'))],
    ],
    ['with nothing before its end', [done(0, whole('{"a":1}'))]],
    [
      'with deltas before its beginning',
      [
        argumentsDelta('fc_1', 0, '{"a"'),
        argumentsDelta('fc_1', 0, ':1}'),
        added(0, call('fc_1')),
        done(0, whole('{"a":1}')),
      ],
    ],
    [
      'with deltas that name only the item',
      [
        { ...argumentsDelta('fc_1', 0, '{"a":1}'), output_index: undefined },
        added(0, call('fc_1')),
        done(0, whole('{"a":1}')),
      ],
    ],
    [
      'with deltas that stop early',
      [added(0, call('fc_1')), argumentsDelta('fc_1', 0, '{"a'), done(0, whole('{"a":1}'))],
    ],
    [
      'with deltas that went wrong',
      [
        added(0, call('fc_1')),
        argumentsDelta('fc_1', 0, '{"b":2'),
        argumentsDelta('fc_1', 0, '{"b":2'),
        done(0, whole('{"a":1}')),
      ],
    ],
    [
      'with a stand-in at its beginning',
      [added(0, call('fc_1', { arguments: '{}' })), argumentsDelta('fc_1', 0, '{"a":1}'), done(0, whole('{"a":1}'))],
    ],
    ['with an object for its arguments', [added(0, call('fc_1')), done(0, { ...whole(''), arguments: { a: 1 } })]],
  ])('%s has the arguments of its end', async (_name, events) => {
    const { blocks, finish, events: all } = await read(created(), ...events, completed());
    expect(blocks).toEqual([toolCall('{"a":1}')]);
    expect(finish?.stopReason).toBe('tool_use');
    expect(contractProblems(all)).toEqual([]);
  });

  it('without arguments has none', async () => {
    const { blocks } = await read(created(), added(0, call('fc_1')), done(0, whole('')), completed());
    expect(blocks).toEqual([toolCall('')]);
  });

  it('whose end only the response says is whole', async () => {
    const { blocks } = await read(
      created(),
      added(0, call('fc_1')),
      argumentsDelta('fc_1', 0, '{"a'),
      completed({ output: [whole('{"a":1}')] }),
    );
    expect(blocks).toEqual([toolCall('{"a":1}')]);
  });

  it('whose end nobody says is no call', async () => {
    const { blocks, finish } = await read(
      created(),
      added(0, call('fc_1')),
      argumentsDelta('fc_1', 0, '{"a":1}'),
      completed(),
    );
    expect(blocks).toEqual([]);
    expect(finish?.stopReason).toBe('stop');
  });

  it('that a length stop cut off ends as far as it came, so that it can be answered', async () => {
    const cutOff = [added(0, call('fc_1')), argumentsDelta('fc_1', 0, '{"a": "b')];
    const stop = incomplete('max_output_tokens');
    for (const events of [
      [...cutOff, stop],
      [...cutOff, done(0, whole('{"a": "b', { status: 'incomplete' })), stop],
    ]) {
      const { blocks, finish } = await read(created(), ...events);
      expect(blocks).toEqual([toolCall('{"a": "b')]);
      expect(finish).toMatchObject({ stopReason: 'length', rawStopReason: 'max_output_tokens' });
    }
  });

  it.each(['', '{"a":1}'])('that was cut off and looks whole (%j) is no call', async (args) => {
    const cutOff = [added(0, call('fc_1')), ...(args === '' ? [] : [argumentsDelta('fc_1', 0, args)])];
    const stop = incomplete('max_output_tokens');
    for (const events of [
      [...cutOff, stop],
      [...cutOff, done(0, whole(args, { status: 'incomplete' })), stop],
    ]) {
      expect((await read(created(), ...events)).blocks).toEqual([]);
    }
  });

  it('that the response lists as unfinished is no call when it looks whole', async () => {
    const output = [call('fc_1', { arguments: '{}' })];
    const { blocks } = await read(created(), added(0, call('fc_1')), incomplete('something_new', { output }));
    expect(blocks).toEqual([]);
  });

  it('keeps what else its item says', async () => {
    const caller = { type: 'program', caller_id: 'call_p' };
    const { blocks } = await read(created(), done(0, whole('{}', { caller, namespace: 'n' })), completed());
    expect(blocks).toMatchObject([{ opaque: { item: { id: 'fc_1', caller, namespace: 'n' } } }]);
  });

  it('of several at once is told from the others', async () => {
    const { blocks } = await read(
      created(),
      added(0, call('fc_1')),
      added(1, call('fc_2')),
      argumentsDelta('fc_2', 1, '{"b"'),
      argumentsDelta('fc_1', 0, '{"a"'),
      argumentsDelta('fc_2', 1, ':2}'),
      argumentsDelta('fc_1', 0, ':1}'),
      done(1, call('fc_2', { arguments: '{"b":2}' })),
      done(0, whole('{"a":1}')),
      completed(),
    );
    expect(blocks).toMatchObject([
      { providerCallId: 'call_fc_1', argumentsText: '{"a":1}' },
      { providerCallId: 'call_fc_2', argumentsText: '{"b":2}' },
    ]);
  });

  it('of a strict tool has no nulls for what the model left out', async () => {
    const parameters = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: ['string', 'null'] } },
      required: ['a'],
    };
    const request = { system: '', messages: [], tools: [{ name: 'search', description: '', inputSchema: parameters }] };
    const blocks: unknown[] = [];
    const decoder = openaiResponses({ strictTools: true }).createDecoder(
      {
        event: (event) => void (event.type === 'block_end' && blocks.push(event.block)),
        error: () => undefined,
        malformed: () => undefined,
        unknown: () => undefined,
      },
      request,
    );
    for (const event of [created(), done(0, whole('{"a":"x","b":null,"c":null}')), completed()]) {
      decoder.frame('', JSON.stringify(event), true);
    }
    expect(blocks).toMatchObject([{ argumentsText: '{"a":"x","c":null}' }]);
  });
});

describe('a call of a custom tool', () => {
  const custom = (fields: object = {}): object => ({
    type: 'custom_tool_call',
    id: 'ctc_1',
    call_id: 'call_1',
    name: 'sql',
    input: '',
    ...fields,
  });
  const inputDelta = (delta: string): object => ({
    type: 'response.custom_tool_call_input.delta',
    item_id: 'ctc_1',
    output_index: 0,
    delta,
  });

  it('has its text as the argument `input`, streamed as JSON', async () => {
    const text = 'SELECT "a\\b"\n🦊';
    const { events, blocks, finish } = await read(
      created(),
      added(0, custom()),
      inputDelta('SELECT "a'),
      inputDelta('\\b"\n🦊'),
      { type: 'response.custom_tool_call_input.done', item_id: 'ctc_1', output_index: 0, input: text },
      done(0, custom({ input: text, status: 'completed' })),
      completed(),
    );
    expect(blocks).toEqual([
      {
        type: 'tool_call',
        providerCallId: 'call_1',
        name: 'sql',
        argumentsText: JSON.stringify({ input: text }),
        opaque: { item: { type: 'custom_tool_call', id: 'ctc_1', status: 'completed' } },
      },
    ]);
    const streamed = events.map((event) => (event.type === 'tool_arguments_delta' ? event.text : '')).join('');
    expect(JSON.parse(streamed)).toEqual({ input: text });
    expect(finish?.stopReason).toBe('tool_use');
  });

  it('without text has an empty one', async () => {
    const { blocks, events } = await read(created(), done(0, custom()), completed());
    expect(blocks).toMatchObject([{ argumentsText: '{"input":""}' }]);
    expect(contractProblems(events)).toEqual([]);
  });

  it('that was cut off is no call: any text looks whole', async () => {
    const cutOff = [created(), added(0, custom()), inputDelta('DROP TABLE')];
    expect((await read(...cutOff, incomplete('max_output_tokens'))).blocks).toEqual([]);
    const status = { input: 'DROP TABLE', status: 'incomplete' };
    expect((await read(...cutOff, done(0, custom(status)), incomplete('max_output_tokens'))).blocks).toEqual([]);
  });

  it('is the provider’s own where the provider runs custom tools', async () => {
    const own = openaiResponses({ providerRunsCustomTools: true });
    const { blocks, finish } = await readBody(
      own,
      sse(created(), added(0, custom()), inputDelta('x'), done(0, custom({ input: 'x' })), completed()),
    );
    expect(blocks).toEqual([
      { type: 'provider_tool_call', callId: 'call_1', name: 'sql', arguments: 'x', raw: custom({ input: 'x' }) },
    ]);
    expect(finish?.stopReason).toBe('stop');
  });
});

describe('an item of the provider', () => {
  it.each<[string, object, object]>([
    [
      'a search',
      { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'q' } },
      { type: 'provider_tool_call', callId: 'ws_1', name: 'web_search', arguments: { type: 'search', query: 'q' } },
    ],
    [
      'a search with an empty call id',
      { type: 'web_search_call', id: 'ws_1', call_id: '', name: 'x_search', arguments: '{"query":"q"}' },
      { callId: 'ws_1', name: 'x_search', arguments: { query: 'q' } },
    ],
    [
      'a search in files',
      { type: 'file_search_call', id: 'fs_1', queries: ['q'], results: null },
      { name: 'file_search', arguments: { queries: ['q'] } },
    ],
    [
      'code',
      { type: 'code_interpreter_call', id: 'ci_1', code: '1+1', container_id: 'c', outputs: null },
      { name: 'code_interpreter', arguments: { code: '1+1' } },
    ],
    [
      'a picture',
      { type: 'image_generation_call', id: 'ig_1', result: 'aa', revised_prompt: 'p' },
      { name: 'image_generation', arguments: { revised_prompt: 'p' } },
    ],
    [
      'a call of a remote tool',
      { type: 'mcp_call', id: 'mcp_1', name: 'shorten', server_label: 's', arguments: '{"u":1}', output: 'o' },
      { callId: 'mcp_1', name: 'shorten', arguments: { u: 1 } },
    ],
    [
      'a call whose arguments are no JSON',
      { type: 'mcp_call', id: 'mcp_1', name: 'shorten', arguments: '{"u"' },
      { arguments: '{"u"' },
    ],
    [
      'a program',
      { type: 'program', id: 'cm_1', call_id: 'call_p', code: 'x()' },
      { callId: 'call_p', name: 'program', arguments: { code: 'x()' } },
    ],
    [
      'what a program said',
      { type: 'program_output', id: 'cmo_1', call_id: 'call_p', result: 'r', status: 'completed' },
      { type: 'provider_tool_result', callId: 'call_p', name: 'program', isError: false },
    ],
    [
      'what a shell said',
      { type: 'shell_call_output', id: 'sho_1', call_id: 'call_s', output: [], status: 'failed' },
      { type: 'provider_tool_result', callId: 'call_s', name: 'shell', isError: true },
    ],
    [
      'a list of tools',
      { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [] },
      { type: 'provider_block', kind: 'mcp_list_tools' },
    ],
    [
      'a compaction',
      { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' },
      { type: 'provider_block', kind: 'compaction' },
    ],
    ['something new', { type: 'telepathy', id: 't_1' }, { type: 'provider_block', kind: 'telepathy' }],
  ])('such as %s is kept as it is, and is no call of ours', async (_name, item, expected) => {
    const { blocks, finish, events } = await read(
      created(),
      added(0, { ...item, status: 'in_progress' }),
      done(0, item),
      completed(),
    );
    expect(blocks).toEqual([expect.objectContaining({ ...expected, raw: item })]);
    expect(finish?.stopReason).toBe('stop');
    expect(events.map(({ type }) => type)).toEqual(['start', 'block_end', 'finish']);
  });

  it.each([
    { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
    { type: 'local_shell_call', call_id: 'c', action: { command: ['ls'] } },
    { type: 'apply_patch_call', call_id: 'c', operation: { type: 'delete_file', path: 'a' } },
    { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: {} },
    { type: 'mcp_approval_request', id: 'mcpr_1', name: 'n', arguments: '{}' },
    { type: 'computer_call', call_id: 'c', action: {} },
  ])('that waits for the client is no ordinary end: $type', async (item) => {
    expect((await read(created(), done(0, item), completed())).finish?.stopReason).toBe('other');
  });

  it('that runs in the provider’s container waits for nobody', async () => {
    const environment = { type: 'container_reference', container_id: 'cntr_1' };
    const item = { type: 'shell_call', call_id: 'c', action: {}, environment };
    expect((await read(created(), done(0, item), completed())).finish?.stopReason).toBe('stop');
  });

  it('stands where the message has it', async () => {
    const search = { type: 'web_search_call', id: 'ws_1', action: {} };
    const { blocks } = await read(created(), added(0, search), ...say(1, 'm', 'x'), done(0, search), completed());
    expect(blocks.map(({ type }) => type)).toEqual(['provider_tool_call', 'text']);
  });
});

describe('the names of items', () => {
  it('may be others in every event', async () => {
    const { blocks } = await read(
      created(),
      added(0, { id: 'a1', type: 'reasoning', summary: [] }),
      summaryDelta('a2', 0, 0, 'Hm'),
      summaryDelta('a3', 0, 0, 'm.'),
      done(0, { id: 'a4', type: 'reasoning', summary: summary('Hmm.') }),
      added(1, message('b1', { content: [] })),
      textDelta('b2', 1, 'He'),
      textDelta('b3', 1, 'llo'),
      done(1, message('b4', { content: [outputText('Hello')] })),
      added(2, call('c1')),
      argumentsDelta('c2', 2, '{}'),
      done(2, call('c3', { call_id: 'call_1', arguments: '{}' })),
      completed(),
    );
    expect(blocks).toMatchObject([
      { text: 'Hmm.', opaque: { item: { id: 'a4' } } },
      { text: 'Hello', opaque: { item: { id: 'b4' } } },
      { providerCallId: 'call_1', opaque: { item: { id: 'c3' } } },
    ]);
  });

  it('may be all there is: every index the same', async () => {
    const { blocks } = await read(
      created(),
      ...say(0, 'm', 'x'),
      added(0, call('fc_1')),
      added(0, call('fc_2')),
      argumentsDelta('fc_1', 0, '{"a":1}'),
      argumentsDelta('fc_2', 0, '{"b":2}'),
      done(0, call('fc_1', { arguments: '{"a":1}' })),
      done(0, call('fc_2', { arguments: '{"b":2}' })),
      completed(),
    );
    expect(blocks).toMatchObject([
      { text: 'x' },
      { providerCallId: 'call_fc_1', argumentsText: '{"a":1}' },
      { providerCallId: 'call_fc_2', argumentsText: '{"b":2}' },
    ]);
  });

  it('may be the same for all, or missing, as long as the indexes differ', async () => {
    for (const id of ['same', '', undefined]) {
      const item = (call_id: string, args = ''): object => ({ ...call('x', { call_id, arguments: args }), id });
      const delta = (index: number, text: string): object => ({ ...argumentsDelta('x', index, text), item_id: id });
      const { blocks } = await read(
        created(),
        added(0, item('call_1')),
        delta(0, '{"a":1}'),
        done(0, item('call_1', '{"a":1}')),
        added(1, item('call_2')),
        delta(1, '{"b":2}'),
        done(1, item('call_2', '{"b":2}')),
        completed(),
      );
      expect(blocks).toMatchObject([
        { providerCallId: 'call_1', argumentsText: '{"a":1}' },
        { providerCallId: 'call_2', argumentsText: '{"b":2}' },
      ]);
    }
  });

  it('may be missing altogether: then it is the last item', async () => {
    const { blocks } = await read(
      created(),
      added(0, message('m')),
      { type: 'response.output_text.delta', delta: 'a' },
      { type: 'response.output_text.delta', delta: 'b' },
      completed(),
    );
    expect(blocks).toEqual([textBlock('ab')]);
  });

  it('order the message by their indexes, whatever came first', async () => {
    const { blocks, events } = await read(
      created(),
      ...say(2, 'c', 'third'),
      ...say(0, 'a', 'first'),
      ...say(1, 'b', 'second'),
      completed(),
    );
    expect(blocks).toEqual([textBlock('first'), textBlock('second'), textBlock('third')]);
    expect(contractProblems(events)).toEqual([]);
  });

  it('that come twice are one item', async () => {
    const events = [...say(0, 'm', 'x'), added(1, call('fc_1')), done(1, call('fc_1', { arguments: '{}' }))];
    const twice = events.flatMap((event) =>
      (event as { type: string }).type.endsWith('delta') ? [event] : [event, event],
    );
    const { blocks, text } = await read(
      created(),
      ...twice,
      textDelta('m', 0, 'late'),
      argumentsDelta('fc_1', 1, 'late'),
      completed(),
    );
    expect(blocks).toMatchObject([{ text: 'x' }, { providerCallId: 'call_fc_1', argumentsText: '{}' }]);
    expect(text).toBe('x');
  });
});

describe('the end', () => {
  it.each<[string | undefined, string, string]>([
    ['max_output_tokens', 'length', 'max_output_tokens'],
    ['content_filter', 'content_filter', 'content_filter'],
    ['something_new', 'other', 'something_new'],
    [undefined, 'other', 'incomplete'],
  ])('for the reason %s is %s', async (reason, stopReason, rawStopReason) => {
    const { finish, blocks } = await read(created(), ...say(0, 'm', 'x'), incomplete(reason));
    expect(finish).toMatchObject({ stopReason, rawStopReason });
    expect(blocks).toEqual([textBlock('x')]);
  });

  it('closes text that a length stop cut off', async () => {
    const { blocks, events } = await read(
      created(),
      added(0, message('m')),
      textDelta('m', 0, 'x\ud83e'),
      incomplete('max_output_tokens'),
    );
    expect(blocks).toEqual([textBlock('x\uFFFD', { id: 'm', status: 'incomplete' })]);
    expect(contractProblems(events)).toEqual([]);
  });

  it('may be all that says anything', async () => {
    const { blocks, text } = await read(
      created(),
      completed({ output: [message('m', { content: [outputText('Hello')] }), call('fc_1', { arguments: '{}' })] }),
    );
    expect(text).toBe('Hello');
    expect(blocks).toMatchObject([{ text: 'Hello' }, { providerCallId: 'call_fc_1' }]);
  });

  it('without a count of tokens counts nothing', async () => {
    const { finish } = await read(created(), completed({ usage: undefined }));
    expect(finish?.usage).toEqual({ input: null, output: null, cacheRead: null, cacheWrite: null, reasoning: null });
    expect(finish).not.toHaveProperty('rawUsage');
  });

  it('that is missing is an error, whatever came before', async () => {
    for (const tail of [[], ['[DONE]']]) {
      const { error, text } = await read(created(), ...say(0, 'm', 'x'), ...tail);
      expect(error).toMatchObject({ kind: 'network', retryable: true });
      expect(text).toBe('x');
    }
  });

  it('is the end: nothing after it counts', async () => {
    const { events, text } = await read(created(), completed(), ...say(0, 'm', 'x'), 'no json', '[DONE]');
    expect(text).toBe('');
    expect(contractProblems(events)).toEqual([]);
  });
});

describe('an error', () => {
  it.each<[string, object]>([
    [
      'with its fields in it',
      { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down.', param: null, sequence_number: 3 },
    ],
    [
      'with its fields inside',
      { type: 'error', error: { type: 'tokens', code: 'rate_limit_exceeded', message: 'Slow down.', param: null } },
    ],
    [
      'as a failed response',
      {
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow down.' } },
      },
    ],
    ['without a type', { error: { code: 'rate_limit_exceeded', message: 'Slow down.' } }],
  ])('event %s is that error', async (_name, event) => {
    const { error, text, events } = await read(created(), textDelta('m', 0, 'partial'), event);
    expect(error).toMatchObject({
      kind: 'rate_limited',
      code: 'rate_limit_exceeded',
      message: 'Slow down.',
      status: 429,
      retryable: true,
    });
    expect(text).toBe('partial');
    expect(contractProblems(events)).toEqual([]);
  });

  it('is the first of two', async () => {
    const failed = {
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error', message: 'Second.' } },
    };
    const { error } = await read(created(), { type: 'error', code: 'insufficient_quota', message: 'First.' }, failed);
    expect(error).toMatchObject({ message: 'First.', retryable: false });
  });

  it.each<[string, object]>([
    ['server_error', { kind: 'api', status: 500, retryable: true }],
    ['invalid_prompt', { kind: 'api', status: 400, retryable: false }],
    ['context_length_exceeded', { kind: 'context_overflow', retryable: false }],
    ['vector_store_timeout', { kind: 'api', status: 504, retryable: true }],
    ['something_new', { kind: 'api', retryable: true }],
  ])('of the code %s is classified', async (code, expected) => {
    expect((await read(created(), { type: 'error', code, message: 'No.' })).error).toMatchObject(expected);
  });

  it('in a body that isn’t a stream is one, too', async () => {
    const body = JSON.stringify({
      object: 'response',
      status: 'failed',
      output: [],
      error: { code: 'server_error', message: 'Broke.' },
    });
    const http = answering([utf8(body)], { 'content-type': 'application/json' });
    expect((await readModel({ protocol, http })).error).toMatchObject({ code: 'server_error', message: 'Broke.' });
  });

  it('is a cancelled response, or one that failed without saying why', async () => {
    for (const status of ['cancelled', 'failed']) {
      const { error } = await read(created(), { type: `response.${status}`, response: { status } });
      expect(error?.message).toContain(status);
    }
  });

  it('is an event that isn’t JSON, unless the connection cut it', async () => {
    expect((await read(created(), 'oh no')).error?.message).toMatch(/not JSON/);
    const bytes = `${sse(created())}data: {"type":"response.out`;
    expect((await readBody(protocol, bytes)).error?.message).toMatch(/ended early/);
  });
});

describe('what is unknown', () => {
  it('is skipped: events, parts, fields, JSON that is no object', async () => {
    const { text, events, blocks } = await read(
      created(),
      { type: 'response.telepathy.delta', delta: 'x' },
      { type: 'response.image_generation_call.partial_image', partial_image_b64: 'aa' },
      'null',
      '[1]',
      { no: 'type' },
      added(0, message('m', { new_field: 1 })),
      { type: 'response.content_part.done', item_id: 'm', output_index: 0, part: { type: 'hologram' } },
      textDelta('m', 0, 'x'),
      done(0, message('m', { content: [{ type: 'hologram' }, 7], new_field: 1 })),
      added(1, 'no item' as unknown as object),
      done(1, 'no item' as unknown as object),
      completed({ output: 'none' }),
    );
    expect(text).toBe('x');
    expect(blocks).toEqual([textBlock('x', { new_field: 1 })]);
    expect(contractProblems(events)).toEqual([]);
  });
});

describe('a stream in which anything was lost, repeated or mixed up', () => {
  it('keeps the contract of the port and never has half a call', async () => {
    const shuffled = fc.array(fc.nat({ max: RICH.length - 1 }), { maxLength: 2 * RICH.length });
    await fc.assert(
      fc.asyncProperty(shuffled, fc.nat({ max: 400 }), async (order, cutAt) => {
        const body = sse(...order.map((at) => RICH[at]));
        const { events, blocks } = await readBody(protocol, body.slice(0, body.length - cutAt), [11]);
        expect(contractProblems(events)).toEqual([]);
        for (const block of blocks) {
          if (block.type === 'tool_call') expect(block.argumentsText).toBe('{"query": "a\\"b 🦊"}');
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('usage', () => {
  it('leaves what was cached out of the input', () => {
    const details = { cached_tokens: 7, cache_write_tokens: 1 };
    expect(readOpenAIResponsesUsage({ input_tokens: 10, input_tokens_details: details, output_tokens: 3 })).toEqual({
      input: 2,
      output: 3,
      cacheRead: 7,
      cacheWrite: 1,
      reasoning: null,
    });
  });

  it('is unknown where nothing is said', () => {
    expect(readOpenAIResponsesUsage({})).toMatchObject({ input: null, output: null, cacheRead: null });
  });
});
