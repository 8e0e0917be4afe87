import type { Model } from '@treadle/core';
import { OPENAI_ROWS } from '../catalogue/rows/openai.ts';
import { openaiResponses } from '../protocols/openai-responses/protocol.ts';
import type { OpenAIResponsesQuirks } from '../protocols/openai-responses/quirks.ts';
import { deploymentModel, type Deployment, type ModelOptions } from './deployment.ts';
import { openaiContainerFiles } from './openai-files.ts';

/** OpenAI's own API, by the Responses API. */
export const OPENAI_RESPONSES: Deployment = {
  name: 'openai-responses',
  protocol: /* @__PURE__ */ openaiResponses(),
  baseUrl: 'https://api.openai.com/v1',
  version: 'v1',
  keyVariables: ['OPENAI_API_KEY'],
  baseUrlVariable: 'OPENAI_BASE_URL',
  auth: { header: 'authorization', prefix: 'Bearer ' },
  files: openaiContainerFiles,
  catalogue: OPENAI_ROWS,
};

/** Options of a model that is reached by the Responses API. */
export interface OpenAIResponsesOptions extends ModelOptions {
  /** What to ask of the wire that isn't part of a request, such as `reasoningSummary` or `strictTools`. */
  readonly quirks?: OpenAIResponsesQuirks;
}

/**
 * A model of OpenAI's Responses API, or of any server that speaks it.
 *
 * @throws TreadleError `invalid_definition` without a key: set `OPENAI_API_KEY` or pass `apiKey`.
 * @example
 * ```ts
 * import { openaiResponsesModel } from '@treadle/models/openai-responses';
 *
 * const model = openaiResponsesModel('gpt-6.1-sol', { apiKey: 'your-key', quirks: { reasoningSummary: 'auto' } });
 * ```
 */
export function openaiResponsesModel(modelId: string, options: OpenAIResponsesOptions = {}): Model {
  const { quirks, ...rest } = options;
  const deployment =
    quirks === undefined ? OPENAI_RESPONSES : { ...OPENAI_RESPONSES, protocol: openaiResponses(quirks) };
  return deploymentModel(deployment, modelId, rest);
}
