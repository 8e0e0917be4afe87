import { createSession, defineAgent, defineTool, type Model } from '@treadle/core';
import type { ModelEvent } from '@treadle/core/model';
import { fakeProvider, modelContract, scriptedModel } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { aiSdkModel, asAiSdkModel, type AiSdkLanguageModel } from '../ai-sdk.ts';
import { request, user } from '../test-support/messages.ts';
import { TEST_WIRES } from '../test-support/wires.ts';
import type { CallOptions, StreamPart } from './types.ts';

const USAGE = {
  inputTokens: { total: 100, noCache: 20, cacheRead: 70, cacheWrite: 10 },
  outputTokens: { total: 9, text: 5, reasoning: 4 },
};
const finish = (unified: 'stop' | 'tool-calls' | 'error' = 'stop'): StreamPart => ({
  type: 'finish',
  usage: USAGE,
  finishReason: { unified, raw: unified },
});

/** A language model that replies with these parts, a list for each call. */
function languageModel(replies: readonly (readonly StreamPart[])[], version: 'v3' | 'v4' = 'v4') {
  const calls: CallOptions[] = [];
  const model: AiSdkLanguageModel = {
    specificationVersion: version,
    provider: 'Acme.chat',
    modelId: 'acme-1',
    async doStream(options: CallOptions) {
      const parts = replies[calls.length] ?? [];
      calls.push(options);
      return { stream: ReadableStream.from(parts) };
    },
  };
  return { calls, model };
}

const text = (value: string): StreamPart[] => [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: value },
  { type: 'text-end', id: '0' },
];

async function read(model: Model, input = request([user('Hi')])): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(input, new AbortController().signal)) events.push(event);
  return events;
}

describe('a model of the AI SDK keeps the contract of a model', () => {
  const ofScripts = modelContract(async (turns) => ({ model: aiSdkModel(asAiSdkModel(scriptedModel(turns))) }));
  for (const { name, run } of ofScripts) it(name, run);
});

describe.each(TEST_WIRES)('by way of the AI SDK and back, on $name', (wire) => {
  const cases = modelContract(async (turns) => {
    const provider = await fakeProvider(turns);
    return { model: aiSdkModel(asAiSdkModel(wire.model(provider))), dispose: () => provider.close() };
  });
  for (const { name, run } of cases) it(name, run);
});

describe('aiSdkModel', () => {
  it('runs an agent: reasoning and calls go back with what their provider wants back', async () => {
    const signed = { acme: { signature: 'c2lnbmVk' } };
    const thought = { acme: { thoughtSignature: 'dGhvdWdodA' } };
    const { calls, model } = languageModel([
      [
        { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'topK' }] },
        { type: 'response-metadata', id: 'r1', modelId: 'acme-1-2026' },
        { type: 'reasoning-start', id: '0' },
        { type: 'reasoning-delta', id: '0', delta: 'It may rain.' },
        { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: signed },
        { type: 'reasoning-end', id: '0' },
        { type: 'tool-input-start', id: 'c1', toolName: 'weather' },
        { type: 'tool-input-delta', id: 'c1', delta: '{"city":' },
        { type: 'tool-input-delta', id: 'c1', delta: '"Oslo"}' },
        { type: 'tool-input-end', id: 'c1' },
        {
          type: 'tool-call',
          toolCallId: 'c1',
          toolName: 'weather',
          input: '{"city":"Oslo"}',
          providerMetadata: thought,
        },
        finish('tool-calls'),
      ],
      [...text('Rain.'), finish()],
    ]);
    const weather = defineTool({
      name: 'weather',
      description: 'The weather.',
      inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
      execute: ({ city }) => `Rain in ${city}.`,
    });
    const agent = defineAgent({
      model: aiSdkModel(model),
      tools: [weather],
      instructions: 'Be brief.',
      thinking: 'low',
    });
    const result = await (await createSession(agent)).prompt('Weather in Oslo?').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Rain.' });
    expect(result.warnings).toEqual([{ code: 'unsupported', message: 'topK: unsupported' }]);
    expect(result.usage).toEqual({ input: 40, output: 18, cacheRead: 140, cacheWrite: 20, reasoning: 8 });
    expect(calls[0]).toMatchObject({
      prompt: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
      tools: [{ type: 'function', name: 'weather' }],
      reasoning: 'low',
    });
    expect(calls[1]?.prompt.slice(2)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'It may rain.', providerOptions: signed },
          {
            type: 'tool-call',
            toolCallId: 'c1',
            toolName: 'weather',
            input: { city: 'Oslo' },
            providerOptions: thought,
          },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            toolName: 'weather',
            output: { type: 'text', value: 'Rain in Oslo.' },
          },
        ],
      },
    ]);
  });

  it('sends files in the form of the interface’s version', async () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'aGk=' } as const;
    const linked = {
      type: 'file',
      mediaType: 'application/pdf',
      name: 'a.pdf',
      url: 'https://example.com/a.pdf',
    } as const;
    const asked = request([{ ...user('Look.'), content: [image, linked] }]);
    for (const version of ['v3', 'v4'] as const) {
      const { calls, model } = languageModel([[...text('I see.'), finish()]], version);
      await read(aiSdkModel(model), { ...asked, thinking: 'high' });
      const url = new URL(linked.url);
      expect(calls[0]?.prompt[0]?.content).toEqual([
        { type: 'file', mediaType: 'image/png', data: version === 'v4' ? { type: 'data', data: 'aGk=' } : 'aGk=' },
        {
          type: 'file',
          mediaType: 'application/pdf',
          filename: 'a.pdf',
          data: version === 'v4' ? { type: 'url', url } : url,
        },
      ]);
      expect(calls[0]?.reasoning).toBe(version === 'v4' ? 'high' : undefined);
    }
  });

  it('keeps what the provider ran itself, files it made, and the call of a reply that ended with `stop`', async () => {
    const call = {
      type: 'tool-call',
      toolCallId: 's1',
      toolName: 'web_search',
      input: '{"q":"x"}',
      providerExecuted: true,
    } as const;
    const { calls, model } = languageModel([
      [
        call,
        { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', result: { hits: 1 }, preliminary: true },
        { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', result: { hits: 2 } },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([104, 105]) } },
        { type: 'source' },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '' },
        finish('stop'),
      ],
      [...text('Done.'), finish()],
    ]);
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'All well.' });
    const session = await createSession(defineAgent({ model: aiSdkModel(model), tools: [look] }));
    const result = await session.prompt('Search.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    const [reply] = result.messages.filter(({ role }) => role === 'assistant');
    expect(reply).toMatchObject({
      stopReason: 'tool_use',
      unknownTypes: { source: 1 },
      content: [
        { type: 'provider_tool_call', name: 'web_search', arguments: { q: 'x' } },
        { type: 'provider_tool_result', isError: false },
        { type: 'image', data: 'aGk=' },
        { type: 'tool_call', name: 'look', arguments: {} },
      ],
    });
    expect(calls[1]?.prompt[1]?.content.slice(0, 2)).toEqual([
      { ...call, input: { q: 'x' } },
      { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', output: { type: 'json', value: { hits: 2 } } },
    ]);
  });

  it.each<[string, unknown, object]>([
    [
      'an error of an API call',
      { message: 'slow down', statusCode: 429, isRetryable: true, responseHeaders: { 'retry-after': '2' } },
      { kind: 'rate_limited', retryable: true, retryAfterMs: 2000 },
    ],
    [
      'an error object in a stream',
      { type: 'overloaded_error', message: 'Overloaded' },
      { kind: 'api', retryable: true, code: 'overloaded_error' },
    ],
    [
      'a prompt that is too long',
      { message: 'prompt is too long: 9 tokens', statusCode: 400, isRetryable: false },
      { kind: 'context_overflow', retryable: false },
    ],
    [
      'a key in its words',
      { message: 'Bad key sk-abcdefghijklmnop', statusCode: 401, isRetryable: false },
      { kind: 'auth', message: 'Bad key [redacted]' },
    ],
  ])('makes %s an error event', async (_what, error, expected) => {
    const { model } = languageModel([[{ type: 'error', error }]]);
    expect((await read(aiSdkModel(model))).at(-1)).toMatchObject({ type: 'error', error: expected });
    const rejecting: AiSdkLanguageModel = {
      ...model,
      doStream: () => Promise.reject(Object.assign(new Error(), error)),
    };
    if ('statusCode' in (error as object))
      expect((await read(aiSdkModel(rejecting))).at(-1)).toMatchObject({ type: 'error', error: expected });
  });

  it('knows the window and the price of models that the catalogue knows', () => {
    const known = { ...languageModel([]).model, provider: 'anthropic.messages', modelId: 'claude-sonnet-5-5' };
    expect(aiSdkModel(known)).toMatchObject({ contextWindow: 1_000_000, outputLimit: 128_000 });
    expect(aiSdkModel(known, { contextWindow: 5000 }).contextWindow).toBe(5000);
    expect(aiSdkModel(languageModel([]).model).contextWindow).toBeUndefined();
  });

  it('refuses what is no language model, and says which versions it takes', () => {
    const old = { ...languageModel([]).model, specificationVersion: 'v2' as 'v3' };
    expect(() => aiSdkModel(old)).toThrow('version v3 or v4');
    // An agent that is given one tells where it belongs.
    expect(() => defineAgent({ model: old as unknown as Model })).toThrow('aiSdkModel');
  });
});

describe('asAiSdkModel', () => {
  it('gives a signature back to the model behind it, and the whole reply at once', async () => {
    const signed = { type: 'thinking', text: 'Hm.', signature: 'c2ln' } as const;
    const scripted = scriptedModel([{ content: [signed, { type: 'text', text: 'Hello.' }] }, 'Again.']);
    const model = asAiSdkModel(scripted);
    const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] as const;
    const reply = await model.doGenerate({ prompt });
    expect(reply).toMatchObject({
      content: [{ type: 'reasoning' }, { type: 'text', text: 'Hello.' }],
      finishReason: { unified: 'stop' },
    });
    const content = reply.content.map(({ providerMetadata, ...part }) => ({
      ...part,
      providerOptions: providerMetadata,
    }));
    const more = { role: 'assistant', content } as unknown as (typeof prompt)[0];
    await model.doGenerate({ prompt: [...prompt, more, ...prompt] });
    const [, assistant] = scripted.requests[1]?.messages ?? [];
    expect(assistant).toMatchObject({ role: 'assistant', content: [signed, { type: 'text', text: 'Hello.' }] });
  });
});
