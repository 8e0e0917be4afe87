import { createSession, defineAgent, defineTool } from '@treadle/core';
import type { ModelRequest, Thinking } from '@treadle/core/model';
import { fakeProvider, type FakeProvider, type ProviderRequest } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import type { ModelOptions } from '../deployments/deployment.ts';
import { azure } from '../deployments/azure.ts';
import { resolveModel } from '../deployments.ts';
import { sentBy } from '../test-support/sent.ts';
import { REQUEST } from '../test-support/streams.ts';

const TOOL = { name: 'look', description: 'Looks.', inputSchema: { type: 'object' } } as const;
const SCHEMA = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;

type Body = Readonly<Record<string, unknown>>;

/** The body of a request as the model of this name writes it. */
async function bodyOf(name: string, fields: Partial<ModelRequest>): Promise<Body> {
  const create = (options: ModelOptions) => resolveModel(name, { apiKey: 'k', ...options });
  const { body } = await sentBy(create, {}, { ...REQUEST, ...fields });
  return JSON.parse(body) as Body;
}

const modelAt = (name: string, provider: FakeProvider) => {
  const baseUrl = name.startsWith('anthropic/') ? provider.anthropicBaseUrl : provider.openaiBaseUrl;
  return resolveModel(name, { baseUrl, apiKey: 'k', env: {} });
};

describe('a parameter that a model refuses', () => {
  it('is left out, and one warning of a session says so', async () => {
    await using provider = await fakeProvider(['One.', 'Two.', 'Three.']);
    const agent = defineAgent({ model: modelAt('anthropic/claude-opus-4-8', provider), temperature: 0.2 });
    const session = await createSession(agent, { id: 's1' });
    const warnings: string[] = [];
    session.subscribe((event) => void (event.type === 'warning' && warnings.push(event.code)));
    await session.prompt('Hi').result;
    const second = await session.prompt('Hi').result;
    expect(second.warnings).toEqual([]);
    expect(warnings).toEqual(['temperature_dropped']);
    expect(provider.requests.every(({ rawBody }) => !rawBody.includes('temperature'))).toBe(true);
    const other = await createSession(agent, { id: 's2' });
    expect((await other.prompt('Hi').result).warnings).toMatchObject([{ code: 'temperature_dropped' }]);
  });

  it('is sent to models that take it', async () => {
    expect(await bodyOf('anthropic/claude-haiku-4-5', { temperature: 0.2 })).toMatchObject({ temperature: 0.2 });
    expect(await bodyOf('openai/gpt-4.1', { temperature: 0.2 })).toMatchObject({ temperature: 0.2 });
    expect(await bodyOf('openai/gpt-5.6-sol', { temperature: 0.2, thinking: 'off' })).toMatchObject({
      temperature: 0.2,
    });
    expect(await bodyOf('openai/gpt-5.6-sol', { temperature: 0.2 })).not.toHaveProperty('temperature');
  });
});

describe('a tool that must be called', () => {
  it.each(['anthropic/claude-opus-5-5', 'anthropic/claude-fable-5-1'])('is asked for in words of %s', async (name) => {
    const body = await bodyOf(name, { tools: [TOOL], toolChoice: { name: 'look' } });
    expect(body).not.toHaveProperty('tool_choice');
    expect(JSON.stringify(body['system'])).toContain('Your next reply must call the tool look.');
  });

  it('is no way to ask such a model for a form', async () => {
    const body = await bodyOf('anthropic/claude-opus-5-5', { responseFormat: { type: 'json_object' } });
    expect(body).not.toHaveProperty('tools');
    expect(JSON.stringify(body['system'])).toContain('Reply with one JSON object');
  });

  it('is forced with thinking switched off where the two exclude each other', async () => {
    const body = await bodyOf('anthropic/claude-opus-5', { tools: [TOOL], toolChoice: 'required' });
    expect(body).toMatchObject({ tool_choice: { type: 'any' }, thinking: { type: 'disabled' } });
  });
});

it('asks a model of the catalogue for as much output as it can give', async () => {
  expect(await bodyOf('anthropic/claude-sonnet-5-5', {})).toMatchObject({ max_tokens: 128_000 });
});

describe('thinking', () => {
  it.each<[name: string, thinking: Thinking, sent: object]>([
    ['openai/gpt-5.1', 'minimal', { reasoning: { effort: 'low' } }],
    ['openai/gpt-5', 'minimal', { reasoning: { effort: 'minimal' } }],
    ['openai/gpt-5.6-sol', 'off', { reasoning: { effort: 'none' } }],
    ['openai/gpt-6.2-sol', 'off', { reasoning: { effort: 'low' } }],
    ['openai/gpt-6.1-sol', 'max', { reasoning: { effort: 'max' } }],
    ['openai/gpt-5.1', 'max', { reasoning: { effort: 'high' } }],
    ['openai/gpt-6-sol', { budgetTokens: 16_000 }, { reasoning: { effort: 'xhigh' } }],
    ['anthropic/claude-sonnet-5-5', 'off', { thinking: { type: 'between_tools' } }],
    ['anthropic/claude-sonnet-5', 'off', { thinking: { type: 'disabled' } }],
    ['anthropic/claude-opus-4-6', { budgetTokens: 5000 }, { thinking: { type: 'enabled', budget_tokens: 5000 } }],
    ['moonshot/kimi-k3', 'medium', { reasoning_effort: 'high' }],
    ['openrouter/anthropic/claude-opus-5', { budgetTokens: 5000 }, { reasoning: { max_tokens: 5000 } }],
  ])('of %s at %j is the nearest that it takes', async (name, thinking, sent) => {
    expect(await bodyOf(name, { thinking })).toMatchObject(sent);
  });

  it('that can not be switched off is a warning', async () => {
    await using provider = await fakeProvider(['Hi.']);
    const model = modelAt('openai/gpt-6.2-sol', provider);
    const { warnings } = await (await createSession(defineAgent({ model, thinking: 'off' }))).prompt('Hi').result;
    expect(warnings).toMatchObject([{ code: 'thinking_not_off' }]);
  });

  it('is a level or a budget, and nothing else', async () => {
    const model = resolveModel('openai/gpt-5', { apiKey: 'k', env: {} });
    for (const thinking of ['hard', { budgetTokens: 0 }, { budgetTokens: '5' }] as unknown as readonly Thinking[]) {
      expect(() => defineAgent({ model, thinking })).toThrow(/thinking must be one of/);
    }
  });
});

it('a form beside tools stands in the instructions of models that take none there', async () => {
  const fields = { tools: [TOOL], responseFormat: { type: 'json_schema', name: 'n', schema: SCHEMA } } as const;
  const older = await bodyOf('google/gemini-2.5-flash', fields);
  expect(JSON.stringify(older)).not.toContain('responseMimeType');
  expect(JSON.stringify(older['systemInstruction'])).toContain('It must fit this JSON Schema');
  expect(JSON.stringify(await bodyOf('google/gemini-3.8-flash', fields))).toContain('responseMimeType');
});

describe('a deployment of Azure, whose name says nothing of its model', () => {
  const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const asks = ({ rawBody }: ProviderRequest): boolean => rawBody.includes('reasoning.encrypted_content');

  it('gets its reasoning back', async () => {
    await using provider = await fakeProvider([{ thinking: 'Hm.', toolCalls: [{ name: 'look' }] }, 'Done.']);
    const model = azure('prod-chat', { baseUrl: provider.azureBaseUrl, apiKey: 'k', env: {} });
    const session = await createSession(defineAgent({ model, tools: [look] }));
    expect((await session.prompt('Go.').result).status).toBe('completed');
    expect(provider.requests.map(asks)).toEqual([true, true]);
  });

  it('is asked again without reasoning where its model has none', async () => {
    const message = 'Encrypted content is not supported with this model.';
    await using provider = await fakeProvider((request) =>
      asks(request) ? { error: { status: 400, message } } : 'Hi.',
    );
    const model = azure('prod-chat', { baseUrl: provider.azureBaseUrl, apiKey: 'k', env: {} });
    const session = await createSession(defineAgent({ model, retry: { initialDelayMs: 0 } }));
    expect((await session.prompt('Go.').result).text).toBe('Hi.');
    expect((await session.prompt('Go.').result).text).toBe('Hi.');
    expect(provider.requests.map(asks)).toEqual([true, false, false]);
  });

  it('has the rules of the model that a quirk names', async () => {
    const create = (options: ModelOptions) =>
      azure('prod-chat', {
        ...options,
        baseUrl: 'https://r.openai.azure.com',
        apiKey: 'k',
        quirks: { family: 'gpt-4o' },
      });
    const { body } = await sentBy(create, {}, { ...REQUEST, temperature: 0.2 });
    expect(JSON.parse(body)).toMatchObject({ temperature: 0.2 });
    expect(body).not.toContain('include');
  });
});

describe('through OpenRouter', () => {
  it('Claude is cached by a field of the request', async () => {
    expect(await bodyOf('openrouter/anthropic/claude-opus-5', {})).toMatchObject({
      cache_control: { type: 'ephemeral' },
    });
    expect(await bodyOf('openrouter/anthropic/claude-opus-5', { cache: 'off' })).not.toHaveProperty('cache_control');
  });

  it('Qwen is cached by marks at the instructions, the last tool and the last message', async () => {
    const body = await bodyOf('openrouter/qwen/qwen3-max', { system: 'Be brief.', tools: [TOOL] });
    const mark = { cache_control: { type: 'ephemeral' } };
    const messages = body['messages'] as readonly { readonly content: unknown }[];
    expect(messages[0]?.content).toEqual([{ type: 'text', text: 'Be brief.', ...mark }]);
    expect(messages.at(-1)?.content).toMatchObject([mark]);
    expect(body['tools']).toMatchObject([mark]);
  });

  it('models that cache by themselves carry no marks', async () => {
    expect(JSON.stringify(await bodyOf('openrouter/openai/gpt-5', { tools: [TOOL] }))).not.toContain('cache_control');
  });
});
