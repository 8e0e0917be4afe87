import type { Http } from '@treadle/core';
import { fetchHttp } from './fetch-http.ts';
import { nodeHttp } from './node-http.ts';
import type { Environment } from './proxy.ts';

const shared = new WeakMap<Environment, Http>();

/**
 * The transport of models that weren't given one, shared by all of one environment: Node's own where there is Node, else
 * `fetch`. The environment says which proxies it uses.
 */
export function defaultHttp(env: Environment): Http {
  let http = shared.get(env);
  if (http === undefined) {
    const onNode = typeof process === 'object' && typeof process.getBuiltinModule === 'function';
    http = onNode ? nodeHttp({ env }) : fetchHttp((url, init) => fetch(url, init));
    shared.set(env, http);
  }
  return http;
}
