import type { Model } from '@treadle/core';
import { resolveModel } from '@treadle/models';

/** Keys of providers, by the names that requests give them. */
export interface ProviderKeys {
  readonly openAiApiKey?: string;
  /** Where requests with `openAiApiKey` go. The environment's key is never sent there. */
  readonly openAiBaseURL?: string;
  readonly anthropicApiKey?: string;
  readonly geminiApiKey?: string;
}

const PROVIDERS = [
  { key: 'geminiApiKey', variable: 'GEMINI_API_KEY', model: 'google/gemini-2.5-pro' },
  { key: 'anthropicApiKey', variable: 'ANTHROPIC_API_KEY', model: 'anthropic/claude-sonnet-5-5' },
  { key: 'openAiApiKey', variable: 'OPENAI_API_KEY', model: 'openai/gpt-6.1-sol' },
] as const;

/** The models there is a key for: the request's own, else the environment's. */
export function availableModels(env: Readonly<Record<string, string | undefined>>, keys: ProviderKeys): Model[] {
  return PROVIDERS.flatMap(({ key, variable, model }) => {
    const apiKey = keys[key] ?? env[variable];
    if (!apiKey) return [];
    const baseUrl = key === 'openAiApiKey' && keys.openAiApiKey ? keys.openAiBaseURL : undefined;
    return [resolveModel(model, { apiKey, ...(baseUrl && { baseUrl }) })];
  });
}
