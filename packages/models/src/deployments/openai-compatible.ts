import { TreadleError, type Model } from '@treadle/core';
import { openaiChat } from '../protocols/openai-chat/protocol.ts';
import type { OpenAIChatQuirks } from '../protocols/openai-chat/quirks.ts';
import { deploymentModel, NO_CREDENTIALS, type Deployment, type ModelOptions } from './deployment.ts';

/** Options of a model of any server that speaks Chat Completions. */
export interface OpenAICompatibleOptions extends ModelOptions {
  /**
   * The provider's name. Default `openai-compatible`. Give two servers of one session two names: what is opaque, such as
   * a model's reasoning, goes back only to the name it came from.
   */
  readonly provider?: string;
  /** What the server does in its own way. */
  readonly quirks?: OpenAIChatQuirks;
}

/** A bare host means its `/v1`; a path is somebody's decision. */
const completed = (given: string): string => {
  const url = URL.parse(given);
  // Whoever reads base URLs says what is wrong with it.
  if (url === null) return given;
  if (url.pathname === '/') url.pathname = '/v1';
  return url.href;
};

const deploymentOf = ({ provider = 'openai-compatible', quirks }: OpenAICompatibleOptions): Deployment => ({
  name: provider,
  protocol: openaiChat(quirks),
  baseUrl(_env, given) {
    if (given === undefined) {
      throw new TreadleError(
        'invalid_definition',
        `No address for ${provider}. Set OPENAI_COMPATIBLE_BASE_URL, or pass \`baseUrl\`, such as http://localhost:8000/v1.`,
      );
    }
    return completed(given);
  },
  version: '',
  keyVariables: ['OPENAI_COMPATIBLE_API_KEY'],
  baseUrlVariable: 'OPENAI_COMPATIBLE_BASE_URL',
  auth: { header: 'authorization', prefix: 'Bearer ' },
  credentials: () => NO_CREDENTIALS,
});

/** Any server that speaks Chat Completions, at the address it is given. */
export const OPENAI_COMPATIBLE: Deployment = deploymentOf({});

/**
 * A model of any server that speaks Chat Completions. It is sent a key only if there is one.
 *
 * @throws TreadleError `invalid_definition` without an address: set `OPENAI_COMPATIBLE_BASE_URL` or pass `baseUrl`.
 * @example
 * ```ts
 * import { openaiCompatible } from '@treadle/models/openai-chat';
 *
 * const model = openaiCompatible('qwen3', {
 *   baseUrl: 'http://gpu.example.com:8000/v1',
 *   provider: 'gpu',
 *   quirks: { responseFormat: 'json_object', media: [] },
 * });
 * ```
 */
export function openaiCompatible(modelId: string, options: OpenAICompatibleOptions = {}): Model {
  const { provider: _provider, quirks: _quirks, ...rest } = options;
  return deploymentModel(deploymentOf(options), modelId, rest);
}
