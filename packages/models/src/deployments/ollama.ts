import type { Model } from '@treadle/core';
import { ollamaWindow } from '../windows/detect.ts';
import { ollamaChat } from '../protocols/ollama/protocol.ts';
import type { OllamaQuirks } from '../protocols/ollama/quirks.ts';
import { deploymentModel, NO_CREDENTIALS, type Deployment, type ModelOptions } from './deployment.ts';

/** Options of a model of Ollama. */
export interface OllamaOptions extends ModelOptions {
  readonly quirks?: OllamaQuirks;
}

const HOME = 'http://localhost:11434';

/**
 * A base URL from what `OLLAMA_HOST` may be: a host, a port, both, or a URL. The variable also tells the server where to
 * listen, so it may name every address of the machine, which no client can connect to. A path that is the API's own, of
 * this wire or of the OpenAI-compatible one, is left out.
 */
const completeUrl = (given: string): string => {
  const scheme = /^https?:\/\//i.test(given);
  const text = scheme ? given : `http://${given.startsWith(':') ? 'localhost' : ''}${given}`;
  const url = URL.parse(text);
  // Said where all base URLs are checked.
  if (url === null) return given;
  // A URL's port is its scheme's; anything shorter means Ollama's.
  if (!scheme && !/:\d+(?:\/|$)/.test(text.slice('http://'.length))) url.port = '11434';
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = 'localhost';
  url.pathname = url.pathname.replace(/\/(?:api|v1)\/?$/, '');
  return url.href;
};

const deploymentOf = (options: OllamaOptions): Deployment => ({
  name: 'ollama',
  protocol: ollamaChat(options.quirks),
  baseUrl: (_env, given) => (given === undefined ? HOME : completeUrl(given)),
  version: '',
  keyVariables: ['OLLAMA_API_KEY'],
  baseUrlVariable: ['OLLAMA_BASE_URL', 'OLLAMA_HOST'],
  auth: { header: 'authorization', prefix: 'Bearer ' },
  windowQuestions: (model) => [{ path: '/api/show', body: { model }, read: ollamaWindow }],
  // A server of one's own wants no key, wherever it is.
  credentials: () => NO_CREDENTIALS,
});

/** Ollama, by its own chat API. */
export const OLLAMA: Deployment = deploymentOf({});

/**
 * A model that an Ollama server runs, on this machine unless `OLLAMA_HOST`, `OLLAMA_BASE_URL` or `baseUrl` says
 * otherwise. It needs no key; one in `OLLAMA_API_KEY` is sent. Each request asks for the context that `contextWindow`
 * says, else for what the server says of the model, 32,768 tokens at most: its memory grows with it. Ollama's own options
 * go into a request's `providerOptions`: `{ options: { top_k: 40 } }`.
 *
 * @throws TreadleError `invalid_definition` for an unusable base URL.
 * @example
 * ```ts
 * import { ollama } from '@treadle/models/ollama';
 *
 * const model = ollama('qwen3:8b');
 * ```
 */
export function ollama(modelId: string, options: OllamaOptions = {}): Model {
  const { quirks: _quirks, ...rest } = options;
  return deploymentModel(deploymentOf(options), modelId, rest);
}
