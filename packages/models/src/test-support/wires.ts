import type { Http, Model } from '@treadle/core';
import type { FakeProvider } from '@treadle/testing';
import type { ModelOptions } from '../deployments/deployment.ts';
import { resolveModel } from '../deployments.ts';

/** A wire, as tests reach it: a model of it at a fake provider. */
export interface TestWire {
  readonly name: string;
  model(provider: FakeProvider, http?: Http, options?: ModelOptions): Model;
}

/** The key of every model of these wires: it must turn up nowhere but in the headers of a request. */
export const TEST_KEY = 'test-key-0123456789';

function wire(name: string, url: (provider: FakeProvider) => string, more: object = {}): TestWire {
  return {
    name,
    model: (provider, http, options = {}) =>
      resolveModel(`${name}/model-1`, {
        apiKey: TEST_KEY,
        baseUrl: url(provider),
        env: {},
        ...more,
        ...(http === undefined ? {} : { http }),
        ...options,
      }),
  };
}

/** Every wire protocol there is, each through one deployment. */
export const TEST_WIRES: readonly TestWire[] = [
  wire('anthropic', ({ anthropicBaseUrl }) => anthropicBaseUrl),
  wire('openai', ({ openaiBaseUrl }) => openaiBaseUrl),
  wire('openai-responses', ({ openaiBaseUrl }) => openaiBaseUrl),
  wire('google', ({ googleBaseUrl }) => googleBaseUrl),
  wire('bedrock', ({ bedrockBaseUrl }) => bedrockBaseUrl),
  // A window that is known is not asked for.
  wire('ollama', ({ ollamaBaseUrl }) => ollamaBaseUrl, { contextWindow: 131_072 }),
];
