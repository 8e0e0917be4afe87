import { systemClock } from '@treadle/core';
import type { Http, HttpRequest, HttpResponse } from '@treadle/core';
import { exchangeOf, sendsDirectly } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { proxiedHttp } from './proxied-http.ts';
import { proxyEnvironment } from './proxy.ts';
import type { Environment } from './proxy.ts';
import { socketHttp } from './socket-http.ts';
import { DEFAULT_FIRST_BYTE_TIMEOUT_MS, DEFAULT_IDLE_TIMEOUT_MS } from './timeouts.ts';
import type { HttpTimeouts } from './timeouts.ts';

/** Options of {@link nodeHttp}. */
export interface NodeHttpOptions extends HttpTimeouts {
  /** Where `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` (or lowercase) are read. Default `process.env`. */
  readonly env?: Environment;
  /** Certificates to trust besides Node's own, as PEM. */
  readonly ca?: string;
}

/**
 * The cheapest transport Node has: sockets with kept connections, loaded at the first request. Where the environment names
 * a proxy it is `node:http` and `node:https`, which know how to speak to one. Redirects are not followed. Bodies in gzip,
 * deflate, brotli and zstd are unpacked, no faster than they are read.
 *
 * A request that finds its kept connection closed, without a byte of a response, is sent once more on a new one, whatever
 * its method. A server may have read it all the same, so don't send with this what mustn't happen twice.
 *
 * @throws Rejects with the connection's error, with `TREADLE_FIRST_BYTE_TIMEOUT`, with `TREADLE_MALFORMED_RESPONSE`, or
 * with the signal's reason; the body fails with `ECONNRESET` when the connection ends inside it and with
 * `TREADLE_IDLE_TIMEOUT` when nothing comes.
 */
export function nodeHttp(options: NodeHttpOptions = {}): Http {
  let made: Http | undefined;
  const transport = (): Http => (made ??= createHttp(options));
  let exchange: Exchange | undefined;
  const http = (request: HttpRequest): Promise<HttpResponse> => transport()(request);
  return sendsDirectly(http, (request, receiver) => (exchange ??= exchangeOf(transport()))(request, receiver));
}

const createHttp = (options: NodeHttpOptions): Http => {
  const proxies = proxyEnvironment(options.env ?? process.env);
  const settings = {
    firstByteTimeoutMs: options.firstByteTimeoutMs ?? DEFAULT_FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
    clock: options.clock ?? systemClock,
    ca: options.ca,
  };
  return proxies === undefined ? socketHttp(settings) : proxiedHttp({ ...settings, proxies });
};
