import type { Model } from '@treadle/core';
import { ANTHROPIC_ROWS } from '../catalogue/rows/anthropic.ts';
import { anthropicMessages } from '../protocols/anthropic-messages.ts';
import { deploymentModel } from './deployment.ts';
import type { Deployment, ModelOptions } from './deployment.ts';

/** Anthropic's own API. */
export const ANTHROPIC: Deployment = {
  name: 'anthropic',
  protocol: anthropicMessages(),
  baseUrl: 'https://api.anthropic.com',
  version: 'v1',
  keyVariables: ['ANTHROPIC_API_KEY'],
  baseUrlVariable: 'ANTHROPIC_BASE_URL',
  auth: { header: 'x-api-key', prefix: '' },
  catalogue: ANTHROPIC_ROWS,
};

/**
 * A model of Anthropic's API, or of any server that speaks its wire.
 *
 * @throws TreadleError `invalid_definition` without a key: set `ANTHROPIC_API_KEY` or pass `apiKey`.
 * @example
 * ```ts
 * import { anthropic } from '@treadle/models/anthropic';
 *
 * const model = anthropic('claude-sonnet-4-5', { apiKey: 'your-key' });
 * ```
 */
export function anthropic(modelId: string, options: ModelOptions = {}): Model {
  return deploymentModel(ANTHROPIC, modelId, options);
}
