import { createSession, defineAgent, defineTool } from '@treadle/core';
import { fakeProvider, type ProviderTurn } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { resolveModel } from '../deployments.ts';
import { sentBy } from '../test-support/sent.ts';
import { anthropic, type AnthropicOptions } from './anthropic.ts';

const OAUTH_BETAS = 'oauth-2025-04-20,fine-grained-tool-streaming-2025-05-14';
const headersOf = async (options: AnthropicOptions): Promise<Readonly<Record<string, string>>> =>
  (await sentBy((given) => anthropic('m', { ...options, ...given }), options)).headers;

describe('an OAuth token', () => {
  it('is sent as a bearer with its betas, and without a key', async () => {
    for (const options of [{ authToken: 'tok' }, { env: { ANTHROPIC_AUTH_TOKEN: ' tok\n' } }]) {
      const headers = await headersOf(options);
      expect(headers).toMatchObject({ authorization: 'Bearer tok', 'anthropic-beta': OAUTH_BETAS });
      expect(headers).not.toHaveProperty('x-api-key');
    }
  });

  it('of the environment is used by name, too', async () => {
    const { headers } = await sentBy((options) => resolveModel('anthropic/m', options), {
      env: { ANTHROPIC_AUTH_TOKEN: 'tok' },
    });
    expect(headers['authorization']).toBe('Bearer tok');
  });

  it('of the environment gives way to a key, and one that is passed wins', async () => {
    const env = { ANTHROPIC_API_KEY: 'key', ANTHROPIC_AUTH_TOKEN: 'tok' };
    const keyed = await headersOf({ env });
    expect(keyed).toMatchObject({ 'x-api-key': 'key' });
    expect(keyed).not.toHaveProperty('authorization');
    expect(await headersOf({ env, authToken: 'mine' })).toMatchObject({ authorization: 'Bearer mine' });
  });

  it('brings no header by which another program makes itself known, unless the caller has one', async () => {
    expect(Object.keys(await headersOf({ authToken: 'tok' })).sort()).toEqual(
      ['accept', 'anthropic-beta', 'anthropic-version', 'authorization', 'content-type'].sort(),
    );
    const own = { 'x-app': 'mine', 'User-Agent': 'mine/1' };
    expect(await headersOf({ authToken: 'tok', headers: own })).toMatchObject({
      'x-app': 'mine',
      'user-agent': 'mine/1',
    });
  });

  it('is refused beside a key, or when no header can carry it, without being shown', () => {
    expect(() => anthropic('m', { authToken: 'tok', apiKey: 'k' })).toThrow(/only one/);
    expect(() => anthropic('m', { env: {}, authToken: 'sécret' })).toThrow(/header/);
    expect(() => anthropic('m', { env: {}, authToken: 'sécret' })).not.toThrow(/cret/);
    expect(() => anthropic('m', { env: {}, authToken: ' ' })).toThrow(/empty/);
  });

  it('is named among what may be missing', () => {
    expect(() => anthropic('m', { env: {} })).toThrow(/ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN/);
  });

  it('never appears in an error', async () => {
    await using provider = await fakeProvider([
      { faults: { status: 400, body: { error: { type: 'invalid_request_error', message: 'bad token canary-1' } } } },
    ]);
    const model = anthropic('m', { env: {}, authToken: 'canary-1', baseUrl: provider.anthropicBaseUrl });
    const session = await createSession(defineAgent({ model }));
    const result = await session.prompt('Hi').result;
    expect(JSON.stringify(result)).toContain('bad token');
    expect(JSON.stringify(result)).not.toContain('canary-1');
  });
});

describe('betas', () => {
  it('are one header, whoever names them', async () => {
    expect((await headersOf({ apiKey: 'k', betas: ['a', 'b', 'a'] }))['anthropic-beta']).toBe('a,b');
    expect((await headersOf({ apiKey: 'k', betas: ['a'], quirks: { betas: ['c'] } }))['anthropic-beta']).toBe('c,a');
    expect((await headersOf({ authToken: 't', betas: ['a', 'oauth-2025-04-20'] }))['anthropic-beta']).toBe(
      'a,oauth-2025-04-20,fine-grained-tool-streaming-2025-05-14',
    );
    expect(
      (await headersOf({ env: { ANTHROPIC_AUTH_TOKEN: 't' }, headers: { 'Anthropic-Beta': 'x, y' } }))[
        'anthropic-beta'
      ],
    ).toBe(`x,y,${OAUTH_BETAS}`);
  });

  it('are no header when there are none', async () => {
    expect(await headersOf({ apiKey: 'k' })).not.toHaveProperty('anthropic-beta');
  });
});

interface MessagesBody {
  readonly container?: string;
  readonly messages: readonly { readonly role: string; readonly content: readonly { readonly type: string }[] }[];
}

const search = defineTool({ name: 'search', description: 'Searches.', execute: () => 'found' });

async function bodiesOf(turns: readonly ProviderTurn[]): Promise<readonly MessagesBody[]> {
  await using provider = await fakeProvider([...turns]);
  const model = anthropic('claude-sonnet-4-5', { env: {}, baseUrl: provider.anthropicBaseUrl });
  const session = await createSession(defineAgent({ model, tools: [search] }));
  const result = await session.prompt('Go').result;
  expect([result.status, result.text]).toEqual(['completed', 'Done.']);
  expect(provider.requests.flatMap(({ problems }) => problems)).toEqual([]);
  return provider.requests.map(({ body }) => body as unknown as MessagesBody);
}

describe('over a socket', () => {
  it('the container of a response is sent again', async () => {
    const bodies = await bodiesOf([
      { containerId: 'container_1', toolCalls: [{ name: 'search' }] },
      { toolCalls: [{ name: 'search' }] },
      { text: 'Done.' },
    ]);
    expect(bodies.map(({ container }) => container)).toEqual([undefined, 'container_1', 'container_1']);
  });

  it('a turn the provider paused goes on with what it said so far, unchanged', async () => {
    const raw = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'x' } };
    const found = { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [] };
    const bodies = await bodiesOf([
      {
        content: [
          { type: 'provider_tool_call', callId: 'srv_1', name: 'web_search', arguments: { query: 'x' }, raw },
          { type: 'provider_tool_result', callId: 'srv_1', name: 'web_search', isError: false, raw: found },
        ],
        stopReason: 'pause',
      },
      { text: 'Done.' },
    ]);
    expect(bodies).toHaveLength(2);
    expect(bodies[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(bodies[1]?.messages[1]?.content).toEqual([raw, found]);
  });
});
