import type { Http } from '@treadle/core';
import { fetchHttp } from './fetch-http.ts';
import { nodeHttp } from './node-http.ts';
import type { Environment } from './proxy.ts';

const shared = new WeakMap<Environment, Http>();

/** Cloudflare's workerd has Node's modules with `nodejs_compat`, but no sockets behind their agents. */
const isNode = (): boolean =>
  typeof process === 'object' &&
  typeof process.getBuiltinModule === 'function' &&
  globalThis.navigator?.userAgent !== 'Cloudflare-Workers';

/**
 * The transport of models that weren't given one, shared by all of one environment: `node:http` where there is Node, else
 * `fetch`. The environment says which proxies it uses.
 */
export function defaultHttp(env: Environment): Http {
  let http = shared.get(env);
  if (http === undefined) {
    http = isNode() ? nodeHttp({ env }) : fetchHttp();
    shared.set(env, http);
  }
  return http;
}
