import type { Model } from '@treadle/core';
import { OPENAI_ROWS } from '../catalogue/rows/openai.ts';
import { openaiChat } from '../protocols/openai-chat/protocol.ts';
import type { OpenAIChatQuirks } from '../protocols/openai-chat/quirks.ts';
import { deploymentModel, type Deployment, type ModelOptions } from './deployment.ts';

const deploymentOf = (quirks: OpenAIChatQuirks | undefined): Deployment => ({
  name: 'openai',
  protocol: openaiChat({
    maxTokensField: 'max_completion_tokens',
    minimalEffort: 'minimal',
    promptCacheKey: true,
    ...quirks,
  }),
  baseUrl: 'https://api.openai.com/v1',
  version: 'v1',
  keyVariables: ['OPENAI_API_KEY'],
  baseUrlVariable: 'OPENAI_BASE_URL',
  auth: { header: 'authorization', prefix: 'Bearer ' },
  catalogue: OPENAI_ROWS,
});

/** OpenAI's own API, by Chat Completions. */
export const OPENAI: Deployment = deploymentOf(undefined);

/** Options of a model that is reached by Chat Completions. */
export interface OpenAIOptions extends ModelOptions {
  /** What to ask of the wire that isn't part of a request, such as `strictTools`. */
  readonly quirks?: OpenAIChatQuirks;
}

/**
 * A model of OpenAI's API, or of any server that speaks Chat Completions.
 *
 * @throws TreadleError `invalid_definition` without a key: set `OPENAI_API_KEY` or pass `apiKey`.
 * @example
 * ```ts
 * import { openai } from '@treadle/models/openai-chat';
 *
 * const model = openai('gpt-5-mini', { apiKey: 'your-key', quirks: { strictTools: true } });
 * ```
 */
export function openai(modelId: string, options: OpenAIOptions = {}): Model {
  const { quirks, ...rest } = options;
  return deploymentModel(quirks === undefined ? OPENAI : deploymentOf(quirks), modelId, rest);
}
