import { createSession, defineAgent, defineTool, type JsonObject } from '@treadle/core';
import { fakeProvider, type FakeProvider, type ProviderTurn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { anthropic } from './anthropic.ts';
import { resolveModel } from './deployments.ts';

const inputSchema = { type: 'object', properties: { id: { type: 'string' } } } as const;
const ran: unknown[] = [];
const tools = ['cancel', 'refund', 'ship'].map((verb) =>
  defineTool({
    name: `${verb}_order`,
    description: `${verb} an order`,
    inputSchema,
    execute: ({ id }) => (ran.push([verb, id]), 'Done.'),
  }),
);
const toolSearch = { maxTokens: 50, maxResults: 1 };
const query = { query: 'cancel an order' };
const cancel = { name: 'cancel_order', arguments: { id: '7' } };
const definition = { name: 'cancel_order', description: 'cancel an order' };

const bodiesOf = (provider: FakeProvider): readonly JsonObject[] => {
  expect(provider.requests.flatMap(({ problems }) => problems)).toEqual([]);
  return provider.requests.map(({ body }) => body as JsonObject);
};

/** Each request's list begins with all of the one before. */
function expectPrefixes(bodies: readonly JsonObject[], list: string): void {
  const texts = bodies.map((body) => JSON.stringify(body[list]).slice(0, -1));
  for (const [at, text] of texts.slice(1).entries()) expect(text.startsWith(texts[at] ?? '')).toBe(true);
  expect(new Set(bodies.map((body) => JSON.stringify(body['tools']))).size).toBe(1);
}

describe('tools beyond the budget, at Anthropic', () => {
  it('are declared as deferred, and join the prompt where a search refers to them', async () => {
    ran.length = 0;
    await using provider = await fakeProvider([
      { toolCalls: [{ name: 'search_tools', arguments: query }] },
      { toolCalls: [cancel] },
      'It is cancelled.',
    ]);
    const model = anthropic('claude-opus-5-5', { baseUrl: provider.anthropicBaseUrl });
    const session = await createSession(defineAgent({ model, tools, toolSearch, cache: { tools: true } }));
    expect(await session.prompt('Cancel order 7.').result).toMatchObject({ status: 'completed' });
    expect(ran).toEqual([['cancel', '7']]);
    const bodies = bodiesOf(provider);
    expectPrefixes(bodies, 'messages');
    expect(bodies[0]?.['tools']).toEqual([
      expect.objectContaining({ name: 'search_tools', cache_control: { type: 'ephemeral' } }),
      ...tools.map(({ name, description }) => ({ name, description, input_schema: inputSchema, defer_loading: true })),
    ]);
    const found = JSON.stringify([{ type: 'tool_reference', tool_name: 'cancel_order' }]);
    expect(JSON.stringify(bodies[1]?.['messages'])).toContain(`"content":${found}`);
  });

  it('are not declared where rules of the agent or the session deny them', async () => {
    await using provider = await fakeProvider(['Hello.', 'Hello again.']);
    const model = anthropic('claude-opus-5-5', { baseUrl: provider.anthropicBaseUrl });
    const permissions = { deny: ['refund_order'] };
    const session = await createSession(defineAgent({ model, tools, toolSearch, permissions }));
    await session.prompt('Hello').result;
    await session.updatePermissions([
      { type: 'addRules', rules: ['ship_order'], behavior: 'deny', destination: 'session' },
    ]);
    await session.prompt('Hello again').result;
    const names = provider.requests.map(({ body }) =>
      ((body as JsonObject)['tools'] as readonly { readonly name: string }[]).map(({ name }) => name),
    );
    expect(names).toEqual([
      ['search_tools', 'cancel_order', 'ship_order'],
      ['search_tools', 'cancel_order'],
    ]);
  });

  it.each(['claude-haiku-4-5', 'claude-sonnet-4-5'])('are called by call_tool on %s', async (id) => {
    await using provider = await fakeProvider(['Hello.']);
    const model = anthropic(id, { baseUrl: provider.anthropicBaseUrl });
    await (await createSession(defineAgent({ model, tools, toolSearch }))).prompt('Hello').result;
    expect(bodiesOf(provider)[0]?.['tools']).toMatchObject([{ name: 'search_tools' }, { name: 'call_tool' }]);
  });
});

describe('tools beyond the budget, at OpenAI', () => {
  const gpt = (provider: FakeProvider, id = 'gpt-6-luna') =>
    resolveModel(`openai/${id}`, { baseUrl: provider.openaiBaseUrl, apiKey: 'k' });
  const search: NonNullable<ProviderTurn['content']>[number] = {
    type: 'provider_tool_call',
    callId: 'call_1',
    name: 'tool_search',
    arguments: {},
    raw: {
      id: 'tsc_1',
      type: 'tool_search_call',
      execution: 'client',
      call_id: 'call_1',
      status: 'completed',
      arguments: query,
    },
  };

  it('join the prompt as the output of the search', async () => {
    ran.length = 0;
    await using provider = await fakeProvider([{ content: [search] }, { toolCalls: [cancel] }, 'It is cancelled.']);
    const session = await createSession(defineAgent({ model: gpt(provider), tools, toolSearch }));
    expect(await session.prompt('Cancel order 7.').result).toMatchObject({ status: 'completed' });
    expect(ran).toEqual([['cancel', '7']]);
    const bodies = bodiesOf(provider);
    expectPrefixes(bodies, 'input');
    expect(bodies[0]?.['tools']).toMatchObject([{ type: 'tool_search', execution: 'client' }]);
    expect(((bodies[1]?.['input'] ?? []) as readonly JsonObject[]).slice(1)).toEqual([
      {
        id: 'tsc_1',
        type: 'tool_search_call',
        execution: 'client',
        call_id: 'call_1',
        status: 'completed',
        arguments: query,
      },
      {
        type: 'tool_search_output',
        call_id: 'call_1',
        execution: 'client',
        status: 'completed',
        tools: [{ type: 'function', ...definition, parameters: inputSchema, strict: false, defer_loading: true }],
      },
    ]);
  });

  it('are called by call_tool where the model knows no tool search', async () => {
    await using provider = await fakeProvider(['Hello.']);
    await (await createSession(defineAgent({ model: gpt(provider, 'gpt-5.1'), tools, toolSearch }))).prompt('Hello')
      .result;
    expect(bodiesOf(provider)[0]?.['tools']).toMatchObject([{ name: 'search_tools' }, { name: 'call_tool' }]);
  });
});
