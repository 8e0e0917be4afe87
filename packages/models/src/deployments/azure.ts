import { TreadleError, type Model } from '@treadle/core';
import { OPENAI_ROWS } from '../catalogue/rows/openai.ts';
import { openaiResponses } from '../protocols/openai-responses/protocol.ts';
import { deploymentModel, type Deployment } from './deployment.ts';
import { openaiContainerFiles } from './openai-files.ts';
import type { OpenAIResponsesOptions } from './openai-responses.ts';

/** The `api-version` where a path wants one and nobody says which. */
const DEFAULT_API_VERSION = '2025-01-01-preview';

/** A word that means the API without dated versions. */
const UNDATED = 'v1';

/**
 * Completes the address of a resource. Of a bare host it is the current API, `/openai/v1`, unless a dated version was
 * asked for, which `/openai` answers. A path is somebody's decision and stays; all but that of the current API needs an
 * `api-version`.
 */
const completed = (given: string, asked: string | undefined): string => {
  const url = URL.parse(given);
  // Whoever reads base URLs says what is wrong with it.
  if (url === null) return given;
  const dated = asked !== undefined && /^\d{4}-/.test(asked);
  if (url.pathname.replace(/\/+$/, '') === '') url.pathname = dated ? '/openai' : '/openai/v1';
  if (url.searchParams.has('api-version')) return url.href;
  const version = /\/v1\/?$/.test(url.pathname) ? asked : (asked ?? DEFAULT_API_VERSION);
  if (version !== undefined && version !== UNDATED) url.searchParams.set('api-version', version);
  return url.href;
};

const deploymentOf = ({ quirks, apiVersion }: AzureOptions): Deployment => ({
  name: 'azure',
  protocol: openaiResponses(quirks),
  baseUrl(env, given) {
    if (given === undefined) {
      throw new TreadleError(
        'invalid_definition',
        `No address for azure. Set AZURE_OPENAI_BASE_URL, or pass \`baseUrl\`, such as https://my-resource.openai.azure.com.`,
      );
    }
    const fromEnvironment = env['AZURE_OPENAI_API_VERSION']?.trim();
    return completed(given, apiVersion ?? (fromEnvironment === '' ? undefined : fromEnvironment));
  },
  version: '',
  keyVariables: ['AZURE_OPENAI_API_KEY'],
  baseUrlVariable: ['AZURE_OPENAI_BASE_URL', 'AZURE_OPENAI_ENDPOINT'],
  auth: { header: 'api-key', prefix: '' },
  catalogue: OPENAI_ROWS,
  files: openaiContainerFiles,
});

/** Options of a model of Azure OpenAI. What a deployment's name doesn't say of its model, `quirks.family` says. */
export interface AzureOptions extends OpenAIResponsesOptions {
  /** Default: `AZURE_OPENAI_API_VERSION`, else what the path of the base URL needs. */
  readonly apiVersion?: string;
}

/** Azure OpenAI. The name of a model is the name of its deployment. */
export const AZURE: Deployment = deploymentOf({});

/**
 * A model of Azure OpenAI, by the Responses API. The base URL is that of the resource, alone, with `/openai/v1`, or
 * with `/openai/deployments/NAME`. A token of Microsoft Entra goes into `headers.authorization`, in place of a key.
 *
 * @throws TreadleError `invalid_definition` without an address or a key: set `AZURE_OPENAI_BASE_URL` (or
 * `AZURE_OPENAI_ENDPOINT`) and `AZURE_OPENAI_API_KEY`.
 * @example
 * ```ts
 * import { azure } from '@treadle/models/openai-responses';
 *
 * const model = azure('my-deployment', { baseUrl: 'https://my-resource.openai.azure.com', apiKey: 'your-key' });
 * ```
 */
export function azure(deploymentName: string, options: AzureOptions = {}): Model {
  const { quirks: _quirks, apiVersion: _apiVersion, ...rest } = options;
  return deploymentModel(deploymentOf(options), deploymentName, rest);
}
