import type { FileBlock, ModelMessage } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { validateBedrockRequest } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { bodyText } from '../../test-support/body.ts';
import { assistant, bodyOf, call, request, result, user } from '../../test-support/messages.ts';
import { bedrockConverse } from './protocol.ts';
import type { BedrockQuirks } from './quirks.ts';

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: readonly Record<string, unknown>[] }[];
  readonly toolConfig?: { readonly tools: readonly object[]; readonly toolChoice?: object };
  readonly [field: string]: unknown;
}

const protocol = bedrockConverse();
const tools = [{ name: 'search', description: 'Searches.', inputSchema: { type: 'object' } }];
const body = (input: ModelRequest): Body => {
  const written = bodyOf(protocol, input) as Body;
  expect(validateBedrockRequest(written)).toEqual([]);
  return written;
};
const messagesOf = (...messages: readonly ModelMessage[]): Body['messages'] =>
  body(request(messages, { tools })).messages;
const contentOf = (message: ModelMessage): Body['messages'][number]['content'] => messagesOf(message)[0]?.content ?? [];
const CLAUDE = 'anthropic.claude-3-7-sonnet-20250219-v1:0';
const bodyFor = (modelId: string, input: ModelRequest, quirks?: BedrockQuirks): Body => {
  const encode = bedrockConverse(quirks).createEncoder({ provider: 'own', modelId });
  return JSON.parse(bodyText(encode(input).body)) as Body;
};
const SPEC = { toolSpec: { name: 'search', description: 'Searches.', inputSchema: { json: { type: 'object' } } } };
const INTERRUPTED = { status: 'error', content: [{ text: expect.stringContaining('interrupted') as string }] };

describe('a request', () => {
  it('has the model in its path, encoded, and system blocks', () => {
    const encode = protocol.createEncoder({ provider: 'own', modelId: 'arn:aws:x/claude-v1:0' });
    const wire = encode(request([user('Hi')], { system: 'Be brief.' }));
    expect(wire.path).toBe('/model/arn%3Aaws%3Ax%2Fclaude-v1%3A0/converse-stream');
    expect(JSON.parse(bodyText(wire.body))).toEqual({
      system: [{ text: 'Be brief.' }],
      messages: [{ role: 'user', content: [{ text: 'Hi' }] }],
    });
  });

  it('carries limits, temperature and stop sequences, where extra fields win one by one', () => {
    const fields = { maxTokens: 10, temperature: 0.5, stopSequences: ['END'] };
    const providerOptions = {
      inferenceConfig: { topP: 0.9, temperature: 0 },
      additionalModelRequestFields: { top_k: 3 },
    };
    expect(body(request([user('Hi')], { ...fields, providerOptions }))).toMatchObject({
      inferenceConfig: { maxTokens: 10, temperature: 0, stopSequences: ['END'], topP: 0.9 },
      additionalModelRequestFields: { top_k: 3 },
    });
    expect(
      body(request([user('Hi')], { providerOptions: { guardrailConfig: { guardrailIdentifier: 'g' } } })),
    ).toMatchObject({ guardrailConfig: { guardrailIdentifier: 'g' } });
  });

  it('says the form of the reply in the instructions, or lets the service hold the model to it', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const responseFormat = { type: 'json_schema', name: 'the answer', schema } as const;
    expect(body(request([user('Hi')], { system: 'S', responseFormat }))['system']).toEqual([
      { text: expect.stringMatching(/^S\n\n[^]*\{"type":"object"/) as string },
    ]);
    const native = bodyFor(CLAUDE, request([user('Hi')], { responseFormat }), { responseFormat: 'native' });
    expect(native).not.toHaveProperty('system');
    expect(native['outputConfig']).toEqual({
      textFormat: {
        type: 'json_schema',
        structure: { jsonSchema: { name: 'the_answer', schema: JSON.stringify(schema) } },
      },
    });
    const object = request([user('Hi')], { cache: 'off', responseFormat: { type: 'json_object' } });
    expect(bodyFor(CLAUDE, object, { responseFormat: 'native' })['system']).toEqual([
      { text: expect.stringContaining('JSON object') as string },
    ]);
  });

  it('replaces halves of characters', () => {
    expect(contentOf(user('a\ud83eb'))).toEqual([{ text: 'a\uFFFDb' }]);
  });
});

describe('tools', () => {
  it.each([
    ['auto', undefined],
    ['required', { any: {} }],
    [{ name: 'search' }, { tool: { name: 'search' } }],
  ] as const)('are declared and chosen by %j', (toolChoice, choice) => {
    expect(body(request([user('Hi')], { tools, toolChoice })).toolConfig).toEqual({
      tools: [SPEC],
      ...(choice === undefined ? {} : { toolChoice: choice }),
    });
  });

  it('without a description have none, which the wire would refuse if it were empty', () => {
    const silent = [{ name: 'search', description: '', inputSchema: { type: 'object' } }];
    expect(body(request([user('Hi')], { tools: silent })).toolConfig?.tools).toEqual([
      { toolSpec: { name: 'search', inputSchema: { json: { type: 'object' } } } },
    ]);
  });

  it('of the provider are passed through, those of others are not', () => {
    const definition = { systemTool: { name: 'nova_grounding' } };
    const providerTools = [
      { name: 'nova_grounding', provider: 'own', definition },
      { name: 'other', provider: 'somebody', definition: {} },
    ];
    expect(body(request([user('Hi')], { tools, providerTools })).toolConfig?.tools).toEqual([SPEC, definition]);
  });

  it('are forbidden by leaving them out, or, where some were called, by asking', () => {
    const fresh = body(request([user('Hi')], { tools, toolChoice: 'none' }));
    expect(fresh).not.toHaveProperty('toolConfig');
    const messages = [user('Hi'), assistant([call('c')]), result('c', 'x')];
    const later = body(request(messages, { tools, toolChoice: 'none' }));
    expect(later.toolConfig).toEqual({ tools: [SPEC] });
    expect(later.messages.at(-1)?.content.at(-1)).toEqual({ text: '(Answer without calling a tool.)' });
  });

  it('that were called are declared even when there are none any more', () => {
    const messages = [user('Hi'), assistant([call('c', { name: 'gone' })]), result('c', 'x')];
    expect(body(request(messages)).toolConfig?.tools).toMatchObject([{ toolSpec: { name: 'gone' } }]);
  });
});

describe('reasoning', () => {
  const fieldsFor = (modelId: string, quirks?: BedrockQuirks): unknown =>
    bodyFor(modelId, request([user('Hi')], { thinking: 'medium' }), quirks)['additionalModelRequestFields'];
  const budget = { thinking: { type: 'enabled', budget_tokens: 2048 } };
  const adaptive = {
    thinking: { type: 'adaptive', display: 'summarized' },
    output_config: { effort: 'medium' },
  };
  const effort = { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } };

  it.each([
    [CLAUDE, budget],
    ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', budget],
    ['arn:aws:bedrock:us-east-1:1:application-inference-profile/abc', adaptive],
    ['global.anthropic.claude-opus-4-20250514-v1:0', budget],
    ['global.anthropic.claude-opus-4-6-v1', adaptive],
    ['global.anthropic.claude-opus-4-7', adaptive],
    ['anthropic.claude-opus-5', adaptive],
    ['arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-8', adaptive],
    ['anthropic.claude-3-haiku-20240307-v1:0', undefined],
    ['us.anthropic.claude-3-5-sonnet-20241022-v2:0', undefined],
    ['anthropic.claude-3-5-haiku-20241022-v1:0', undefined],
    ['us.amazon.nova-2-lite-v1:0', effort],
    ['amazon.nova-pro-v1:0', undefined],
    ['openai.gpt-oss-120b-1:0', { reasoning_effort: 'medium' }],
    ['us.openai.gpt-5.6-sol', { reasoning: { effort: 'medium' } }],
    ['arn:aws:bedrock:us-east-1::foundation-model/meta.llama3-1-8b-instruct-v1:0', undefined],
    ['meta.llama3-1-8b-instruct-v1:0', undefined],
  ])('is asked of %s in its vendor’s words', (modelId, expected) => {
    expect(fieldsFor(modelId)).toEqual(expected);
  });

  it('is asked for as the deployment says', () => {
    expect(fieldsFor('any', { reasoning: 'anthropic', family: 'claude-opus-4-5' })).toEqual(budget);
    expect(fieldsFor(CLAUDE, { reasoning: 'none' })).toBeUndefined();
  });

  it('takes its tokens on top of the limit, and no temperature', () => {
    const input = request([user('Hi')], { thinking: 'high', maxTokens: 100, temperature: 0 });
    expect(bodyFor(CLAUDE, input)['inferenceConfig']).toEqual({ maxTokens: 8292 });
    expect(bodyFor('anthropic.claude-opus-4-7', input)['inferenceConfig']).toEqual({ maxTokens: 100 });
    expect(bodyFor('amazon.nova-2-lite-v1:0', input)['inferenceConfig']).toEqual({ maxTokens: 100, temperature: 0 });
  });

  it('knows no level below low but by a budget', () => {
    const input = request([user('Hi')], { thinking: 'minimal' });
    expect(bodyFor('openai.gpt-oss-20b-1:0', input)['additionalModelRequestFields']).toEqual({
      reasoning_effort: 'low',
    });
  });

  it('keeps the caller’s own fields beside it', () => {
    const providerOptions = { additionalModelRequestFields: { anthropic_beta: ['x'] } };
    const written = bodyFor(CLAUDE, request([user('Hi')], { thinking: 'low', providerOptions }));
    expect(written['additionalModelRequestFields']).toEqual({
      thinking: { type: 'enabled', budget_tokens: 1024 },
      anthropic_beta: ['x'],
    });
  });

  it('is not asked for with a forced tool, or amid calls that another provider reasoned about', () => {
    const foreign = assistant([{ type: 'thinking', text: 'Hm', signature: 's' }, call('c')], 'other');
    const own = assistant([{ type: 'thinking', text: 'Hm', signature: 's' }, call('c')]);
    const after = (made: ModelMessage): Body =>
      bodyFor(CLAUDE, request([user('Hi'), made, result('c', 'x')], { thinking: 'low', tools }));
    expect(after(foreign)).not.toHaveProperty('additionalModelRequestFields');
    expect(after(own)).toHaveProperty('additionalModelRequestFields');
    const forced = request([user('Hi')], { thinking: 'low', tools, toolChoice: 'required' });
    expect(bodyFor(CLAUDE, forced)).not.toHaveProperty('additionalModelRequestFields');
  });

  it('goes back byte for byte to the provider that made it, and to no other', () => {
    const content = [
      { type: 'thinking', text: 'Hm\n ', signature: 'EqQB+/=' } as const,
      { type: 'redacted_thinking', data: 'AAEC' } as const,
      'Hi',
    ];
    expect(messagesOf(user('Go'), assistant(content), user('More'))[1]?.content).toEqual([
      { reasoningContent: { reasoningText: { text: 'Hm\n ', signature: 'EqQB+/=' } } },
      { reasoningContent: { redactedContent: 'AAEC' } },
      { text: 'Hi' },
    ]);
    expect(messagesOf(user('Go'), assistant(content, 'other'), user('More'))[1]?.content).toEqual([{ text: 'Hi' }]);
  });

  it('that led to nothing, or has no signature, is left out', () => {
    const unsigned = assistant([{ type: 'thinking', text: 'Hm' }, 'Hi']);
    expect(messagesOf(user('Go'), unsigned, user('More'))[1]?.content).toEqual([{ text: 'Hi' }]);
    const cutOff = assistant([{ type: 'thinking', text: 'Hm', signature: 'c2ln' }]);
    expect(messagesOf(user('Go'), cutOff, user('More'))).toHaveLength(1);
  });
});

describe('messages', () => {
  it('of the same role are one message on the wire, and the user begins and ends', () => {
    const written = messagesOf(assistant(['a']), user('b'), user(' ', 'c'), assistant(['d']), assistant(['e']));
    expect(written.map(({ role, content }) => [role, content.length])).toEqual([
      ['user', 1],
      ['assistant', 1],
      ['user', 2],
      ['assistant', 2],
      ['user', 1],
    ]);
  });

  it('carry calls and results under the same legal id', () => {
    const id = 'call:1 with spaces';
    const [, second, third] = messagesOf(
      user('Go'),
      assistant([call(id, { providerCallId: 'bad id' })]),
      result(id, 'x'),
    );
    const toolUseId = (second?.content[0]?.['toolUse'] as { toolUseId: string } | undefined)?.toolUseId;
    expect(toolUseId).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(third?.content).toEqual([{ toolResult: { toolUseId, content: [{ text: 'x' }] } }]);
  });

  it('answer calls without a result, before anything else of the user’s', () => {
    const made = assistant([call('a'), call('b')]);
    const written = messagesOf(user('Go'), made, result('b', 'two'), user('And?'));
    expect(written[2]?.content).toMatchObject([
      { toolResult: { toolUseId: 'b' } },
      { toolResult: { toolUseId: 'a', ...INTERRUPTED } },
      { text: 'And?' },
    ]);
    expect(messagesOf(user('Go'), made)[2]?.content).toMatchObject([
      { toolResult: { toolUseId: 'a', ...INTERRUPTED } },
      { toolResult: { toolUseId: 'b', ...INTERRUPTED } },
    ]);
  });

  it('carry results as text, JSON and images, and failures as text alone', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
    const json = { type: 'file', mediaType: 'application/json', data: btoa('{"a":[1]}') } as const;
    const answered = (fields: object, ...content: Parameters<typeof result>[1][]): unknown =>
      messagesOf(user('Go'), assistant([call('a')]), { ...result('a', ...content), ...fields })[2]?.content[0]?.[
        'toolResult'
      ];
    expect(answered({}, 'x', json, image)).toEqual({
      toolUseId: 'a',
      content: [{ text: 'x' }, { json: { a: [1] } }, { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } }],
    });
    expect(answered({ isError: true }, 'x', image)).toMatchObject({
      status: 'error',
      content: [{ text: 'x' }, { text: expect.stringContaining('can not be shown') as string }],
    });
    expect(answered({})).toMatchObject({ content: [{ text: '(No output.)' }] });
    expect(answered({ isError: true })).toMatchObject({ content: [{ text: 'The call failed and said nothing.' }] });
  });

  it('give the service’s own calls back in pairs, and cited text with its citations', () => {
    const raw = { toolUse: { toolUseId: 't', name: 'g', type: 'server_tool_use', input: {} } };
    const answer = { toolResult: { toolUseId: 't', content: [] } };
    const made = { type: 'provider_tool_call', callId: 't', name: 'g', arguments: {}, raw } as const;
    const answered = { type: 'provider_tool_result', callId: 't', name: 'g', isError: false, raw: answer } as const;
    const cited = { type: 'text', text: 'Found.', citations: [{ title: 'A' }] } as const;
    const contentAfter = (...content: Parameters<typeof assistant>[0]): unknown =>
      (bodyOf(protocol, request([user('Go'), assistant(content), user('More')])) as Body).messages[1]?.content;
    expect(contentAfter(made, answered, cited)).toEqual([
      raw,
      answer,
      { citationsContent: { content: [{ text: 'Found.' }], citations: [{ title: 'A' }] } },
    ]);
    expect(contentAfter(made, 'Hi')).toEqual([{ text: 'Hi' }]);
  });
});

describe('images and files', () => {
  const file = (fields: Partial<FileBlock>): FileBlock => ({
    type: 'file',
    mediaType: 'application/pdf',
    data: btoa('%PDF'),
    ...fields,
  });
  const namesOf = (content: readonly Record<string, unknown>[]): unknown[] =>
    content.flatMap((block) => ('document' in block ? [(block['document'] as { name: string }).name] : []));

  it('go as bytes or from S3; the web is not asked', () => {
    const source = { s3Location: { uri: 's3://b/x.png' } };
    expect(
      contentOf(
        user(
          { type: 'image', mediaType: 'image/jpeg', data: '/9j/' },
          { type: 'image', mediaType: 'image/png', url: 's3://b/x.png' },
          { type: 'image', mediaType: 'image/png', url: 'https://a.example/x.png' },
          { type: 'image', mediaType: 'image/tiff', data: '/9j/' },
        ),
      ),
    ).toMatchObject([
      { image: { format: 'jpeg', source: { bytes: '/9j/' } } },
      { image: { format: 'png', source } },
      { text: expect.stringContaining('can not be shown') as string },
      { text: expect.stringContaining('image/tiff') as string },
    ]);
  });

  it('have legal names that differ, and stay when the conversation grows', () => {
    const first = user('a', file({ name: 'Q1: report_final.pdf' }), file({ name: 'Q1: report_final.pdf' }), file({}));
    const second = user('b', file({ name: 'Q1: report_final.pdf' }), file({ name: 'x'.repeat(300) }));
    expect(namesOf(contentOf(first))).toEqual(['Q1- report-final', 'Q1- report-final (2)', 'document']);
    const [, , third] = messagesOf(first, assistant(['ok']), second);
    expect(namesOf(third?.content ?? [])).toEqual(['Q1- report-final (3)', 'x'.repeat(200)]);
  });

  it('have a text beside a document, and text of any kind as a document', () => {
    expect(contentOf(user(file({ mediaType: 'text/x-python', data: btoa('print()'), name: 'a.py' })))).toEqual([
      { document: { format: 'txt', name: 'a', source: { bytes: btoa('print()') } } },
      { text: '(A document.)' },
    ]);
    expect(contentOf(user(file({ mediaType: 'application/zip', data: '/w==' })))).toMatchObject([
      { text: expect.stringContaining('application/zip') as string },
    ]);
    expect(contentOf(user(file({ mediaType: 'video/mp4', data: 'AAAA' })))).toMatchObject([
      { video: { format: 'mp4' } },
    ]);
  });
});
