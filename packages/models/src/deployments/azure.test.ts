import { type Http, TreadleError } from '@treadle/core';
import type { HttpRequest } from '@treadle/core/ports';
import { fakeProvider } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { resolveModel } from '../deployments.ts';
import type { Environment } from '../http/proxy.ts';
import { bodyText } from '../test-support/body.ts';
import { answering, REQUEST, utf8 } from '../test-support/streams.ts';
import { azure, type AzureOptions } from './azure.ts';

const KEY = { AZURE_OPENAI_API_KEY: 'azure-key-1' };

/** The request a model sends when its address and key come from this environment. */
async function sent(env: Environment, options: AzureOptions = {}): Promise<HttpRequest> {
  const requests: HttpRequest[] = [];
  const http: Http = (request) => {
    requests.push(request);
    return answering([])(request);
  };
  const model = azure('my-gpt', { env: { ...KEY, ...env }, http, ...options });
  for await (const event of model.stream(REQUEST, new AbortController().signal)) expect(event.type).toBe('error');
  const [request] = requests;
  if (request === undefined) throw new Error('nothing was sent');
  return request;
}

const RESOURCE = 'https://res.openai.azure.com';

describe('the address', () => {
  it.each<[string, string]>([
    // The current API, which has no versions.
    [RESOURCE, '/openai/v1/responses'],
    [`${RESOURCE}/`, '/openai/v1/responses'],
    [`${RESOURCE}/openai/v1`, '/openai/v1/responses'],
    [`${RESOURCE}/openai/v1/`, '/openai/v1/responses'],
    [`${RESOURCE}/openai/v1?api-version=preview`, '/openai/v1/responses?api-version=preview'],
    // Deployments have paths of their own, with a version.
    [`${RESOURCE}/openai/deployments/my-gpt`, '/openai/deployments/my-gpt/responses?api-version=2025-01-01-preview'],
    [
      `${RESOURCE}/openai/deployments/my-gpt?api-version=2025-04-01-preview`,
      '/openai/deployments/my-gpt/responses?api-version=2025-04-01-preview',
    ],
    [`${RESOURCE}/openai`, '/openai/responses?api-version=2025-01-01-preview'],
    ['https://gateway.example.com/azure', '/azure/responses?api-version=2025-01-01-preview'],
  ])('of %s is completed to …%s', async (baseUrl, path) => {
    const { origin } = new URL(baseUrl);
    expect((await sent({}, { baseUrl })).url).toBe(origin + path);
    expect((await sent({ AZURE_OPENAI_BASE_URL: baseUrl })).url).toBe(origin + path);
  });

  it.each<[string, string, string]>([
    [RESOURCE, '2025-04-01-preview', '/openai/responses?api-version=2025-04-01-preview'],
    [RESOURCE, 'v1', '/openai/v1/responses'],
    [RESOURCE, 'preview', '/openai/v1/responses?api-version=preview'],
    [`${RESOURCE}/openai/v1`, 'preview', '/openai/v1/responses?api-version=preview'],
    [
      `${RESOURCE}/openai/deployments/d`,
      '2025-04-01-preview',
      '/openai/deployments/d/responses?api-version=2025-04-01-preview',
    ],
    // What the address says itself is what counts.
    [`${RESOURCE}/openai?api-version=2024-12-01`, '2025-04-01-preview', '/openai/responses?api-version=2024-12-01'],
  ])('of %s with the version %s is completed to …%s', async (baseUrl, apiVersion, path) => {
    expect((await sent({}, { baseUrl, apiVersion })).url).toBe(RESOURCE + path);
    expect((await sent({ AZURE_OPENAI_API_VERSION: ` ${apiVersion}` }, { baseUrl })).url).toBe(RESOURCE + path);
  });

  it('comes from the base URL before the endpoint', async () => {
    const env = { AZURE_OPENAI_ENDPOINT: 'https://endpoint.example.com' };
    expect((await sent(env)).url).toBe('https://endpoint.example.com/openai/v1/responses');
    expect((await sent({ ...env, AZURE_OPENAI_BASE_URL: RESOURCE })).url).toMatch(RESOURCE);
  });

  it('that is missing or is none is told with what to set', () => {
    const problem = (options: AzureOptions): unknown => {
      try {
        return azure('m', { env: KEY, ...options });
      } catch (error) {
        return error;
      }
    };
    expect(problem({})).toBeInstanceOf(TreadleError);
    expect(problem({})).toMatchObject({
      code: 'invalid_definition',
      message: expect.stringMatching(/AZURE_OPENAI_BASE_URL.*baseUrl/),
    });
    expect(problem({ baseUrl: 'res.openai' })).toMatchObject({ message: expect.stringContaining('not a URL') });
    expect(problem({ baseUrl: RESOURCE, env: {} })).toMatchObject({
      message: expect.stringContaining('AZURE_OPENAI_API_KEY'),
    });
  });
});

describe('the credentials', () => {
  it('are the key in Azure’s own header', async () => {
    const { headers } = await sent({ AZURE_OPENAI_BASE_URL: RESOURCE });
    expect(headers['api-key']).toBe('azure-key-1');
    expect(headers).not.toHaveProperty('authorization');
  });

  it('may be a token of Microsoft Entra instead of a key', async () => {
    const { headers } = await sent(
      { AZURE_OPENAI_API_KEY: '', AZURE_OPENAI_BASE_URL: RESOURCE },
      { headers: { Authorization: 'Bearer entra' } },
    );
    expect(headers['authorization']).toBe('Bearer entra');
    expect(headers).not.toHaveProperty('api-key');
  });

  it('never stand in an error, while the version does', async () => {
    const message = 'The API version 2025-01-01-preview is not supported for the key azure-key-1.';
    const http = answering([utf8(JSON.stringify({ error: { code: '400', message } }))], {}, 400);
    const model = azure('m', { env: KEY, http, baseUrl: `${RESOURCE}/openai` });
    for await (const event of model.stream(REQUEST, new AbortController().signal)) {
      expect(event).toMatchObject({ type: 'error', error: { status: 400 } });
      expect(JSON.stringify(event)).toContain('2025-01-01-preview');
      expect(JSON.stringify(event)).not.toContain('azure-key-1');
    }
  });
});

describe('a model', () => {
  it('is found by its name and speaks the Responses API', async () => {
    await using provider = await fakeProvider(['Hello!'], { apiKey: 'azure-key-1' });
    const model = resolveModel('azure/my-gpt', { env: { ...KEY, AZURE_OPENAI_ENDPOINT: provider.url } });
    expect([model.provider, model.id]).toEqual(['azure', 'my-gpt']);
    const texts: string[] = [];
    const request = {
      ...REQUEST,
      messages: [{ role: 'user', id: 'm', at: 0, origin: 'prompt', content: [{ type: 'text', text: 'Hi' }] }],
    } as const;
    for await (const event of model.stream(request, new AbortController().signal)) {
      if (event.type === 'text_delta') texts.push(event.text);
    }
    expect(texts.join('')).toBe('Hello!');
    expect(provider.requests[0]).toMatchObject({
      wire: 'openai-responses',
      path: '/openai/v1/responses',
      body: { model: 'my-gpt', store: false },
      problems: [],
    });
  });

  it('takes what is to be asked of the wire', async () => {
    const { body } = await sent({ AZURE_OPENAI_BASE_URL: RESOURCE }, { quirks: { store: true } });
    expect(JSON.parse(bodyText(body))).toMatchObject({ store: true });
  });
});
