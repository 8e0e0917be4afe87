import { createSession, defineAgent, defineTool } from '@treadle/core';
import { fakeProvider } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { DEPLOYMENTS, resolveModel } from '../deployments.ts';
import { sentBy } from '../test-support/sent.ts';
import { CHAT_SERVERS } from './chat-servers.ts';
import { OPENAI_COMPATIBLE, openaiCompatible } from './openai-compatible.ts';
import { OPENAI_CHAT as OPENAI } from './openai.ts';

const ROWS = [OPENAI, ...CHAT_SERVERS, OPENAI_COMPATIBLE];
/** Rows of servers that call nobody's tools. */
const WITHOUT_TOOLS = ['perplexity'];
const LOCAL = ['lmstudio', 'llamacpp', 'vllm'];

const weather = defineTool({
  name: 'weather',
  description: 'Says what the weather is in a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => `It rains in ${city}.`,
});

interface ChatBody {
  readonly messages: readonly {
    readonly role: string;
    readonly content: unknown;
    readonly reasoning_content?: string;
    readonly tool_calls?: readonly { readonly id: string }[];
    readonly tool_call_id?: string;
  }[];
  readonly [field: string]: unknown;
}

/** The two requests of a conversation with one tool call, as this deployment sends them. */
async function conversation(name: string): Promise<readonly [ChatBody, ChatBody]> {
  await using provider = await fakeProvider([
    { thinking: 'Look it up.', toolCalls: [{ name: 'weather', arguments: { city: 'Oslo' } }] },
    'An umbrella.',
  ]);
  const env = { [OPENAI_COMPATIBLE.keyVariables[0] ?? '']: 'k' };
  const model = resolveModel(`${name}/some/model`, { baseUrl: provider.openaiBaseUrl, apiKey: 'k', env });
  const agent = defineAgent({ model, tools: [weather], instructions: 'Be brief.', maxTokens: 100, thinking: 'low' });
  const session = await createSession(agent, { id: 'session-1' });
  const run = await session.prompt('What shall I wear in Oslo?').result;
  expect([run.status, run.text]).toEqual(['completed', 'An umbrella.']);
  expect(provider.requests.map(({ path, problems }) => [path, problems])).toEqual([
    ['/v1/chat/completions', []],
    ['/v1/chat/completions', []],
  ]);
  expect(provider.requests.map(({ headers }) => headers['authorization'])).toEqual(['Bearer k', 'Bearer k']);
  const [first, second] = provider.requests.map(({ body }) => body as unknown as ChatBody);
  if (first === undefined || second === undefined) throw new Error('two requests');
  return [first, second];
}

describe('the deployments', () => {
  it('have names of their own, which are those of their models', () => {
    const names = DEPLOYMENTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9-]*$/);
    expect(names).toEqual(
      expect.arrayContaining([
        ...['anthropic', 'openai', 'azure', 'google', 'vertex', 'bedrock', 'xai', 'groq', 'cerebras', 'mistral'],
        ...['deepseek', 'openrouter', 'together', 'fireworks', 'moonshot', 'alibaba', 'zai', 'perplexity'],
        ...['huggingface', 'github', 'ollama', 'lmstudio', 'llamacpp', 'vllm', 'openai-compatible'],
      ]),
    );
  });

  it('have variables of their own: no key goes to another’s address', () => {
    for (const kind of ['keyVariables', 'baseUrlVariable'] as const) {
      const owners = new Map<string, string>();
      for (const row of DEPLOYMENTS) {
        for (const variable of [row[kind]].flat()) {
          expect(variable).toMatch(/^[A-Z][A-Z0-9_]*$/);
          // One service, by two wires.
          const owner = row.name.replace(/-(?:chat|responses)$/, '');
          expect(owners.get(variable) ?? owner, `${variable} of ${row.name}`).toBe(owner);
          owners.set(variable, owner);
        }
      }
    }
  });
});

describe.each(CHAT_SERVERS.map((row) => [row.name, row] as const))('%s', (name, row) => {
  it('has an address: https, unless it is on this machine', () => {
    if (typeof row.baseUrl !== 'string') throw new Error('an address');
    const url = new URL(row.baseUrl);
    expect([url.protocol, url.search, url.hash, row.baseUrl.endsWith('/')]).toEqual([
      LOCAL.includes(name) ? 'http:' : 'https:',
      '',
      '',
      false,
    ]);
    if (LOCAL.includes(name)) expect(url.hostname).toBe('localhost');
  });

  it('sends its key, and only to where it should', async () => {
    const [variable = ''] = row.keyVariables;
    const { url, headers } = await sentBy((options) => resolveModel(`${name}/m`, options), {
      env: { [variable]: 'k1' },
    });
    expect(url).toBe(`${String(row.baseUrl)}/chat/completions`);
    expect(headers['authorization']).toBe('Bearer k1');
    const elsewhere = { [variable]: 'k1', [String(row.baseUrlVariable)]: 'http://localhost:9/v1' };
    expect((await sentBy((options) => resolveModel(`${name}/m`, options), { env: elsewhere })).url).toBe(
      'http://localhost:9/v1/chat/completions',
    );
  });

  it(LOCAL.includes(name) ? 'needs no key' : 'says which key is missing', async () => {
    if (LOCAL.includes(name)) {
      const { headers } = await sentBy((options) => resolveModel(`${name}/m`, options), { env: {} });
      expect(headers).not.toHaveProperty('authorization');
    } else expect(() => resolveModel(`${name}/m`, { env: {} })).toThrow(row.keyVariables[0]);
  });
});

describe.each(ROWS.map(({ name }) => name).filter((name) => !WITHOUT_TOOLS.includes(name)))(
  'a conversation with %s',
  (name) => {
    it('takes a tool call, its result, and the answer', async () => {
      const [first, second] = await conversation(name);
      expect(first).toMatchObject({ model: 'some/model', stream: true, tools: [{ function: { name: 'weather' } }] });
      expect((first['max_tokens'] ?? first['max_completion_tokens']) as number).toBe(100);
      expect(second.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
      const [, , called, answered] = second.messages;
      expect(answered).toMatchObject({ tool_call_id: called?.tool_calls?.[0]?.id, content: 'It rains in Oslo.' });
      // What came before is sent again as it was.
      expect(second.messages.slice(0, 2)).toEqual(first.messages);
    });
  },
);

describe('what the servers do in their own way', () => {
  it.each([
    ['openai', { max_completion_tokens: 100, prompt_cache_key: 'session-1', reasoning_effort: 'low' }],
    ['xai', { max_tokens: 100, reasoning_effort: 'low', stream_options: { include_usage: true } }],
    ['groq', { max_completion_tokens: 100, reasoning_effort: 'low' }],
    ['cerebras', { max_completion_tokens: 100 }],
    ['mistral', { max_tokens: 100, stream_options: null, reasoning_effort: 'low' }],
    ['deepseek', { thinking: { type: 'enabled' }, reasoning_effort: 'low' }],
    ['openrouter', { reasoning: { effort: 'low' }, reasoning_effort: null }],
    ['moonshot', { max_completion_tokens: 100, thinking: null, reasoning_effort: 'low' }],
    ['alibaba', { enable_thinking: true, reasoning_effort: null }],
    ['zai', { thinking: null, reasoning_effort: 'low', tool_stream: true, stream_options: null }],
  ])('%s: %j', async (name, expected) => {
    const [first] = await conversation(name);
    for (const [field, value] of Object.entries(expected)) {
      if (value === null) expect(first).not.toHaveProperty(field);
      else expect(first[field]).toEqual(value);
    }
  });

  it.each(WITHOUT_TOOLS)(
    '%s is never sent tools: a request that has some is refused here, and says why',
    async (name) => {
      await using provider = await fakeProvider(['Hello.', 'Hello again.']);
      const model = resolveModel(`${name}/m`, { baseUrl: provider.openaiBaseUrl, apiKey: 'k', env: {} });
      const refused = await (await createSession(defineAgent({ model, tools: [weather] }))).prompt('Go.').result;
      expect(refused).toMatchObject({ status: 'model_error', error: { kind: 'other', retryable: false } });
      expect(refused.message).toContain('perplexity has no tools, and this request has some (weather)');
      expect(provider.requests).toHaveLength(0);
      const plain = await (await createSession(defineAgent({ model }))).prompt('Go.').result;
      expect(plain).toMatchObject({ status: 'completed', text: 'Hello.' });
      expect(provider.requests[0]?.body).not.toHaveProperty('tools');
      expect(provider.requests[0]?.body).not.toHaveProperty('stream_options');
    },
  );

  it.each(['deepseek', 'moonshot', 'zai'])('%s gets its reasoning back', async (name) => {
    const [, second] = await conversation(name);
    expect(second.messages[2]?.reasoning_content).toBe('Look it up.');
  });

  it.each(['openai', 'groq', 'xai', 'mistral', 'together'])('%s doesn’t', async (name) => {
    const [, second] = await conversation(name);
    expect(second.messages[2]).not.toHaveProperty('reasoning_content');
  });

  it('mistral takes ids of nine letters and digits', async () => {
    const [, second] = await conversation('mistral');
    expect(second.messages[2]?.tool_calls?.[0]?.id).toMatch(/^[a-zA-Z0-9]{9}$/);
  });
});

describe('any other server', () => {
  it('is reached at the address it is given, with a key if there is one', async () => {
    const compatible = (options: Parameters<typeof resolveModel>[1]): ReturnType<typeof resolveModel> =>
      resolveModel('openai-compatible/org/model', options);
    const keyless = await sentBy(compatible, { env: {}, baseUrl: 'http://gpu.example.com:8000' });
    expect(keyless.url).toBe('http://gpu.example.com:8000/v1/chat/completions');
    expect(keyless.headers).not.toHaveProperty('authorization');
    const env = { OPENAI_COMPATIBLE_BASE_URL: 'https://gateway.example.com/models', OPENAI_COMPATIBLE_API_KEY: 'k2' };
    const keyed = await sentBy(compatible, { env });
    expect(keyed.url).toBe('https://gateway.example.com/models/chat/completions');
    expect(keyed.headers['authorization']).toBe('Bearer k2');
  });

  it('is refused without an address', () => {
    expect(() => resolveModel('openai-compatible/m', { env: {} })).toThrow(/OPENAI_COMPATIBLE_BASE_URL/);
    expect(() => resolveModel('openai-compatible/m', { env: {}, baseUrl: 'gpu' })).toThrow(/not a URL/);
  });

  it('has the provider’s name and the quirks it is given', async () => {
    const model = openaiCompatible('m', { env: {}, baseUrl: 'http://h', provider: 'gpu' });
    expect([model.provider, model.id]).toEqual(['gpu', 'm']);
    const { body } = await sentBy(
      (options) => openaiCompatible('m', { ...options, quirks: { streamUsage: false, path: '/chat' } }),
      { env: {}, baseUrl: 'http://h' },
    );
    expect(JSON.parse(body)).not.toHaveProperty('stream_options');
  });
});
