import { type Http, type Model, TreadleError } from '@treadle/core';
import type { HttpRequest } from '@treadle/core/ports';
import { describe, expect, it } from 'vitest';
import type { ModelOptions } from './deployments/deployment.ts';
import { anthropic } from './deployments/anthropic.ts';
import { openai } from './deployments/openai.ts';
import { DEPLOYMENTS, resolveModel } from './deployments.ts';
import { answering, REQUEST } from './test-support/streams.ts';
import { readFile } from 'node:fs/promises';

/** The request a model sends. */
async function sent(create: (options: ModelOptions) => Model, options: ModelOptions = {}): Promise<HttpRequest> {
  const requests: HttpRequest[] = [];
  const http: Http = (request) => {
    requests.push(request);
    return answering([])(request);
  };
  for await (const event of create({ env: {}, http, ...options }).stream(REQUEST, new AbortController().signal)) {
    expect(event.type).toBe('error');
  }
  const [request] = requests;
  if (request === undefined) throw new Error('nothing was sent');
  return request;
}

const problem = (run: () => unknown): TreadleError => {
  try {
    run();
  } catch (error) {
    if (error instanceof TreadleError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

const named = (name: string) => (options: ModelOptions) => resolveModel(name, options);

describe('a model’s name', () => {
  it('is a provider, a slash and the provider’s own name', () => {
    const model = resolveModel('openai/org/model:1', { env: { OPENAI_API_KEY: 'k' } });
    expect([model.provider, model.id]).toEqual(['openai', 'org/model:1']);
  });

  it('of a provider nobody knows is refused with those there are', () => {
    const error = problem(() => resolveModel('opnai/x', { env: {} }));
    expect(error.code).toBe('invalid_definition');
    expect(error.message).toMatch(/`opnai`.*anthropic.*openai/s);
  });

  it.each(['openai', 'openai/', '', '/x'])('%j is refused', (name) => {
    expect(problem(() => resolveModel(name, { env: {}, apiKey: 'k' })).code).toBe('invalid_definition');
  });
});

describe('the key', () => {
  it('comes from the option or the environment, in the provider’s header', async () => {
    const fromOption = await sent(named('anthropic/m'), { apiKey: 'key-1', env: { ANTHROPIC_API_KEY: 'key-2' } });
    expect(fromOption.headers['x-api-key']).toBe('key-1');
    const fromEnv = await sent(named('openai/m'), { env: { OPENAI_API_KEY: ' key-2\n' } });
    expect(fromEnv.headers['authorization']).toBe('Bearer key-2');
  });

  it.each(['anthropic', 'openai'])('that is missing for %s is told with what to set', (provider) => {
    const error = problem(() => resolveModel(`${provider}/m`, { env: {} }));
    expect(error.code).toBe('invalid_definition');
    expect(error.message).toContain(`${provider.toUpperCase()}_API_KEY`);
  });

  it('may be missing for a server on this machine', async () => {
    for (const host of ['localhost:1', '127.0.0.1:1', '[::1]:1', 'model.localhost:1']) {
      const { headers } = await sent(named('openai/m'), { baseUrl: `http://${host}` });
      expect(headers['authorization']).toBe('Bearer none');
    }
    expect(problem(() => resolveModel('openai/m', { env: {}, baseUrl: 'http://127.evil.com' })).message).toContain(
      'No key',
    );
  });

  it('may come as a header instead', async () => {
    const { headers } = await sent(named('openai/m'), { headers: { Authorization: 'Custom 1' } });
    expect(headers['authorization']).toBe('Custom 1');
  });

  it('that no header can carry is refused without being shown', () => {
    const error = problem(() => resolveModel('openai/m', { env: {}, apiKey: 'sécret key' }));
    expect(error.code).toBe('invalid_definition');
    expect(error.message).not.toContain('cret');
  });
});

describe('the base URL', () => {
  const urlOf = async (name: string, options: ModelOptions): Promise<string> =>
    (await sent(named(name), { apiKey: 'k', ...options })).url;

  it('is the provider’s by default', async () => {
    expect(await urlOf('anthropic/m', {})).toBe('https://api.anthropic.com/v1/messages');
    expect(await urlOf('openai/m', {})).toBe('https://api.openai.com/v1/responses');
    expect(await urlOf('openai-chat/m', {})).toBe('https://api.openai.com/v1/chat/completions');
  });

  it.each([
    ['http://h:1', 'http://h:1/v1'],
    ['http://h:1/', 'http://h:1/v1'],
    ['http://h:1/v1', 'http://h:1/v1'],
    ['http://h:1/v1/', 'http://h:1/v1'],
    ['http://h:1/gateway', 'http://h:1/gateway/v1'],
    ['http://h:1/api/paas/v4', 'http://h:1/api/paas/v4'],
    ['http://h:1/v1beta/openai', 'http://h:1/v1beta/openai'],
  ])('%s may end with the version or not', async (given, base) => {
    expect(await urlOf('anthropic/m', { env: { ANTHROPIC_BASE_URL: given } })).toBe(`${base}/messages`);
    expect(await urlOf('openai/m', { env: { OPENAI_BASE_URL: given } })).toBe(`${base}/chat/completions`);
    expect(await urlOf('openai/m', { baseUrl: given })).toBe(`${base}/chat/completions`);
  });

  it('of the option wins over the environment, and an empty variable is none', async () => {
    expect(await urlOf('openai/m', { baseUrl: 'http://a', env: { OPENAI_BASE_URL: 'http://b' } })).toContain('//a/');
    expect(await urlOf('openai/m', { env: { OPENAI_BASE_URL: ' ' } })).toContain('api.openai.com');
  });

  it.each([
    ['nonsense', 'OPENAI_BASE_URL is not a URL'],
    ['ftp://h', 'http://'],
    ['http://user:canary@h', 'header'],
  ])('%s is refused', (given, expected) => {
    const error = problem(() => resolveModel('openai/m', { apiKey: 'k', env: { OPENAI_BASE_URL: given } }));
    expect(error.code).toBe('invalid_definition');
    expect(error.message).toContain(expected);
    expect(error.message).not.toContain('canary');
  });
});

describe('options', () => {
  it('add headers, which win over the wire’s own', async () => {
    const { headers } = await sent((options) => anthropic('m', options), {
      apiKey: 'k',
      headers: { 'Anthropic-Beta': 'b', 'anthropic-version': '2030-01-01' },
    });
    expect(headers).toMatchObject({ 'anthropic-beta': 'b', 'anthropic-version': '2030-01-01', 'x-api-key': 'k' });
  });

  it('say how much the model can take in', () => {
    expect(openai('m', { env: {}, apiKey: 'k', contextWindow: 1000 }).contextWindow).toBe(1000);
    expect(openai('m', { env: {}, apiKey: 'k' })).not.toHaveProperty('contextWindow');
  });
});

describe('the documentation', () => {
  it('names every provider, and its variables where they are not called after it', async () => {
    const page = await readFile(new URL('../../../docs/models.md', import.meta.url), 'utf8');
    const missing = DEPLOYMENTS.flatMap(({ name, keyVariables, credentialVariables = [], baseUrlVariable }) => {
      const own = name.toUpperCase().replaceAll('-', '_');
      const isTold = (variables: readonly string[], ending: string): boolean =>
        variables.some((variable) => variable === `${own}${ending}` || page.includes(`\`${variable}\``));
      const told = [
        page.includes(`\`${name}\``) || page.includes(`\`${name}/`),
        isTold([...keyVariables, ...credentialVariables], '_API_KEY') || name === 'vertex',
        isTold([baseUrlVariable].flat(), '_BASE_URL'),
      ];
      return told.includes(false) ? [`${name}: ${told.join()}`] : [];
    });
    expect(missing).toEqual([]);
  });
});
