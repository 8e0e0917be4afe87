import type { Model } from '@treadle/core';
import { OPENAI_ROWS } from '../catalogue/rows/openai.ts';
import { openaiChat } from '../protocols/openai-chat/protocol.ts';
import type { OpenAIChatQuirks } from '../protocols/openai-chat/quirks.ts';
import { isOpenAIName, OPENAI_FAMILIES } from '../rules/openai.ts';
import { deploymentModel, type Deployment, type ModelOptions } from './deployment.ts';

const OWN_HOST = /(?:^|\.)openai\.com$/;

/** Whether a model is OpenAI's, and not one of another server that is reached by OpenAI's name and another address. */
export const isOpenAIModel = (modelId: string, { hostname }: URL): boolean =>
  isOpenAIName(modelId) || OWN_HOST.test(hostname);

const deploymentOf = (quirks: OpenAIChatQuirks | undefined): Deployment => {
  const known = { maxTokensField: 'max_completion_tokens', promptCacheKey: true, ...quirks } as const;
  const protocol = openaiChat({ families: OPENAI_FAMILIES, ...known });
  const compatible = openaiChat(known);
  return {
    name: 'openai-chat',
    protocol,
    wireFor: (modelId, url) => (isOpenAIModel(modelId, url) ? protocol : compatible),
    baseUrl: 'https://api.openai.com/v1',
    version: 'v1',
    keyVariables: ['OPENAI_API_KEY'],
    baseUrlVariable: 'OPENAI_BASE_URL',
    auth: { header: 'authorization', prefix: 'Bearer ' },
    catalogue: OPENAI_ROWS,
  };
};

/** OpenAI's own API, by Chat Completions. */
export const OPENAI_CHAT: Deployment = deploymentOf(undefined);

/** Options of a model that is reached by Chat Completions. */
export interface OpenAIOptions extends ModelOptions {
  /** What to ask of the wire that isn't part of a request, such as `strictTools`. */
  readonly quirks?: OpenAIChatQuirks;
}

/**
 * A model of OpenAI's API by Chat Completions. Newer models take tools by the Responses API only: see
 * `openaiResponsesModel`.
 *
 * @throws TreadleError `invalid_definition` without a key: set `OPENAI_API_KEY` or pass `apiKey`.
 * @example
 * ```ts
 * import { openai } from '@treadle/models/openai-chat';
 *
 * const model = openai('gpt-6-luna', { apiKey: 'your-key', quirks: { strictTools: true } });
 * ```
 */
export function openai(modelId: string, options: OpenAIOptions = {}): Model {
  const { quirks, ...rest } = options;
  return deploymentModel(quirks === undefined ? OPENAI_CHAT : deploymentOf(quirks), modelId, rest);
}
