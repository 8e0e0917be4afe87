import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

import { OpenApiProblem } from './problem.ts';

/** What the application says of servers. */
export interface ServerOptions {
  /** The address before every path, instead of the document's servers: `https://api.example.com/v1`. */
  readonly baseUrl?: string;
  /** Where the document came from, for servers that are relative to it. */
  readonly documentUrl?: string;
  /** Values of the server's variables, instead of their defaults. A model never sees or sets them. */
  readonly serverVariables?: Readonly<Record<string, string>>;
}

/**
 * The address before an operation's path: the first of the nearest list of servers.
 *
 * @param lists of the operation, of its path, of the document
 * @throws OpenApiProblem `no_server`.
 */
export function serverOf(lists: readonly (JsonValue | undefined)[], options: ServerOptions): URL {
  const { baseUrl, documentUrl } = options;
  const server = baseUrl === undefined ? firstOf(lists) : null;
  const text = baseUrl ?? withVariables(server ?? {}, options.serverVariables ?? {});
  const url = URL.parse(text, documentUrl);
  if (url === null) {
    throw noServer(`The server ${JSON.stringify(text.slice(0, 200))} is no absolute address: give a baseUrl.`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw noServer(`The server ${url.protocol} is none that is asked by http: or https:.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw noServer("The server's address holds a user name or a password. Give it as a credential.");
  }
  return url;
}

const noServer = (message: string): OpenApiProblem => new OpenApiProblem('no_server', message);

function firstOf(lists: readonly (JsonValue | undefined)[]): JsonObject | null {
  for (const list of lists) {
    const first: unknown = Array.isArray(list) ? list[0] : undefined;
    if (isJsonObject(first)) return first;
  }
  return null;
}

function withVariables(server: JsonObject, given: Readonly<Record<string, string>>): string {
  const url = typeof server['url'] === 'string' ? server['url'] : '/';
  const variables = isJsonObject(server['variables']) ? server['variables'] : {};
  return url.replace(/\{([^{}]{1,100})\}/g, (whole, name: string) => {
    const declared = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const variable = isJsonObject(declared) ? declared : {};
    const value = Object.hasOwn(given, name) ? given[name] : variable['default'];
    const choices: unknown = variable['enum'];
    if (typeof value !== 'string' || (Array.isArray(choices) && !choices.includes(value))) {
      throw noServer(`The server's variable ${whole} has no value: give it by serverVariables.`);
    }
    return value;
  });
}
