import { TreadleError, type Model } from '@treadle/core';
import { ANTHROPIC_ROWS } from '../catalogue/rows/anthropic.ts';
import { GOOGLE_ROWS } from '../catalogue/rows/google.ts';
import { googleToken } from '../auth/google.ts';
import type { GoogleServiceAccount, GoogleTokenOptions } from '../auth/google-options.ts';
import type { Environment } from '../http/proxy.ts';
import { anthropicMessages } from '../protocols/anthropic/protocol.ts';
import { gemini } from '../protocols/gemini/protocol.ts';
import type { GeminiQuirks } from '../protocols/gemini/quirks.ts';
import { deploymentModel, type Deployment, type ModelOptions } from './deployment.ts';

/** Options of a model of Vertex AI. `apiKey` is an access token. */
export interface VertexOptions extends ModelOptions {
  /** Default: the service account's, else `GOOGLE_CLOUD_PROJECT`. */
  readonly project?: string;
  /** The region, such as `europe-west4`. Default: `GOOGLE_CLOUD_LOCATION`, else `global`. */
  readonly location?: string;
  /** The account whose tokens authorize requests. Default: the application default credentials. */
  readonly serviceAccount?: GoogleServiceAccount;
  /** Path of a file with credentials. Default: `GOOGLE_APPLICATION_CREDENTIALS`. */
  readonly keyFile?: string;
  readonly quirks?: GeminiQuirks;
}

const PROJECT_VARIABLES = ['GOOGLE_CLOUD_PROJECT', 'GOOGLE_VERTEX_PROJECT', 'GCLOUD_PROJECT'];
const LOCATION_VARIABLES = ['GOOGLE_CLOUD_LOCATION', 'GOOGLE_VERTEX_LOCATION'];

const invalid = (message: string): TreadleError => new TreadleError('invalid_definition', message);

const firstOf = (given: string | undefined, env: Environment, names: readonly string[]): string | undefined =>
  [given, ...names.map((name) => env[name])]
    .map((text) => text?.trim())
    .find((text) => text !== undefined && text !== '');

const readProject = (options: VertexOptions, env: Environment): string => {
  const project = firstOf(options.project ?? options.serviceAccount?.project_id, env, PROJECT_VARIABLES);
  if (project === undefined) {
    throw invalid('No project for vertex. Set GOOGLE_CLOUD_PROJECT, or pass `project`.');
  }
  if (!/^[\w.:-]+$/.test(project)) throw invalid('The project for vertex has characters that no project has.');
  return project;
};

const readLocation = (options: VertexOptions, env: Environment): string => {
  const location = firstOf(options.location, env, LOCATION_VARIABLES) ?? 'global';
  // It becomes a part of a host's name.
  if (!/^[a-z0-9-]+$/.test(location)) throw invalid('The location for vertex must be a region such as europe-west4.');
  return location;
};

/** The host of a region; `global`, and the regions of many countries, have their own form. */
const hostOf = (location: string): string => {
  if (location === 'global') return 'aiplatform.googleapis.com';
  if (location === 'us' || location === 'eu') return `aiplatform.${location}.rep.googleapis.com`;
  return `${location}-aiplatform.googleapis.com`;
};

/** The address up to the location. One that was given may end anywhere before it. */
const addressOf = (options: VertexOptions, env: Environment, given: string | undefined): string => {
  if (given !== undefined && given.includes('/projects/')) return given;
  const location = readLocation(options, env);
  const base = (given ?? `https://${hostOf(location)}`).replace(/\/+$/, '');
  const version = /\/v\d+[a-z0-9]*$/i.test(base) ? '' : '/v1';
  return `${base}${version}/projects/${readProject(options, env)}/locations/${location}`;
};

const tokenOptions = ({ serviceAccount, keyFile }: VertexOptions, env: Environment): GoogleTokenOptions => {
  if (serviceAccount !== undefined) return { serviceAccount };
  // What the process itself has in its environment, the library finds by itself.
  const inProcess = typeof process === 'object' && env === process.env;
  const file = firstOf(keyFile, inProcess ? {} : env, ['GOOGLE_APPLICATION_CREDENTIALS']);
  return file === undefined ? {} : { keyFile: file };
};

/** Claude, whose own wire Vertex AI passes on. */
const CLAUDE = anthropicMessages({
  path: (modelId) => `/publishers/anthropic/models/${encodeURIComponent(modelId)}:streamRawPredict`,
  version: 'vertex-2023-10-16',
  versionIn: 'body',
  blockBinding: false,
});

const deploymentOf = (options: VertexOptions): Deployment => ({
  name: 'vertex',
  wireFor(modelId) {
    return modelId.startsWith('claude-') ? CLAUDE : this.protocol;
  },
  protocol: gemini({ modelsPath: '/publishers/google/models', callIdPrefix: 'vertex', ...options.quirks }),
  baseUrl: (env, given) => addressOf(options, env, given),
  version: 'v1',
  keyVariables: ['GOOGLE_VERTEX_ACCESS_TOKEN', 'CLOUDSDK_AUTH_ACCESS_TOKEN'],
  baseUrlVariable: 'GOOGLE_VERTEX_BASE_URL',
  auth: { header: 'authorization', prefix: 'Bearer ' },
  catalogue: [...GOOGLE_ROWS, ...ANTHROPIC_ROWS],
  credentials: (env) => googleToken(tokenOptions(options, env)),
  credentialVariables: ['GOOGLE_APPLICATION_CREDENTIALS'],
});

/** Gemini and Claude on Google Cloud's Vertex AI. */
export const VERTEX: Deployment = deploymentOf({});

/**
 * A model of Vertex AI. Requests carry an access token: `apiKey` where there is one, else one that `google-auth-library`
 * fetches, with the first request, for the service account or the application default credentials.
 *
 * @throws TreadleError `invalid_definition` without a project: set `GOOGLE_CLOUD_PROJECT` or pass `project`.
 * @example
 * ```ts
 * import { vertex } from '@treadle/models/vertex';
 *
 * const model = vertex('gemini-2.5-pro', { project: 'my-project', location: 'europe-west4' });
 * ```
 */
export function vertex(modelId: string, options: VertexOptions = {}): Model {
  const { project: _project, location: _location, serviceAccount, keyFile, quirks: _quirks, ...rest } = options;
  // An account that was given wins over a token that happens to be in the environment.
  const own = serviceAccount !== undefined || keyFile !== undefined;
  const chosen = own && rest.credentials === undefined && rest.apiKey === undefined;
  const credentials = chosen ? { credentials: googleToken(tokenOptions(options, rest.env ?? {})) } : {};
  return deploymentModel(deploymentOf(options), modelId, { ...rest, ...credentials });
}
