import type * as NodeHttp from 'node:http';
import type { Socket } from 'node:net';
import { systemClock, type Http } from '@treadle/core';
import { bytesOfBody } from '@treadle/core/ports';
import { decoded } from './content-encoding.ts';
import { knowsProxies, proxiesOf, proxyUnsupported, type Environment, type ProxyOf } from './proxy.ts';
import { headersOf, joinedHeaders, timedHttp, type Answer, type Sending, type Transport } from './timed-http.ts';
import { DEFAULT_CONNECT_TIMEOUT_MS, DEFAULT_KEEP_ALIVE_TIMEOUT_MS, transportError } from './timeouts.ts';
import type { ConnectionTimeouts } from './timeouts.ts';
import { trustOf } from './trust.ts';

/** Options of {@link nodeHttp}. */
export interface NodeHttpOptions extends ConnectionTimeouts {
  /** Where `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` (or lowercase) are read. Default `process.env`. */
  readonly env?: Environment;
  /** Certificates to trust besides Node's own, as PEM. */
  readonly ca?: string;
}

/** Unused connections to one host: when a thousand runs end together, the next thousand needn't connect. */
const MOST_KEPT = 1024;

type Agents = Map<string, NodeHttp.Agent>;

/** Where requests to one address go. */
interface Target {
  readonly module: Pick<typeof NodeHttp, 'Agent' | 'request'>;
  readonly options: NodeHttp.RequestOptions;
  /** What a socket says once it is connected. */
  readonly readyEvent: 'connect' | 'secureConnect';
}

/**
 * `node:http` and `node:https`, with kept connections and through the proxies of the environment. Redirects are not
 * followed. Bodies in gzip, deflate, brotli and zstd are unpacked, no faster than they are read.
 *
 * A request that finds its kept connection closed, without a byte of a response, is sent once more on a new one, whatever
 * its method. A server may have read it all the same, so don't send with this what mustn't happen twice. After a failure on
 * a kept connection, all other kept connections are dropped: they are as old.
 *
 * @throws Rejects with the connection's error, with `TREADLE_CONNECT_TIMEOUT`, `TREADLE_FIRST_BYTE_TIMEOUT`,
 * `TREADLE_MALFORMED_RESPONSE` or `TREADLE_CONTENT_ENCODING`, or with the signal's reason. The body fails with `ECONNRESET`
 * when the connection ends inside it and with `TREADLE_IDLE_TIMEOUT` when nothing comes.
 */
export function nodeHttp(options: NodeHttpOptions = {}): Http {
  let transport: Transport | undefined;
  const made = (): Transport => (transport ??= nodeTransport(options));
  return timedHttp({ send: (sending) => made().send(sending) }, options);
}

function nodeTransport(options: NodeHttpOptions): Transport {
  const { clock = systemClock, connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS } = options;
  const { keepAliveTimeoutMs = DEFAULT_KEEP_ALIVE_TIMEOUT_MS } = options;
  const proxyOf = proxiesOf(options.env ?? process.env);
  const trust = trustOf(options.ca);
  let agents: Agents = new Map();

  const agentFor = ({ protocol }: URL, proxy: string | undefined): NodeHttp.Agent => {
    const name = `${protocol} ${proxy ?? ''}`;
    const known = agents.get(name);
    if (known !== undefined) return known;
    const agent = new (moduleFor(protocol).Agent)({
      keepAlive: true,
      maxFreeSockets: MOST_KEPT,
      timeout: keepAliveTimeoutMs,
      ...(protocol === 'https:' ? trust() : {}),
      ...(proxy === undefined ? {} : { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }),
    });
    agents.set(name, agent);
    return agent;
  };

  let latest: (Target & { readonly address: string; readonly agents: Agents }) | undefined;
  /** Where a request goes: nearly always where the one before it went. */
  const targetOf = (address: string): Target => {
    if (latest?.address === address && latest.agents === agents) return latest;
    const url = new URL(address);
    const isSecure = url.protocol === 'https:';
    const proxy = proxyFor(url, proxyOf);
    const options = {
      ...process.getBuiltinModule('node:url').urlToHttpOptions(url),
      agent: agentFor(url, proxy),
      ...(isSecure ? { servername: servernameOf(url) } : {}),
      // Of the proxy's tunnel, which Node makes before there is a socket.
      ...(proxy === undefined ? {} : { timeout: connectTimeoutMs }),
    };
    const readyEvent = isSecure ? 'secureConnect' : 'connect';
    latest = { module: moduleFor(url.protocol), options, readyEvent, address, agents };
    return latest;
  };

  /** Later requests take new agents, for a socket that was destroyed stays in its agent's list for another moment. */
  const dropKept = (): void => {
    const dropped = agents;
    agents = new Map();
    for (const { freeSockets } of dropped.values())
      for (const sockets of Object.values(freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  };

  /** Fails a request whose connection is not made in time. */
  const limitConnecting = (socket: Socket, { readyEvent }: Target, fail: (error: Error) => void): void => {
    // A connection that was kept, or that goes through a proxy's tunnel, is made by now.
    if (!socket.connecting) return;
    const cancel = clock.after(connectTimeoutMs, () =>
      fail(transportError('TREADLE_CONNECT_TIMEOUT', `No connection within ${connectTimeoutMs} ms.`)),
    );
    socket.once(readyEvent, cancel);
    socket.once('close', cancel);
  };

  /** Resolves with undefined when a kept connection turned out to be closed before it answered. */
  const attempt = ({ request: input, signal }: Sending): Promise<Answer | undefined> =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const target = targetOf(input.url);
      const { module, options } = target;
      // Node goes through a text three times: to count its bytes, to join it to the headers, and to write it.
      const body = input.body === undefined ? undefined : bytesOfBody(input.body);
      const headers = { ...headersOf(input), ...(body && { 'content-length': body.length }) };
      const request = module.request({ ...options, method: input.method, headers });
      let failure: NodeJS.ErrnoException | undefined;
      const fail = (error: NodeJS.ErrnoException): void => {
        if (failure !== undefined) return;
        failure = error;
        if (request.reusedSocket && isDead(error)) dropKept();
        request.destroy();
        if (request.reusedSocket && wasClosed(error)) resolve(undefined);
        else reject(error);
      };
      signal.addEventListener('abort', () => fail(signal.reason as Error), { once: true });
      request.on('socket', (socket) => limitConnecting(socket, target, fail));
      request.on('error', fail);
      request.on('response', (response) => {
        try {
          const body = bodyOf(response, () => failure);
          resolve({ status: response.statusCode ?? 0, headers: joinedHeaders(response.headers), body });
        } catch (error) {
          fail(error as Error);
        }
      });
      request.end(body);
    });

  return {
    async send(sending) {
      const answer = (await attempt(sending)) ?? (await attempt(sending));
      if (answer !== undefined) return answer;
      throw transportError('ECONNRESET', 'The server closed the connection before it answered, twice.');
    },
  };
}

/**
 * The module for a scheme, loaded at the first request, so that an import of this package costs its own code only. Bundlers
 * for browsers don't see Node's modules this way, and tracing agents, which patch what it returns, do.
 */
function moduleFor(protocol: string): Target['module'] {
  return protocol === 'https:' ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http');
}

/** The certificate must be the address's, whatever a `host` header says. Addresses have no server name. */
function servernameOf({ hostname }: URL): string {
  const { isIP } = process.getBuiltinModule('node:net');
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? hostname : '';
}

function proxyFor(url: URL, proxyOf: ProxyOf): string | undefined {
  const proxy = proxyOf(url);
  if (proxy !== undefined && !knowsProxies(process.version)) throw proxyUnsupported(process.version);
  return proxy;
}

/** The chunks of a response. What failed is known best by `failure`: a stream says only that it was cut off. */
function bodyOf(response: NodeHttp.IncomingMessage, failure: () => Error | undefined): AsyncIterator<Uint8Array> {
  const chunks = decoded(response, response.headers['content-encoding']);
  return {
    async next() {
      try {
        const next = await chunks.next();
        // What follows the end of a packed body is nobody's.
        if (next.done === true && !response.complete) response.destroy();
        return next;
      } catch (error) {
        if (failure() !== undefined || response.complete) throw failure() ?? error;
        throw transportError('ECONNRESET', 'The connection was closed in the middle of the response.');
      }
    },
  };
}

/** Failures of a connection, not of a request. */
const isDead = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'TREADLE_FIRST_BYTE_TIMEOUT' || code === 'TREADLE_IDLE_TIMEOUT' || /^E[A-Z]+$/.test(code ?? '');

/** The server closed the connection while it was kept: most likely it read nothing of the request. */
const wasClosed = ({ code }: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE';
