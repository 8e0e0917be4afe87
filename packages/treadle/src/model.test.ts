import { createSession, defineAgent } from '@treadle/core';
import { fakeProvider } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { model } from './model.ts';

describe('model', () => {
  it('knows what there is to know of a model without its key, and says at the first call that it is missing', async () => {
    const lazy = model('anthropic/claude-sonnet-5-5', { env: {} });
    expect([lazy.provider, lazy.id, lazy.contextWindow]).toEqual(['anthropic', 'claude-sonnet-5-5', 1_000_000]);
    const session = await createSession(defineAgent({ model: lazy }));
    const { status, message } = await session.prompt('Hello.').result;
    expect(status).toBe('model_error');
    expect(message).toContain('No key for anthropic. Set ANTHROPIC_API_KEY');
  });

  it('reads the key when it is called', async () => {
    await using provider = await fakeProvider(['Hello.']);
    const env: Record<string, string> = { ANTHROPIC_BASE_URL: provider.anthropicBaseUrl };
    const agent = defineAgent({ model: model('anthropic/claude-sonnet-5-5', { env }) });
    env['ANTHROPIC_API_KEY'] = 'sk-0123456789';
    expect((await (await createSession(agent)).prompt('Hello.').result).text).toBe('Hello.');
    expect(provider.requests[0]?.headers['x-api-key']).toBe('sk-0123456789');
  });

  it('is the demo model by name', () => {
    expect(model('demo').provider).toBe('demo');
  });

  it('refuses a provider that there isn’t, at once', () => {
    expect(() => model('antropic/claude-sonnet-5-5')).toThrow('No provider is called `antropic`.');
    expect(() => void Reflect.apply(model, undefined, [])).toThrow("Write: model('anthropic/claude-sonnet-5-5')");
  });
});
