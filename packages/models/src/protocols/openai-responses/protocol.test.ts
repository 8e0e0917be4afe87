import type { AssistantMessage, JsonObject, Message, RunResult, Session } from '@treadle/core';
import { createSession, defineAgent, defineTool, memoryJournal, openSession } from '@treadle/core';
import { fakeProvider, type FakeProvider, type ProviderTurn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { anthropic } from '../../deployments/anthropic.ts';
import { openaiResponsesModel, type OpenAIResponsesOptions } from '../../deployments/openai-responses.ts';

// Whole runs, over a real socket, with a server that refuses what the service refuses.

const weather = defineTool({
  name: 'weather',
  description: 'Says how the weather is.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { type: 'string' } },
    required: ['city'],
  },
  execute: ({ city, unit }) => `Rain in ${city}, in ${unit}.`,
});

const ENCRYPTED = 'gAAAAABo+/=-_"\\ü🦊';

const modelOf = (provider: FakeProvider, options: OpenAIResponsesOptions = {}) =>
  openaiResponsesModel('gpt-5-test', { apiKey: 'key', baseUrl: provider.openaiBaseUrl, env: {}, ...options });

const inputOf = (provider: FakeProvider, request: number): readonly JsonObject[] => {
  const body = provider.requests[request]?.body as JsonObject | undefined;
  return (body?.['input'] ?? []) as readonly JsonObject[];
};

/** The output items of a reply, from the last event of its stream. */
const outputs: ProviderTurn[] = [
  {
    content: [
      { type: 'thinking', text: 'It may rain.', signature: ENCRYPTED },
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_call', name: 'weather', arguments: { city: 'Köln' }, providerCallId: 'call_abc' },
      { type: 'tool_call', name: 'weather', arguments: { city: 'Bonn', unit: 'C' }, providerCallId: 'call_def' },
    ],
  },
  {
    content: [
      { type: 'redacted_thinking', data: ENCRYPTED },
      { type: 'text', text: 'It rains.' },
    ],
  },
];

const assistants = (messages: readonly Message[]): AssistantMessage[] =>
  messages.filter((message) => message.role === 'assistant');

async function ask(session: Session, prompt: string): Promise<RunResult> {
  const result = await session.prompt(prompt).result;
  expect(result.status).toBe('completed');
  return result;
}

describe('a conversation with tools', () => {
  it('is held over a socket, and sends back what came, byte for byte', async () => {
    await using provider = await fakeProvider([...outputs, 'Still raining.'], { chunkSize: 3, chunking: 1 });
    const agent = defineAgent({ model: modelOf(provider), tools: [weather], instructions: 'Be brief.' });
    const session = await createSession(agent, { journal: memoryJournal() });
    const result = await ask(session, 'How is the weather?');
    expect(result.text).toBe('It rains.');
    await ask(session, 'And now?');

    const first = [
      { role: 'user', content: [{ type: 'input_text', text: 'How is the weather?' }] },
      {
        id: 'rs_fake1x0',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'It may rain.' }],
        encrypted_content: ENCRYPTED,
      },
      {
        id: 'msg_fake1x1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Let me see.', annotations: [] }],
      },
      {
        id: 'fc_fake1x2',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_abc',
        name: 'weather',
        arguments: '{"city":"Köln"}',
      },
      {
        id: 'fc_fake1x3',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_def',
        name: 'weather',
        arguments: '{"city":"Bonn","unit":"C"}',
      },
      { type: 'function_call_output', call_id: 'call_abc', output: 'Rain in Köln, in undefined.' },
      { type: 'function_call_output', call_id: 'call_def', output: 'Rain in Bonn, in C.' },
    ];
    expect(inputOf(provider, 1)).toEqual(first);
    expect(inputOf(provider, 2)).toEqual([
      ...first,
      { id: 'rs_fake2x0', type: 'reasoning', summary: [], encrypted_content: ENCRYPTED },
      expect.objectContaining({ id: 'msg_fake2x1' }),
      { role: 'user', content: [{ type: 'input_text', text: 'And now?' }] },
    ]);
    // Every byte of what came before stands at the same place in the next request.
    const inputs = provider.requests.map(({ rawBody }) => rawBody.slice(0, rawBody.lastIndexOf(']')));
    expect(inputs[1]?.startsWith(inputs[0] ?? '?')).toBe(true);
    expect(inputs[2]?.startsWith(inputs[1] ?? '?')).toBe(true);
    expect(provider.requests[1]?.rawBody).toContain(JSON.stringify(ENCRYPTED));
    expect(provider.requests.flatMap(({ problems }) => problems)).toEqual([]);
    expect(provider.requests[0]?.body).toMatchObject({
      instructions: 'Be brief.',
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: expect.any(String),
    });
  });

  it('goes on in another process from what was kept', async () => {
    await using provider = await fakeProvider([...outputs, 'Still raining.']);
    const agent = defineAgent({ model: modelOf(provider), tools: [weather] });
    const journal = memoryJournal();
    const session = await createSession(agent, { journal, id: 's1' });
    await ask(session, 'How is the weather?');
    await ask(await openSession(agent, 's1', { journal }), 'And now?');
    expect(inputOf(provider, 2).slice(0, inputOf(provider, 1).length)).toEqual(inputOf(provider, 1));
    expect(inputOf(provider, 2)).toContainEqual(
      expect.objectContaining({ id: 'rs_fake2x0', encrypted_content: ENCRYPTED }),
    );
  });

  it('may be asked for whole replies', async () => {
    await using provider = await fakeProvider(outputs);
    const model = modelOf(provider);
    const agent = defineAgent({ model, tools: [weather], providerOptions: { stream: false } });
    const result = await ask(await createSession(agent), 'How is the weather?');
    expect(result.text).toBe('It rains.');
    expect(inputOf(provider, 1)).toContainEqual(
      expect.objectContaining({ id: 'rs_fake1x0', encrypted_content: ENCRYPTED }),
    );
  });

  it('with strict tools lets the model leave out what it may leave out', async () => {
    const called = { name: 'weather', arguments: { city: 'Köln', unit: null } };
    await using provider = await fakeProvider([{ toolCalls: [called] }, 'It rains.']);
    const model = modelOf(provider, { quirks: { strictTools: true } });
    await ask(await createSession(defineAgent({ model, tools: [weather] })), 'How is the weather?');
    expect(provider.requests[0]?.body).toMatchObject({
      tools: [
        {
          name: 'weather',
          strict: true,
          parameters: { required: ['city', 'unit'], properties: { unit: { type: ['string', 'null'] } } },
        },
      ],
    });
    expect(inputOf(provider, 1)).toContainEqual(
      expect.objectContaining({ type: 'function_call_output', output: 'Rain in Köln, in undefined.' }),
    );
  });

  it('shows images that a tool returns', async () => {
    const camera = defineTool({
      name: 'camera',
      description: 'Takes a picture.',
      execute: () => [
        { type: 'text', text: 'Seen:' },
        { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      ],
    });
    await using provider = await fakeProvider([{ toolCalls: [{ name: 'camera' }] }, 'A cat.']);
    await ask(await createSession(defineAgent({ model: modelOf(provider), tools: [camera] })), 'Look!');
    expect(inputOf(provider, 1).at(-1)).toEqual({
      type: 'function_call_output',
      call_id: 'call_1_1',
      output: [
        { type: 'input_text', text: 'Seen:' },
        { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
      ],
    });
  });

  it('executes no call that the output limit cut off', async () => {
    let executed = 0;
    const act = defineTool({ name: 'act', description: 'Acts.', execute: () => String(executed++) });
    const cutOff: ProviderTurn = {
      toolCalls: [{ name: 'act', argumentsText: '{"a": "b', providerCallId: 'call_cut' }],
      stopReason: 'length',
    };
    await using provider = await fakeProvider([cutOff, 'I give up.']);
    await ask(await createSession(defineAgent({ model: modelOf(provider), tools: [act] })), 'Go!');
    expect(executed).toBe(0);
    expect(inputOf(provider, 1).slice(1)).toMatchObject([
      { type: 'function_call', call_id: 'call_cut', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_cut', output: expect.stringContaining('cut off') },
    ]);
  });
});

describe('a change of provider', () => {
  const agentOf = (model: ReturnType<typeof modelOf>) => defineAgent({ model, tools: [weather] });
  const claude = (provider: FakeProvider) =>
    anthropic('claude-test', { apiKey: 'key', baseUrl: provider.anthropicBaseUrl, env: {} });

  const anthropicTurns: ProviderTurn[] = [
    {
      content: [
        { type: 'thinking', text: 'Secret thought.', signature: 'c2VjcmV0' },
        { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
        {
          type: 'provider_tool_call',
          callId: 'srvtoolu_1',
          name: 'web_search',
          arguments: {},
          raw: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
        },
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_call', name: 'weather', arguments: { city: 'Köln' }, providerCallId: 'toolu_01' },
      ],
    },
    { text: 'It rains.' },
  ];

  it('from Anthropic carries nothing foreign into the request', async () => {
    await using provider = await fakeProvider([...anthropicTurns, 'Still raining.']);
    const journal = memoryJournal();
    const session = await createSession(agentOf(claude(provider)), { journal, id: 's1' });
    await ask(session, 'How is the weather?');
    const switched = await openSession(agentOf(modelOf(provider)), 's1', { journal });
    await ask(switched, 'And now?');

    const request = provider.requests[2];
    expect(request).toMatchObject({ wire: 'openai-responses', problems: [] });
    expect(request?.rawBody).not.toMatch(/Secret|c2VjcmV0|cmVkYWN0|server_tool|srvtoolu|toolu_01/);
    const [asked, said, called, answered, concluded] = inputOf(provider, 2);
    expect(asked).toMatchObject({ role: 'user' });
    expect(said).toEqual({ role: 'assistant', content: 'Let me see.' });
    expect(called).toMatchObject({ type: 'function_call', name: 'weather', arguments: '{"city":"Köln"}' });
    expect(called).not.toHaveProperty('id');
    expect(answered).toMatchObject({ type: 'function_call_output', call_id: called?.['call_id'] });
    expect(concluded).toEqual({ role: 'assistant', content: 'It rains.' });
  });

  it('to Anthropic carries nothing of this wire, and back again all of it', async () => {
    await using provider = await fakeProvider([...outputs, 'Claude says so, too.', 'Still raining.']);
    const journal = memoryJournal();
    const session = await createSession(agentOf(modelOf(provider)), { journal, id: 's1' });
    await ask(session, 'How is the weather?');
    await ask(await openSession(agentOf(claude(provider)), 's1', { journal }), 'Really?');
    expect(provider.requests[2]).toMatchObject({ wire: 'anthropic-messages', problems: [] });
    expect(provider.requests[2]?.rawBody).not.toMatch(/gAAAA|rs_fake|msg_fake|fc_fake|It may rain/);
    const back = await openSession(agentOf(modelOf(provider)), 's1', { journal });
    const result = await ask(back, 'And now?');
    expect(provider.requests[3]?.problems).toEqual([]);
    expect(inputOf(provider, 3).slice(0, inputOf(provider, 1).length)).toEqual(inputOf(provider, 1));
    expect(inputOf(provider, 3)).toContainEqual({ role: 'assistant', content: 'Claude says so, too.' });
    expect(assistants(result.messages).at(-1)?.provider).toBe('openai-responses');
  });
});
