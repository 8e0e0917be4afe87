// Packages of the AI SDK, real ones, with the fake providers: `aiSdkModel` and `asAiSdkModel` keep what they promise.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createSession, defineAgent, defineTool, type Model } from '@treadle/core';
import { aiSdkModel, asAiSdkModel, type AiSdkLanguageModel } from '@treadle/models/ai-sdk';
import { fakeProvider, modelContract, scriptedModel, type FakeProvider, type Turn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';

const FOLDER = join(import.meta.dirname, '../compat/ai-sdk');

type Create = (options: object) => { (model: string): AiSdkLanguageModel; chat(model: string): AiSdkLanguageModel };

const load = async (name: string): Promise<Readonly<Record<string, unknown>>> => {
  const path = createRequire(join(FOLDER, 'package.json')).resolve(name);
  return (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
};

const PROVIDERS = [
  {
    name: '@ai-sdk/anthropic',
    create: 'createAnthropic',
    url: ({ anthropicBaseUrl }: FakeProvider) => `${anthropicBaseUrl}/v1`,
  },
  {
    name: '@ai-sdk/anthropic-v3',
    create: 'createAnthropic',
    url: ({ anthropicBaseUrl }: FakeProvider) => `${anthropicBaseUrl}/v1`,
  },
  { name: '@ai-sdk/openai', create: 'createOpenAI', url: ({ openaiBaseUrl }: FakeProvider) => openaiBaseUrl },
  {
    name: '@ai-sdk/google',
    create: 'createGoogle',
    url: ({ googleBaseUrl }: FakeProvider) => `${googleBaseUrl}/v1beta`,
  },
] as const;

const modelOf = async ({ name, create, url }: (typeof PROVIDERS)[number], provider: FakeProvider): Promise<Model> => {
  const made = await load(name);
  const make = (made[create] ?? made['createGoogleGenerativeAI']) as Create;
  return aiSdkModel(make({ apiKey: 'test-key-0123456789', baseURL: url(provider) })('model-1'));
};

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
  execute: ({ city }) => `Rain in ${city}.`,
});

describe.each(PROVIDERS)('aiSdkModel with $name', (row) => {
  const cases = modelContract(async (turns) => {
    const provider = await fakeProvider(turns);
    return { model: await modelOf(row, provider), dispose: () => provider.close() };
  });
  // The packages refuse a reply of Anthropic without counts.
  const tried = row.name.includes('anthropic')
    ? cases.filter(({ name }) => !name.startsWith('reports the tokens'))
    : cases;
  for (const { name, run } of tried) it(name, run);

  it('runs an agent with parallel tools, reasoning and an image', async () => {
    const toolCalls = ['Oslo', 'Rome'].map((city) => ({ name: 'weather', arguments: { city } }));
    const first: Turn = {
      content: [
        { type: 'thinking', text: 'Two cities.', signature: 'c2lnbmVk' },
        ...toolCalls.map((call) => ({ type: 'tool_call', ...call }) as const),
      ],
    };
    await using provider = await fakeProvider([first, 'It rains in both.']);
    // OpenAI's own store is not for those who keep the conversation themselves.
    const providerOptions = { openai: { store: false } };
    const agent = defineAgent({ model: await modelOf(row, provider), tools: [weather], providerOptions });
    const session = await createSession(agent);
    const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
    const result = await session.prompt([{ type: 'text', text: 'Weather there?' }, image]).result;
    expect(result.error).toBeNull();
    expect(result).toMatchObject({ status: 'completed', text: 'It rains in both.' });
    expect(result.usage.input).toBeGreaterThan(0);
  });
});

describe('asAiSdkModel with `ai`', () => {
  it('runs generateText and streamText with tools', async () => {
    const { generateText, streamText, stepCountIs, tool, jsonSchema } = (await load('ai')) as {
      readonly generateText: (options: object) => Promise<{ readonly text: string; readonly usage: object }>;
      readonly streamText: (options: object) => { readonly textStream: AsyncIterable<string> };
      readonly stepCountIs: (count: number) => unknown;
      readonly tool: (definition: object) => unknown;
      readonly jsonSchema: (schema: object) => unknown;
    };
    const turns: Turn[] = [{ toolCalls: [{ name: 'weather', arguments: { city: 'Oslo' } }] }, { text: 'Rain.' }];
    const tools = {
      weather: tool({
        description: 'The weather.',
        inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } } }),
        execute: async ({ city }: { readonly city: string }) => `Rain in ${city}.`,
      }),
    };
    const options = { prompt: 'Weather in Oslo?', tools, stopWhen: stepCountIs(3) };
    const scripted = scriptedModel(turns);
    expect(await generateText({ ...options, model: asAiSdkModel(scripted) })).toMatchObject({ text: 'Rain.' });
    expect(scripted.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: [{ text: 'Rain in Oslo.' }] });
    let streamed = '';
    for await (const text of streamText({ ...options, model: asAiSdkModel(scriptedModel(turns)) }).textStream)
      streamed += text;
    expect(streamed).toBe('Rain.');
  });
});
