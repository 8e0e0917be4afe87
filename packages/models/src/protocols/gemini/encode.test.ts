import type { AssistantContent, ModelMessage, ToolResultContent, UserContent } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { validateGeminiRequest } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyText } from '../../test-support/body.ts';
import { assistant, bodyOf, call, request, result, user } from '../../test-support/messages.ts';
import type { GeminiQuirks } from './quirks.ts';
import { gemini } from './protocol.ts';

interface Body {
  readonly systemInstruction?: unknown;
  readonly contents: readonly { readonly role: string; readonly parts: readonly Record<string, unknown>[] }[];
  readonly tools?: readonly unknown[];
  readonly toolConfig?: unknown;
  readonly generationConfig?: Readonly<Record<string, unknown>>;
}

/** What is written, which must be valid. */
function written(input: ModelRequest, quirks: GeminiQuirks = {}, modelId = 'gemini-2.5-flash'): Body {
  const text = bodyText(gemini(quirks).createEncoder({ provider: 'own', modelId })(input).body);
  const body = JSON.parse(text) as Body;
  expect(validateGeminiRequest(body)).toEqual([]);
  return body;
}
const contentsOf = (messages: readonly ModelMessage[], quirks?: GeminiQuirks, modelId?: string): Body['contents'] =>
  written(request(messages), quirks, modelId).contents;

const PNG = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const;
const INLINE = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
const HI = { role: 'user', parts: [{ text: 'Hi' }] };

describe('a request', () => {
  it('is sent to the path of its model', () => {
    const pathOf = (modelId: string, quirks?: GeminiQuirks) =>
      gemini(quirks).createEncoder({ provider: 'own', modelId })(request([user('Hi')])).path;
    const method = ':streamGenerateContent?alt=sse';
    expect(pathOf('gemini-2.5-pro')).toBe(`/models/gemini-2.5-pro${method}`);
    expect(pathOf('models/gemini-2.5-pro')).toBe(`/models/gemini-2.5-pro${method}`);
    expect(pathOf('tunedModels/my model')).toBe(`/tunedModels/my%20model${method}`);
    expect(pathOf('a?b#c', { modelsPath: '/publishers/google/models' })).toBe(
      `/publishers/google/models/a%3Fb%23c${method}`,
    );
  });

  it('has its instructions apart, and roles that alternate', () => {
    const messages = [user('Hi'), user('there', ' \n'), assistant(['Hello.']), assistant(['Yes?']), user('Go')];
    expect(written(request(messages, { system: 'Be good.' }))).toEqual({
      systemInstruction: { parts: [{ text: 'Be good.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }, { text: 'there' }] },
        { role: 'model', parts: [{ text: 'Hello.' }, { text: 'Yes?' }] },
        { role: 'user', parts: [{ text: 'Go' }] },
      ],
    });
    expect(written(request([user('Hi')], { system: ' ' }))).not.toHaveProperty('systemInstruction');
  });

  it('has settings only where they are asked for', () => {
    expect(written(request([user('Hi')]))).toEqual({ contents: [HI] });
    const { generationConfig } = written(
      request([user('Hi')], { temperature: 0, maxTokens: 100, stopSequences: ['END'] }),
    );
    expect(generationConfig).toEqual({ temperature: 0, maxOutputTokens: 100, stopSequences: ['END'] });
  });

  it('asks for a form of the reply', () => {
    const schema = { type: 'object', properties: { a: { type: ['string', 'null'] } }, additionalProperties: false };
    const format = (responseFormat: ModelRequest['responseFormat'], quirks?: GeminiQuirks) =>
      written(request([user('Hi')], responseFormat === undefined ? {} : { responseFormat }), quirks).generationConfig;
    expect(format({ type: 'json_object' })).toEqual({ responseMimeType: 'application/json' });
    expect(format({ type: 'json_schema', name: 'x', schema })).toEqual({
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } },
    });
    expect(format({ type: 'json_schema', name: 'x', schema }, { schemas: 'json-schema' })).toEqual({
      responseMimeType: 'application/json',
      responseJsonSchema: schema,
    });
  });

  it('lets extra fields win, last', () => {
    const providerOptions = { labels: { team: 'a' }, generationConfig: { topK: 3 } };
    const encode = gemini().createEncoder({ provider: 'own', modelId: 'm' });
    const body = bodyText(encode(request([user('Hi')], { providerOptions, temperature: 1 })).body);
    expect(body.endsWith('"labels":{"team":"a"},"generationConfig":{"topK":3}}')).toBe(true);
    expect(validateGeminiRequest(JSON.parse(body))).toEqual([]);
  });
});

describe('tools', () => {
  const search = {
    name: 'search',
    description: 'Looks.',
    inputSchema: {
      type: 'object',
      properties: { q: { type: 'string' } },
      required: ['q'],
      additionalProperties: false,
    },
  };
  const ping = { name: 'ping', description: '', inputSchema: { type: 'object', properties: {} } };
  const parameters = { type: 'OBJECT', properties: { q: { type: 'STRING' } }, required: ['q'] };

  it('are declared in one object; one without parameters has none', () => {
    expect(written(request([user('Hi')], { tools: [search, ping] })).tools).toEqual([
      { functionDeclarations: [{ name: 'search', description: 'Looks.', parameters }, { name: 'ping' }] },
    ]);
  });

  it('may be declared in JSON Schema as it is', () => {
    const { tools } = written(request([user('Hi')], { tools: [search] }), { schemas: 'json-schema' });
    expect(tools).toEqual([
      { functionDeclarations: [{ name: 'search', description: 'Looks.', parametersJsonSchema: search.inputSchema }] },
    ]);
  });

  it('of this provider are passed through, and those of others left out', () => {
    const providerTools = [
      { name: 'google_search', provider: 'own', definition: { googleSearch: {} } },
      { name: 'web_search', provider: 'other', definition: { type: 'web_search' } },
    ];
    expect(written(request([user('Hi')], { providerTools })).tools).toEqual([{ googleSearch: {} }]);
    // Nothing may be said about functions when there are none.
    expect(written(request([user('Hi')], { providerTools, toolChoice: 'none' }))).not.toHaveProperty('toolConfig');
  });

  it.each([
    ['auto', undefined],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [{ name: 'search' }, { mode: 'ANY', allowedFunctionNames: ['search'] }],
  ] as const)('are chosen by %j', (toolChoice, functionCallingConfig) => {
    const { toolConfig } = written(request([user('Hi')], { tools: [search], toolChoice }));
    expect(toolConfig).toEqual(functionCallingConfig === undefined ? undefined : { functionCallingConfig });
  });
});

describe('reasoning', () => {
  const thinking = (level: ModelRequest['thinking'], modelId: string, fields: Partial<ModelRequest> = {}) =>
    written(request([user('Hi')], { ...fields, ...(level === undefined ? {} : { thinking: level }) }), {}, modelId)
      .generationConfig;

  it.each([
    ['gemini-2.5-flash', 'off', { thinkingBudget: 0 }],
    ['gemini-2.5-pro', 'off', { thinkingBudget: 128 }],
    ['gemini-2.5-flash', 'minimal', { includeThoughts: true, thinkingBudget: 128 }],
    ['gemini-2.5-flash-lite', 'minimal', { includeThoughts: true, thinkingBudget: 512 }],
    ['gemini-2.5-flash', 'medium', { includeThoughts: true, thinkingBudget: 2048 }],
    ['gemini-2.5-pro', 'high', { includeThoughts: true, thinkingBudget: 8192 }],
    ['gemini-3-flash-preview', 'off', { thinkingLevel: 'minimal' }],
    ['gemini-3-flash-preview', 'medium', { includeThoughts: true, thinkingLevel: 'medium' }],
    ['gemini-3-pro-preview', 'off', { thinkingLevel: 'low' }],
    ['gemini-3-pro-preview', 'minimal', { includeThoughts: true, thinkingLevel: 'low' }],
    ['gemini-3-pro-preview', 'medium', { includeThoughts: true, thinkingLevel: 'high' }],
    ['gemini-3.1-pro-preview', 'medium', { includeThoughts: true, thinkingLevel: 'medium' }],
    ['gemini-2.0-flash', 'high', undefined],
    ['gemini-3.8-flash', 'minimal', { includeThoughts: true, thinkingLevel: 'low' }],
    ['gemini-4-hydrogen', 'max', { includeThoughts: true, thinkingLevel: 'xhigh' }],
    ['my-tune', 'off', { thinkingLevel: 'low' }],
  ] as const)('of %s at %s', (modelId, level, expected) => {
    expect(thinking(level, modelId)?.['thinkingConfig']).toEqual(expected);
  });

  it('is left to the model when nothing is said', () => {
    expect(thinking(undefined, 'gemini-3-pro-preview')).toBeUndefined();
  });

  it('counted in tokens comes on top of those of the answer', () => {
    expect(thinking('low', 'gemini-2.5-pro', { maxTokens: 100 })?.['maxOutputTokens']).toBe(612);
    expect(thinking('low', 'gemini-3-pro-preview', { maxTokens: 100 })?.['maxOutputTokens']).toBe(100);
  });

  it('is that of the generation a quirk names', () => {
    const { generationConfig } = written(request([user('Hi')], { thinking: 'high' }), { generation: 3 }, 'my-tune');
    expect(generationConfig).toEqual({ thinkingConfig: { includeThoughts: true, thinkingLevel: 'high' } });
  });
});

describe('what a user attaches', () => {
  it('is sent as it is where the models take it, else as text', () => {
    const text = btoa('a,b');
    const parts = contentsOf([
      user(
        PNG,
        { type: 'image', mediaType: 'image/png', url: 'https://h/a.png' },
        { type: 'file', mediaType: 'application/pdf', data: 'BBBB', name: 'a.pdf' },
        { type: 'file', mediaType: 'text/csv', data: text, name: 'a.csv' },
        { type: 'file', mediaType: 'video/mp4', url: 'gs://a/b' },
        { type: 'file', mediaType: 'audio/wav', fileId: 'https://h/files/1', provider: 'own' },
        { type: 'file', mediaType: 'application/zip', data: '/w==', name: 'a.zip' },
        { type: 'file', mediaType: 'audio/wav', fileId: 'file-1', provider: 'other' },
      ),
    ])[0]?.parts;
    expect(parts).toEqual([
      INLINE,
      { fileData: { mimeType: 'image/png', fileUri: 'https://h/a.png' } },
      { inlineData: { mimeType: 'application/pdf', data: 'BBBB' } },
      { text: 'a.csv:\na,b' },
      { fileData: { mimeType: 'video/mp4', fileUri: 'gs://a/b' } },
      { fileData: { mimeType: 'audio/wav', fileUri: 'https://h/files/1' } },
      { text: '[The file a.zip of type application/zip can not be shown to this model]' },
      { text: '[The file without a name of type audio/wav can not be shown to this model]' },
    ]);
  });
});

describe('calls and results', () => {
  it('are paired by the provider’s id, and by name and order where it gave none', () => {
    const contents = contentsOf([
      user('Hi'),
      assistant([call('c1', { providerCallId: 'abc', arguments: { q: 1 } }), call('c2', { providerCallId: 'google-fc-1' })]),
      result('c1', 'one'),
      result('c2', 'two', 'three'),
    ]); // prettier-ignore
    expect(contents.slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'abc', name: 'search', args: { q: 1 } } },
          { functionCall: { name: 'search', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'abc', name: 'search', response: { result: 'one' } } },
          { functionResponse: { name: 'search', response: { result: 'two\nthree' } } },
        ],
      },
    ]);
  });

  it('of another provider have no ids', () => {
    const contents = contentsOf([
      user('Hi'),
      assistant([call('c1', { providerCallId: 'toolu_1', name: '1.a b' })], 'other'),
      result('c1', 'x'),
    ]);
    expect(contents[1]?.parts).toEqual([{ functionCall: { name: '_1_a_b', args: {} } }]);
    expect(contents[2]?.parts).toEqual([{ functionResponse: { name: '_1_a_b', response: { result: 'x' } } }]);
  });

  it('that failed say so, also when they say nothing', () => {
    const failed = { ...result('c1', 'No such file'), isError: true };
    const silent = { ...result('c2'), isError: true };
    const parts = contentsOf([user('Hi'), assistant([call('c1'), call('c2')]), failed, silent])[2]?.parts;
    expect(parts).toEqual([
      { functionResponse: { name: 'search', response: { error: 'No such file' } } },
      { functionResponse: { name: 'search', response: { error: 'The call failed and said nothing.' } } },
    ]);
  });

  it('are answered where no answer came, before anything else is said', () => {
    const history = [user('Hi'), assistant([call('c1'), call('c2')]), result('c2', 'two')];
    const interrupted = { functionResponse: { name: 'search', response: { error: expect.stringContaining('interrupted') as string } } };
    const two = { functionResponse: { name: 'search', response: { result: 'two' } } };
    expect(contentsOf(history)[2]?.parts).toEqual([two, interrupted]);
    expect(contentsOf([...history, user('Go on')])[2]?.parts).toEqual([two, interrupted, { text: 'Go on' }]);
  }); // prettier-ignore

  it('that answer nothing are left out', () => {
    expect(contentsOf([user('Hi'), result('c9', 'lost')])).toEqual([HI]);
  });

  it('have their images beside the results, or inside them from the third generation on', () => {
    const history = [user('Hi'), assistant([call('c1'), call('c2')]), result('c1', 'Look', PNG), result('c2', 'two')];
    const two = { functionResponse: { name: 'search', response: { result: 'two' } } };
    expect(contentsOf(history)[2]?.parts).toEqual([
      { functionResponse: { name: 'search', response: { result: 'Look\n[1 attached after the results]' } } },
      two,
      { text: 'Attached to the result of search:' },
      INLINE,
    ]);
    expect(contentsOf(history, {}, 'gemini-3-pro')[2]?.parts).toEqual([
      { functionResponse: { name: 'search', response: { result: 'Look' }, parts: [INLINE] } },
      two,
    ]);
  });

  it('whose arguments were broken have none', () => {
    const broken = call('c1', { problem: 'invalid_json', argumentsText: '{"a', arguments: { a: 1 } });
    expect(contentsOf([user('Hi'), assistant([broken]), result('c1', 'x')])[1]?.parts).toEqual([
      { functionCall: { name: 'search', args: {} } },
    ]);
  });

  it('follow a user’s words, also when a history begins without them', () => {
    const contents = contentsOf([assistant([call('c1')]), result('c1', 'x')]);
    expect(contents.map(({ role }) => role)).toEqual(['user', 'model', 'user']);
  });
});

describe('what a model said', () => {
  const SIGNATURE = 'AY89+a/8==';
  const code = { executableCode: { language: 'PYTHON', code: '1' }, thoughtSignature: 's9' };
  const content: readonly AssistantContent[] = [
    { type: 'thinking', text: 'unsigned' },
    { type: 'thinking', text: 'Hm', signature: 's1' },
    { type: 'text', text: 'a', citations: [{ x: 1 }] },
    { type: 'text', text: '', opaque: { thoughtSignature: SIGNATURE } },
    { type: 'text', text: ' ' },
    { ...PNG, opaque: { thoughtSignature: 's2' } },
    { type: 'file', mediaType: 'video/mp4', url: 'gs://a/b' },
    { type: 'provider_tool_call', callId: 'p', name: 'code_execution', arguments: {}, raw: code },
    { type: 'provider_block', kind: 'response_metadata', raw: { groundingMetadata: {} } },
    { type: 'redacted_thinking', data: 'zzz' },
    call('c1', { opaque: { thoughtSignature: 's3' } }),
    call('c2'),
  ];

  it('returns to its provider part by part, signatures byte for byte', () => {
    expect(contentsOf([user('Hi'), assistant(content), result('c1', 'x'), result('c2', 'x')])[1]?.parts).toEqual([
      { text: 'Hm', thought: true, thoughtSignature: 's1' },
      { text: 'a' },
      { text: '', thoughtSignature: SIGNATURE },
      { ...INLINE, thoughtSignature: 's2' },
      { fileData: { mimeType: 'video/mp4', fileUri: 'gs://a/b' } },
      code,
      { functionCall: { name: 'search', args: {} }, thoughtSignature: 's3' },
      { functionCall: { name: 'search', args: {} } },
    ]);
  });

  it('goes to another provider as text and calls, and nothing else', () => {
    const history = [user('Hi'), assistant(content, 'other'), result('c1', 'x'), result('c2', 'x')];
    expect(contentsOf(history)[1]?.parts).toEqual([
      { text: 'a' },
      { functionCall: { name: 'search', args: {} } },
      { functionCall: { name: 'search', args: {} } },
    ]);
  });

  it('has its first call marked as unsigned for models that demand signatures', () => {
    const contents = contentsOf(
      [
        user('Hi'),
        assistant([call('c1', { opaque: { thoughtSignature: 'foreign' } }), call('c2')], 'other'),
        result('c1', 'x'),
        result('c2', 'x'),
        assistant([call('c3', { opaque: { thoughtSignature: 's3' } }), call('c4')]),
        result('c3', 'x'),
        result('c4', 'x'),
      ],
      {},
      'gemini-3-pro-preview',
    );
    expect(contents.flatMap(({ parts }) => parts.flatMap((part) => (part['functionCall'] ? [part['thoughtSignature']] : [])))).toEqual([
      'skip_thought_signature_validator',
      undefined,
      's3',
      undefined,
    ]);
  }); // prettier-ignore
});

describe('any history', () => {
  const words = fc.string({ unit: 'binary', maxLength: 6 });
  const textBlock = words.map((text) => ({ type: 'text', text }) as const);
  const image = fc.constant(PNG);
  const userContent: fc.Arbitrary<UserContent> = fc.oneof(textBlock, image);
  const resultContent: fc.Arbitrary<ToolResultContent> = fc.oneof(textBlock, image);
  const callId = fc.constantFrom('call_1', 'call_2', 'call:3');
  const signature = fc.constantFrom('c2ln', 'AA==');
  const block: fc.Arbitrary<AssistantContent> = fc.oneof(
    textBlock,
    fc.record({ type: fc.constant('text' as const), text: words, opaque: fc.record({ thoughtSignature: signature }) }),
    fc.record({ type: fc.constant('thinking' as const), text: words, signature }),
    fc.record({ id: callId, name: words, providerCallId: fc.constantFrom('a', 'google-fc-0', '', 'a b') }).map(
      ({ id, name, providerCallId }) => call(id, { name, providerCallId }),
    ),
  ); // prettier-ignore
  const blocks = fc.uniqueArray(block, { maxLength: 4, selector: (b) => (b.type === 'tool_call' ? b.callId : b) });
  const message: fc.Arbitrary<ModelMessage> = fc.oneof(
    fc.array(userContent, { maxLength: 3 }).map((content) => user(...content)),
    fc.tuple(blocks, fc.constantFrom('own', 'other')).map(([content, provider]) => assistant(content, provider)),
    fc.tuple(callId, fc.array(resultContent, { maxLength: 2 })).map(([id, content]) => result(id, ...content)),
  );
  const history = fc.array(message, { maxLength: 14 });
  const modelId = fc.constantFrom('gemini-2.5-pro', 'gemini-3-pro');

  it('makes a valid request', () => {
    fc.assert(
      fc.property(history, modelId, (messages, model) => {
        const encode = gemini().createEncoder({ provider: 'own', modelId: model });
        const body = JSON.parse(bodyText(encode(request([user('Hi'), ...messages])).body)) as unknown;
        expect(validateGeminiRequest(body)).toEqual([]);
      }),
      { numRuns: 600 },
    );
  });

  it('is written the same whether it came at once or grew, forked or was compacted', () => {
    fc.assert(
      fc.property(history, history, fc.nat(14), modelId, (messages, branch, at, model) => {
        const fresh = (list: readonly ModelMessage[]): string =>
          bodyText(gemini().createEncoder({ provider: 'own', modelId: model })(request(list, { system: 'S' })).body);
        const encode = gemini().createEncoder({ provider: 'own', modelId: model });
        const write = (list: readonly ModelMessage[]): string => bodyText(encode(request(list, { system: 'S' })).body);
        for (let length = 1; length <= messages.length; length++) {
          expect(write(messages.slice(0, length))).toBe(fresh(messages.slice(0, length)));
        }
        const forked = [...messages.slice(0, at), ...branch];
        expect(write(forked)).toBe(fresh(forked));
        const compacted = [...messages.slice(0, 1), ...messages.slice(at)];
        expect(write(compacted)).toBe(fresh(compacted));
      }),
      { numRuns: 150 },
    );
  });

  it('keeps the bytes of a run’s earlier requests, whatever a turn asks for', () => {
    const encode = gemini().createEncoder({ provider: 'own', modelId: 'gemini-3-pro' });
    const tools = [{ name: 'search', description: '', inputSchema: { type: 'object' } }];
    const messages: ModelMessage[] = [user('Go')];
    const bodies: string[] = [];
    for (let turn = 0; turn < 10; turn++) {
      const toolChoice = turn % 2 === 0 ? 'none' : 'auto';
      bodies.push(
        bodyText(encode(request([...messages], { system: 'S', tools, toolChoice, temperature: turn / 10 })).body),
      );
      messages.push(assistant([`Turn ${turn}`, call(`call_${turn}`)]), result(`call_${turn}`, PNG, `Result ${turn}`));
    }
    for (const [turn, body] of bodies.slice(0, -1).entries()) {
      // All of it but what closes the contents, and the settings after them.
      const shared = body.slice(0, body.lastIndexOf(']}],"'));
      expect(shared).toContain(turn === 0 ? 'Go' : `Result ${turn - 1}`);
      expect(bodies[turn + 1]?.startsWith(shared)).toBe(true);
    }
  });

  it('costs what is new in it', () => {
    let reads = 0;
    const counted = (text: string): ModelMessage => {
      const made = user(text);
      return {
        ...made,
        get content() {
          reads++;
          return made.content;
        },
      };
    };
    const messages = Array.from({ length: 200 }, (_unused, at) => counted(`message ${at}`));
    const encode = gemini().createEncoder({ provider: 'own', modelId: 'm' });
    encode(request(messages.slice(0, 199)));
    const before = reads;
    encode(request(messages));
    encode(request([user('summary'), ...messages.slice(100)]));
    expect(reads - before).toBeLessThanOrEqual(2);
  });

  it('has no half of a character', () => {
    const text = JSON.stringify(bodyOf(gemini(), request([user('half a \ud83d')], { system: '\udc00' })));
    expect(text).not.toMatch(/\\ud[89a-f]/i);
    expect(text).toContain('\uFFFD');
  });
});
