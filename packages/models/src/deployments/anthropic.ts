import { errorText, TreadleError, type Model } from '@treadle/core';
import { bearerToken, checkedToken, type TokenSource } from '../auth/bearer.ts';
import type { CredentialProvider } from '../auth/credentials.ts';
import { ANTHROPIC_ROWS } from '../catalogue/rows/anthropic.ts';
import { anthropicMessages } from '../protocols/anthropic/protocol.ts';
import type { AnthropicQuirks } from '../protocols/anthropic/quirks.ts';
import { anthropicFiles } from './anthropic-files.ts';
import { deploymentModel, firstSet, type Deployment, type ModelOptions } from './deployment.ts';

/** What the API wants named beside an OAuth token. */
const OAUTH_BETAS = ['oauth-2025-04-20', 'fine-grained-tool-streaming-2025-05-14'];

const TOKEN_VARIABLE = 'ANTHROPIC_AUTH_TOKEN';

/** An OAuth token, with its betas added to those of the request. */
const oauth = (source: TokenSource): CredentialProvider => {
  if (typeof source === 'string') {
    try {
      checkedToken(source);
    } catch (error) {
      throw new TreadleError('invalid_definition', `For anthropic: ${errorText(error)}`);
    }
  }
  const bearer = bearerToken(source);
  return {
    ...bearer,
    async authorize(request, signal) {
      const named = (request.headers['anthropic-beta'] ?? '').split(',').map((beta) => beta.trim());
      const betas = [...new Set([...named.filter((beta) => beta !== ''), ...OAUTH_BETAS])];
      return { ...(await bearer.authorize(request, signal)), 'anthropic-beta': betas.join(',') };
    },
  };
};

const deploymentOf = (quirks: AnthropicQuirks | undefined): Deployment => ({
  name: 'anthropic',
  protocol: anthropicMessages(quirks),
  baseUrl: 'https://api.anthropic.com',
  version: 'v1',
  keyVariables: ['ANTHROPIC_API_KEY'],
  credentialVariables: [TOKEN_VARIABLE],
  secretVariables: [TOKEN_VARIABLE],
  baseUrlVariable: 'ANTHROPIC_BASE_URL',
  auth: { header: 'x-api-key', prefix: '' },
  credentials(env) {
    const token = firstSet(env, [TOKEN_VARIABLE]);
    return token === undefined ? undefined : oauth(token);
  },
  files: anthropicFiles,
  catalogue: ANTHROPIC_ROWS,
});

/** Anthropic's own API. */
export const ANTHROPIC: Deployment = deploymentOf(undefined);

/** Options of a model of Anthropic's API. */
export interface AnthropicOptions extends ModelOptions {
  /**
   * An OAuth token, in place of a key: sent as `authorization: Bearer` with the betas it takes. A function is asked before
   * each request, and once more after a refusal. Default: `ANTHROPIC_AUTH_TOKEN`, unless there is a key. Headers by which other programs make themselves known are never sent
   * unless `headers` has them.
   */
  readonly authToken?: TokenSource;
  /** Features to name in the one `anthropic-beta` header, besides those of an OAuth token. */
  readonly betas?: readonly string[];
  readonly quirks?: AnthropicQuirks;
}

/**
 * A model of Anthropic's API, or of any server that speaks its wire.
 *
 * @throws TreadleError `invalid_definition` without a key: set `ANTHROPIC_API_KEY` or pass `apiKey`.
 * @example
 * ```ts
 * import { anthropic } from '@treadle/models/anthropic';
 *
 * const model = anthropic('claude-sonnet-5-5', { apiKey: 'your-key', betas: ['context-management-2025-06-27'] });
 * ```
 */
export function anthropic(modelId: string, options: AnthropicOptions = {}): Model {
  const { authToken, betas = [], quirks, ...rest } = options;
  if (authToken !== undefined && (rest.apiKey !== undefined || rest.credentials !== undefined)) {
    throw new TreadleError(
      'invalid_definition',
      'Pass one of `apiKey`, `authToken` and `credentials`; a request can carry only one.',
    );
  }
  const named = [...(quirks?.betas ?? []), ...betas];
  const deployment = quirks === undefined && named.length === 0 ? ANTHROPIC : deploymentOf({ ...quirks, betas: named });
  const token = authToken === undefined ? {} : { credentials: oauth(authToken) };
  return deploymentModel(deployment, modelId, { ...rest, ...token });
}
