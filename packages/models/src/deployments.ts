import { TreadleError, type Model } from '@treadle/core';
import { ANTHROPIC } from './deployments/anthropic.ts';
import { BEDROCK } from './deployments/bedrock.ts';
import { CHAT_SERVERS } from './deployments/chat-servers.ts';
import { deploymentModel, type Deployment, type ModelOptions } from './deployments/deployment.ts';
import { GOOGLE } from './deployments/google.ts';
import { OLLAMA } from './deployments/ollama.ts';
import { OPENAI_RESPONSES } from './deployments/openai-responses.ts';
import { AZURE_BOTH, AZURE_CHAT, COMPATIBLE_BOTH, OPENAI } from './deployments/openai-both.ts';
import { OPENAI_CHAT } from './deployments/openai.ts';
import { VERTEX } from './deployments/vertex.ts';
import type { Environment } from './http/proxy.ts';

/** Every deployment that `resolveModel` knows. */
export const DEPLOYMENTS: readonly Deployment[] = [
  ANTHROPIC,
  OPENAI,
  OPENAI_CHAT,
  OPENAI_RESPONSES,
  AZURE_BOTH,
  AZURE_CHAT,
  BEDROCK,
  GOOGLE,
  VERTEX,
  OLLAMA,
  ...CHAT_SERVERS,
  COMPATIBLE_BOTH,
];

/**
 * The model of a name such as `anthropic/claude-sonnet-5-5`: a provider, a slash, and the provider's name of the model,
 * which may have slashes of its own.
 *
 * @throws TreadleError `invalid_definition` for an unknown provider, a missing key or an unusable base URL.
 * @example
 * ```ts
 * import { resolveModel } from '@treadle/models';
 *
 * const model = resolveModel('openai/gpt-6-luna', { baseUrl: 'http://localhost:8000/v1' });
 * ```
 */
export function resolveModel(name: string, options: ModelOptions = {}): Model {
  const slash = name.indexOf('/');
  const provider = slash === -1 ? name : name.slice(0, slash);
  const deployment = DEPLOYMENTS.find((row) => row.name === provider);
  if (deployment === undefined) {
    const known = DEPLOYMENTS.map((row) => row.name).join(', ');
    throw new TreadleError(
      'invalid_definition',
      `No provider is called \`${provider}\`. A model's name is \`provider/model\`, with one of these providers: ${known}.`,
    );
  }
  return deploymentModel(deployment, slash === -1 ? '' : name.slice(slash + 1), options);
}

/** Shorter values are placeholders, such as the `none` of a server on this machine. */
const SHORTEST_KEY = 8;

/**
 * The keys of all deployments that are in an environment, by the names of their variables: what `secretGuard` of
 * `@treadle/core` keeps out of logs.
 *
 * @example
 * ```ts
 * import { keysIn } from '@treadle/models';
 *
 * console.log(keysIn({ OPENAI_API_KEY: 'sk-0123456789', HOME: '/root' })); // { OPENAI_API_KEY: 'sk-0123456789' }
 * ```
 */
export function keysIn(env: Environment): Readonly<Record<string, string>> {
  const names = DEPLOYMENTS.flatMap(({ keyVariables, secretVariables = [] }) => [...keyVariables, ...secretVariables]);
  return Object.fromEntries(
    [...new Set(names)].flatMap((name) => {
      const value = env[name]?.trim() ?? '';
      return value.length < SHORTEST_KEY ? [] : [[name, value]];
    }),
  );
}
