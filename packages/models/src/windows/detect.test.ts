import { createSession, defineAgent } from '@treadle/core';
import { fakeProvider, type FakeProvider } from '@treadle/testing';
import { describe, expect, it } from 'vitest';
import { resolveModel } from '../deployments.ts';
import type { ModelOptions } from '../deployments/deployment.ts';
import { listedWindow, ollamaWindow, slotWindow } from './detect.ts';

const modelAt = (name: string, provider: FakeProvider, options: ModelOptions = {}) =>
  resolveModel(`${name}/model-1`, {
    baseUrl: name === 'ollama' ? provider.ollamaBaseUrl : provider.openaiBaseUrl,
    env: {},
    ...options,
  });

describe('the window of a local server', () => {
  it.each(['ollama', 'vllm', 'llamacpp', 'lmstudio'])('is asked of %s once, before the first request', async (name) => {
    await using provider = await fakeProvider(['Hi.', 'Hi again.'], { contextWindow: 16_384 });
    const model = modelAt(name, provider);
    expect(model.contextWindow).toBeUndefined();
    const session = await createSession(defineAgent({ model }));
    expect((await session.prompt('Hi').result).text).toBe('Hi.');
    expect(model.contextWindow).toBe(16_384);
    expect((await session.prompt('Hi').result).text).toBe('Hi again.');
    const sent = provider.requests.map(({ body }) => (body as { options?: { num_ctx?: number } }).options?.num_ctx);
    expect(sent).toEqual(name === 'ollama' ? [16_384, 16_384] : [undefined, undefined]);
  });

  it.each(['ollama', 'vllm'])('stays unknown where %s does not tell it', async (name) => {
    await using provider = await fakeProvider(['Hi.']);
    const model = modelAt(name, provider);
    expect((await (await createSession(defineAgent({ model }))).prompt('Hi').result).text).toBe('Hi.');
    expect(model.contextWindow).toBeUndefined();
  });

  it('is the one that was given, which nobody asks for', async () => {
    await using provider = await fakeProvider(['Hi.'], { contextWindow: 16_384 });
    const model = modelAt('ollama', provider, { contextWindow: 8192 });
    await (await createSession(defineAgent({ model }))).prompt('Hi').result;
    expect(provider.requests[0]?.body).toMatchObject({ options: { num_ctx: 8192 } });
  });

  it('is read from what each server says', () => {
    expect(ollamaWindow({ parameters: 'stop "x"\nnum_ctx 8192', model_info: { 'a.context_length': 131_072 } })).toBe(
      8192,
    );
    expect(ollamaWindow({ model_info: { 'qwen3.context_length': 131_072 } })).toBe(32_768);
    expect(ollamaWindow({})).toBeUndefined();
    expect(listedWindow({ data: [{ id: 'a', max_model_len: 5 }] }, 'b')).toBeUndefined();
    expect(listedWindow({ data: [{ id: 'a', meta: { n_ctx: 4096, n_ctx_train: 131_072 } }] }, 'a')).toBe(4096);
    expect(slotWindow({ default_generation_settings: { n_ctx: 4096 } })).toBe(4096);
  });
});

it('a prompt that Ollama cut off is a warning', async () => {
  const usage = { input: 4096, output: 5 };
  await using provider = await fakeProvider(
    [
      { text: 'Yes.', usage },
      { text: 'Yes.', usage },
    ],
    { contextWindow: 4096 },
  );
  const session = await createSession(defineAgent({ model: modelAt('ollama', provider), context: false }));
  const short = await session.prompt('Short.').result;
  expect(short.warnings).toEqual([]);
  const long = await session.prompt('A long prompt. '.repeat(8000)).result;
  expect(long.warnings).toMatchObject([{ code: 'prompt_truncated' }]);
});
