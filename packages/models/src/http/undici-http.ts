import type { Http } from '@treadle/core';
import type { Dispatcher } from 'undici';
import { loadLibrary, passOn } from '../auth/optional-library.ts';
import { decoded } from './content-encoding.ts';
import { proxiesOf, type Environment } from './proxy.ts';
import { checkedHeadersOf, joinedHeaders, timedHttp, type Transport } from './timed-http.ts';
import { DEFAULT_CONNECT_TIMEOUT_MS, DEFAULT_KEEP_ALIVE_TIMEOUT_MS, type ConnectionTimeouts } from './timeouts.ts';
import { trustOf } from './trust.ts';

/** Options of {@link undiciHttp}. */
export interface UndiciHttpOptions extends ConnectionTimeouts {
  /**
   * What requests go through, such as a `ProxyAgent` or a `MockAgent` of undici's. `env`, `ca`, `connectTimeoutMs` and
   * `keepAliveTimeoutMs` have no effect then. A function is called at the first request, and again after a request failed:
   * the one before is closed, with its kept connections. A dispatcher is never closed.
   */
  readonly dispatcher?: Dispatcher | (() => Dispatcher);
  /** Where `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` (or lowercase) are read. Default `process.env`. */
  readonly env?: Environment;
  /** Certificates to trust besides Node's own, as PEM. */
  readonly ca?: string;
}

type Undici = typeof import('undici');

const ADVICE = 'This transport takes the library undici, which is not installed: run `npm install undici`.';

/** Makes the dispatcher for an address. */
function dispatchersOf(
  { Agent, ProxyAgent }: Undici,
  options: UndiciHttpOptions,
): (url: URL) => [string, () => Dispatcher] {
  const { dispatcher } = options;
  if (typeof dispatcher === 'function') return () => ['', dispatcher];
  const { connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS } = options;
  const { keepAliveTimeoutMs = DEFAULT_KEEP_ALIVE_TIMEOUT_MS } = options;
  const connect = { timeout: connectTimeoutMs, ...trustOf(options.ca)() };
  const settings = { keepAliveTimeout: keepAliveTimeoutMs, keepAliveMaxTimeout: keepAliveTimeoutMs };
  const proxyOf = proxiesOf(options.env ?? process.env);
  return (url) => {
    const uri = proxyOf(url);
    if (uri === undefined) return ['', () => new Agent({ ...settings, connect })];
    return [uri, () => new ProxyAgent({ ...settings, uri, requestTls: connect })];
  };
}

function undiciTransport(undici: Undici, options: UndiciHttpOptions): Transport {
  const own = options.dispatcher;
  const dispatcherOf = dispatchersOf(undici, options);
  let kept = new Map<string, Dispatcher>();
  const dispatcherFor = (url: URL): Dispatcher => {
    if (typeof own === 'object') return own;
    const [name, make] = dispatcherOf(url);
    const dispatcher = kept.get(name) ?? make();
    kept.set(name, dispatcher);
    return dispatcher;
  };
  return {
    async send({ request, signal }) {
      const url = new URL(request.url);
      const { statusCode, headers, body } = await undici.request(url, {
        dispatcher: dispatcherFor(url),
        method: request.method,
        headers: checkedHeadersOf(request),
        body: request.body ?? null,
        signal,
        // The limits are ours.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      // A failure is its reader's, if there is one.
      body.on('error', () => {});
      const all = joinedHeaders(headers);
      return { status: statusCode, headers: all, body: decoded(body, all['content-encoding']) };
    },
    failed() {
      const dropped = kept;
      kept = new Map();
      // What is under way on them goes on.
      for (const dispatcher of dropped.values()) void dispatcher.close().catch(() => {});
    },
  };
}

/**
 * Requests by undici, an optional library that is loaded at the first request. It costs less than `node:http`, and any
 * dispatcher of undici's can take the requests.
 *
 * @throws Rejects as `nodeHttp` does, and with a TreadleError `invalid_definition` when undici isn't installed.
 *
 * @example
 * ```ts
 * import { anthropic } from '@treadle/models/anthropic';
 * import { undiciHttp } from '@treadle/models/undici';
 *
 * const model = anthropic('claude-sonnet-5-5', { apiKey: 'your-key', http: undiciHttp() });
 * ```
 */
export function undiciHttp(options: UndiciHttpOptions = {}): Http {
  let loading: Promise<Transport> | undefined;
  let transport: Transport | undefined;
  const load = async (): Promise<Transport> =>
    (transport = undiciTransport(await loadLibrary(() => import('undici').catch(passOn), ADVICE), options));
  return timedHttp(
    {
      send: async (sending) => (await (loading ??= load())).send(sending),
      failed: () => transport?.failed?.(),
    },
    options,
  );
}
