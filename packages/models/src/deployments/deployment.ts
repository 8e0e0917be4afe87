import { TreadleError, type Clock, type Http, type Model } from '@treadle/core';
import type { ModelFiles } from '@treadle/core/model';
import type { CredentialProvider } from '../auth/credentials.ts';
import { modelFacts } from '../catalogue/facts.ts';
import type { CatalogueRow } from '../catalogue/row.ts';
import { defined } from '@treadle/core/json';
import { defaultHttp } from '../http/default-http.ts';
import type { Environment } from '../http/proxy.ts';
import { wireModel, type FilesWire } from '../model.ts';
import type { WindowQuestion } from '../windows/detect.ts';
import type { Protocol } from '../protocols/shared/protocol.ts';

/** A place where a wire protocol is spoken. A row of data: everything a provider needs besides its protocol's code. */
export interface Deployment {
  /** The `provider` of its models and the first part of their names. */
  readonly name: string;
  /** The protocol, with this deployment's quirks. */
  readonly protocol: Protocol;
  /** The wires that a model can choose by `wire`, where there is more than one. */
  readonly wires?: Readonly<Record<WireName, Protocol>>;
  /** The wire of a model that chooses none. Default: that of `protocol`. */
  wireFor?(modelId: string, baseUrl: URL): Protocol;
  /** A function where the address depends on the environment; it also completes an address that was given. */
  readonly baseUrl: string | ((env: Environment, given: string | undefined) => string);
  /** The version segment that a base URL may or may not end with; `''` when the wire has none. */
  readonly version: string;
  /** Environment variables that may hold the key, the first that is set wins. */
  readonly keyVariables: readonly string[];
  /** The environment variable that may hold another base URL, or several of which the first that is set wins. */
  readonly baseUrlVariable: string | readonly string[];
  /** The header that carries the key, and what comes before the key in it; `query` names a parameter that does instead. */
  readonly auth: { readonly header: string; readonly prefix: string; readonly query?: string };
  /** Where credentials come from when there is no key; undefined when there are none either. */
  readonly credentials?: (env: Environment) => CredentialProvider | undefined;
  /** The environment variables that `credentials` reads. */
  readonly credentialVariables?: readonly string[];
  /** The environment variables that hold secrets besides `keyVariables`. */
  readonly secretVariables?: readonly string[];
  /** Reads the files that it keeps, where it has an API for them. */
  readonly files?: (wire: FilesWire) => ModelFiles;
  /** What its server is asked about a model's window, where nobody knows it. */
  readonly windowQuestions?: (modelId: string) => readonly WindowQuestion[];
  /** What is known about its models. */
  readonly catalogue?: readonly CatalogueRow[];
  /** What its models have for the option of this name when it isn't given. */
  readonly pingsResetIdleTimeout?: boolean;
}

/** A wire of OpenAI's: Chat Completions, or the Responses API. */
export type WireName = 'chat' | 'responses';

/** Options of every model. */
export interface ModelOptions {
  /** The wire, for providers that speak both of OpenAI's. Default: the one that suits the model. */
  readonly wire?: WireName;
  /** The model's name for people, kept in the log. Default: none. */
  readonly name?: string;
  /** Default: the provider's environment variable. */
  readonly apiKey?: string;
  /** Credentials that expire or that sign requests, in place of a key. */
  readonly credentials?: CredentialProvider;
  /** Default: the provider's environment variable, else its public address. With or without the version at its end. */
  readonly baseUrl?: string;
  /** Default: Node's `http`, or `fetch` elsewhere. */
  readonly http?: Http;
  /** Sent with every request, last: they win over Treadle's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: `process.env`. Read for keys, base URLs and proxies. */
  readonly env?: Environment;
  /** Tokens the model can take in all, when you know. Default: what the catalogue says. */
  readonly contextWindow?: number;
  /** Rows of your own: prices and limits of models the catalogue doesn't have, or has otherwise. They come first. */
  readonly catalogue?: readonly CatalogueRow[];
  /**
   * Whether pings and comments of the server, which only keep the connection alive, begin the idle timeout anew. Default
   * false: an answer that stands still is given up, however alive its connection is.
   */
  readonly pingsResetIdleTimeout?: boolean;
  readonly clock?: Clock;
}

/** The credentials of a server that wants none. */
export const NO_CREDENTIALS: CredentialProvider = { authorize: () => ({}) };

/** What a server on this machine that wants no key gets instead of one. */
const PLACEHOLDER_KEY = 'none';

const NO_ENVIRONMENT: Environment = {};

const invalid = (message: string): TreadleError => new TreadleError('invalid_definition', message);

/** The value of the first of these variables that has one. */
export const firstSet = (env: Environment, names: readonly string[]): string | undefined => {
  for (const name of names) {
    const value = env[name]?.trim();
    if (value !== undefined && value !== '') return value;
  }
  return undefined;
};

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  /^127(?:\.\d{1,3}){3}$/.test(hostname);

/** A version anywhere in the path is somebody's decision; without one, the deployment's is added. */
const withVersion = (url: URL, version: string): void => {
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = version === '' || /\/v\d+[a-z0-9]*(?:\/|$)/i.test(path) ? path : `${path}/${version}`;
};

/**
 * Where a deployment's requests go: the address from the options, its variable or its row, with the version it wants.
 *
 * @throws TreadleError `invalid_definition` for one that can't be used. The message doesn't quote it.
 */
export function deploymentBaseUrl(deployment: Deployment, options: ModelOptions = {}): URL {
  const env = options.env ?? (typeof process === 'object' ? process.env : NO_ENVIRONMENT);
  const fromOption = options.baseUrl !== undefined;
  const variables = [deployment.baseUrlVariable].flat();
  const given = options.baseUrl ?? firstSet(env, variables);
  const { baseUrl } = deployment;
  const text = typeof baseUrl === 'function' ? baseUrl(env, given) : (given ?? baseUrl);
  const source = fromOption ? 'The base URL' : variables.join(' or ');
  const example = typeof baseUrl === 'string' ? baseUrl : 'https://example.com';
  const url = URL.parse(text);
  if (url === null) throw invalid(`${source} is not a URL. Give one such as ${example}.`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalid(`${source} must begin with http:// or https://, as ${example} does.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(
      `${source} contains a user name or a password. Pass them as a header: options.headers.authorization.`,
    );
  }
  withVersion(url, deployment.version);
  return url;
}

const givenKey = (deployment: Deployment, options: ModelOptions, env: Environment): string | undefined => {
  const key = options.apiKey?.trim() ?? firstSet(env, deployment.keyVariables);
  return key === '' ? undefined : key;
};

const readKey = (deployment: Deployment, options: ModelOptions, env: Environment, url: URL): string => {
  const key = givenKey(deployment, options, env);
  if (key === undefined) {
    if (isLoopback(url.hostname)) return PLACEHOLDER_KEY;
    throw invalid(
      `No key for ${deployment.name}. Set ${[...deployment.keyVariables, ...(deployment.credentialVariables ?? [])].join(' or ')}, or pass \`apiKey\`. ` +
        `(A server on this machine needs none: set ${[deployment.baseUrlVariable].flat().join(' or ')} to its address.)`,
    );
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw invalid(`The key for ${deployment.name} has characters that no header can carry. Was it copied whole?`);
  }
  return key;
};

/** Where this model's credentials come from, if not from a header or a key. */
const readCredentials = (
  deployment: Deployment,
  options: ModelOptions,
  env: Environment,
): CredentialProvider | undefined => {
  if (options.credentials !== undefined) return options.credentials;
  return givenKey(deployment, options, env) === undefined ? deployment.credentials?.(env) : undefined;
};

const lowercased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const protocolFor = (deployment: Deployment, modelId: string, url: URL, asked: WireName | undefined): Protocol => {
  const { name, protocol, wires } = deployment;
  if (asked === undefined) return deployment.wireFor?.(modelId, url) ?? protocol;
  if (wires !== undefined) return wires[asked];
  if (protocol.name === `openai-${asked}`) return protocol;
  throw invalid(`\`${name}\` has one wire, ${protocol.name}. Leave out \`wire\`.`);
};

/**
 * A model of a deployment.
 *
 * @throws TreadleError `invalid_definition` when the model's name is empty, the base URL is unusable or there is no key.
 */
export function deploymentModel(deployment: Deployment, modelId: string, options: ModelOptions = {}): Model {
  if (modelId === '') throw invalid(`The name of a model is missing after \`${deployment.name}/\`.`);
  const env = options.env ?? (typeof process === 'object' ? process.env : NO_ENVIRONMENT);
  const url = deploymentBaseUrl(deployment, options);
  const headers = lowercased(options.headers ?? {});
  const { header, prefix, query } = deployment.auth;
  // Whoever brings the credentials as a header needs no others.
  const needed = headers[header] === undefined && headers['authorization'] === undefined;
  const credentials = needed ? readCredentials(deployment, options, env) : undefined;
  const key = needed && credentials === undefined ? readKey(deployment, options, env, url) : undefined;
  if (key !== undefined && query !== undefined) url.searchParams.set(query, key);
  return wireModel({
    protocol: protocolFor(deployment, modelId, url, options.wire),
    provider: deployment.name,
    modelId,
    baseUrl: url.href,
    headers: { ...(key === undefined || query !== undefined ? {} : { [header]: prefix + key }), ...headers },
    http: options.http ?? defaultHttp(env),
    ...modelFacts(deployment.name, modelId, options.catalogue, deployment.catalogue, options.clock),
    ...defined({
      credentials,
      files: deployment.files,
      contextWindow: options.contextWindow,
      clock: options.clock,
      name: options.name,
    }),
    ...defined({ windowQuestions: deployment.windowQuestions?.(modelId) }),
    pingsResetIdleTimeout: options.pingsResetIdleTimeout ?? deployment.pingsResetIdleTimeout ?? false,
  });
}
