import type { Model } from '@treadle/core';
import { OPENAI_ROWS } from '../catalogue/rows/openai.ts';
import { openaiChat } from '../protocols/openai-chat.ts';
import { deploymentModel } from './deployment.ts';
import type { Deployment, ModelOptions } from './deployment.ts';

/** OpenAI's own API, by Chat Completions. */
export const OPENAI: Deployment = {
  name: 'openai',
  protocol: openaiChat({ maxTokensField: 'max_completion_tokens' }),
  baseUrl: 'https://api.openai.com/v1',
  version: 'v1',
  keyVariables: ['OPENAI_API_KEY'],
  baseUrlVariable: 'OPENAI_BASE_URL',
  auth: { header: 'authorization', prefix: 'Bearer ' },
  catalogue: OPENAI_ROWS,
};

/**
 * A model of OpenAI's API, or of any server that speaks Chat Completions.
 *
 * @throws TreadleError `invalid_definition` without a key: set `OPENAI_API_KEY` or pass `apiKey`.
 * @example
 * ```ts
 * import { openai } from '@treadle/models/openai-chat';
 *
 * const local = openai('qwen3', { baseUrl: 'http://localhost:8000/v1' });
 * ```
 */
export function openai(modelId: string, options: ModelOptions = {}): Model {
  return deploymentModel(OPENAI, modelId, options);
}
