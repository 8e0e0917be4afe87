import { createSession, defineAgent, type RunResult } from '@treadle/core';
import { fakeProvider, type FakeProvider } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { DEPLOYMENTS, resolveModel } from '../deployments.ts';
import { anthropic } from '../deployments/anthropic.ts';
import { sentBy } from '../test-support/sent.ts';
import { bearerToken } from './bearer.ts';
import type { CredentialProvider } from './credentials.ts';

const ask = async (provider: FakeProvider, credentials: CredentialProvider): Promise<RunResult> => {
  const model = resolveModel('openai/m', { baseUrl: provider.openaiBaseUrl, env: {}, credentials });
  const session = await createSession(defineAgent({ model, retry: { maxRetries: 0 } }));
  return session.prompt('Go.').result;
};

describe('a bearer token', () => {
  it.each(DEPLOYMENTS.map(({ name }) => name))('passed by code goes with every request to %s', async (name) => {
    const env = { GOOGLE_CLOUD_PROJECT: 'p', AWS_REGION: 'us-east-1' };
    const options = {
      env,
      baseUrl: 'http://host.example/v1',
      credentials: bearerToken(() => Promise.resolve(' t1\n')),
    };
    const { headers, url } = await sentBy((more) => resolveModel(`${name}/m`, { ...more, ...options }), options);
    expect(headers['authorization']).toBe('Bearer t1');
    // Nothing else is sent as a key.
    expect([headers['x-api-key'], headers['api-key'], headers['x-goog-api-key'], url.includes('key=')]).toEqual([
      undefined,
      undefined,
      undefined,
      false,
    ]);
  });

  it('that is refused is asked for once more', async () => {
    await using provider = await fakeProvider(['Hello.'], { apiKey: 'new' });
    const tokens = ['old', 'new'];
    let refreshed = 0;
    const credentials = bearerToken(
      () => tokens[refreshed] ?? '',
      () => refreshed++,
    );
    expect(await ask(provider, credentials)).toMatchObject({ status: 'completed', text: 'Hello.' });
    expect(provider.requests).toHaveLength(2);
  });

  it('that stays wrong, or never changes, is refused for good', async () => {
    await using provider = await fakeProvider([], { apiKey: 'right' });
    expect(
      (
        await ask(
          provider,
          bearerToken(() => 'wrong'),
        )
      ).error,
    ).toMatchObject({ kind: 'auth', status: 401 });
    expect(provider.requests).toHaveLength(2);
    expect((await ask(provider, bearerToken('wrong'))).error).toMatchObject({ kind: 'auth', status: 401 });
    expect(provider.requests).toHaveLength(3);
  });

  it('that no header can carry is an error that doesn’t quote it', async () => {
    await using provider = await fakeProvider([]);
    const { error } = await ask(provider, bearerToken('sécret-canary'));
    expect(error).toMatchObject({ kind: 'auth', retryable: false });
    expect(JSON.stringify(error)).not.toContain('canary');
    expect(provider.requests).toHaveLength(0);
  });

  it('of Anthropic’s OAuth may come from a function, with the betas it takes', async () => {
    const { headers } = await sentBy((options) => anthropic('m', { ...options, authToken: () => 'o1' }), { env: {} });
    expect(headers).toMatchObject({ authorization: 'Bearer o1' });
    expect(headers['anthropic-beta']).toContain('oauth-2025-04-20');
  });
});
