import type * as NodeHttp from 'node:http';
import type { Readable } from 'node:stream';
import { systemClock } from '@treadle/core';
import type { Http, HttpBody, HttpRequest, HttpResponse } from '@treadle/core';
import { createChunkQueue } from './chunk-queue.ts';
import { knowsProxies, proxyEnvironment, proxyUnsupported, wantsProxy } from './proxy.ts';
import type { Environment } from './proxy.ts';
import { DEFAULT_FIRST_BYTE_TIMEOUT_MS, DEFAULT_IDLE_TIMEOUT_MS, transportError, watchIdle } from './timeouts.ts';
import type { HttpTimeouts } from './timeouts.ts';

/** Options of {@link nodeHttp}. */
export interface NodeHttpOptions extends HttpTimeouts {
  /** Where `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` (or lowercase) are read. Default `process.env`. */
  readonly env?: Environment;
  /** Certificates to trust besides Node's own, as PEM. */
  readonly ca?: string;
}

interface Settings {
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly clock: NonNullable<HttpTimeouts['clock']>;
  readonly proxies: Record<string, string> | undefined;
  readonly ca: string | undefined;
}

/** An address as Node's `request` wants it. */
interface Target {
  readonly options: NodeHttp.RequestOptions;
  /** With the port, unless it is the scheme's own. */
  readonly host: string;
}

/** One scheme's module and its agent, which keeps connections. */
interface Scheme {
  readonly request: typeof NodeHttp.request;
  /** A URL as the options of a request. */
  target(url: string): Target;
  readonly kept: NodeHttp.Agent;
  /** An agent without kept connections, for the request after one found its connection closed. */
  fresh(): NodeHttp.Agent;
}

/** A run asks for the same address every turn; it is taken apart once. */
const createTargets = (secure: boolean): Scheme['target'] => {
  const { urlToHttpOptions } = process.getBuiltinModule('node:url');
  let known = '';
  let target: Target = { options: {}, host: '' };
  return (url) => {
    if (url !== known) {
      const parsed = new URL(url);
      // Where there is no TLS there is no server name either; Node would find that out at every request.
      const options = { ...urlToHttpOptions(parsed), ...(secure ? {} : { servername: '' }) };
      target = { options, host: parsed.host };
      known = url;
    }
    return target;
  };
};

const lengthOf = (body: HttpBody): number => {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.length : body.reduce((total, { length }) => total + length, 0);
};

/** Sends a body and ends the request. Node keeps the pieces until it has a connection, then writes them in one go. */
const sendBody = (request: NodeHttp.ClientRequest, body: HttpBody | undefined): void => {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) return void request.end(body);
  const last = body.length - 1;
  for (let at = 0; at < last; at++) request.write(body[at]);
  request.end(body[last]);
};

/**
 * Headers as a list of names and values, which Node checks and writes as they are; an object's it would keep one by one,
 * for code that changes them. A proxy's and those of an address with a password are left to Node.
 */
const headersOf = (
  { headers, body }: HttpRequest,
  { options, host }: Target,
  { proxies }: Settings,
): Readonly<Record<string, string>> | string[] => {
  const length = body === undefined || headers['content-length'] !== undefined ? undefined : lengthOf(body);
  if (proxies !== undefined || typeof options.auth === 'string')
    return length === undefined ? headers : { ...headers, 'content-length': String(length) };
  const list = headers['host'] === undefined ? ['host', host] : [];
  for (const name in headers) list.push(name, headers[name] ?? '');
  if (length !== undefined) list.push('content-length', String(length));
  return list;
};

const createScheme = (secure: boolean, settings: Settings): Scheme => {
  // Loaded at the first request: importing this package must cost no more than its own code.
  const module = secure ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http');
  const agentOptions = {
    ...(settings.proxies === undefined ? {} : { proxyEnv: settings.proxies }),
    ...(settings.ca === undefined ? {} : { ca: settings.ca }),
  };
  return {
    request: module.request,
    target: createTargets(secure),
    kept: new module.Agent({ ...agentOptions, keepAlive: true }),
    fresh: () => new module.Agent(agentOptions),
  };
};

const lowercased = (headers: NodeHttp.IncomingHttpHeaders): Record<string, string> => {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) all[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return all;
};

/** The stream that undoes a content encoding; undefined when there is none or it is unknown. */
const decompressor = (encoding: string | undefined): (Readable & NodeJS.WritableStream) | undefined => {
  if (encoding === undefined || encoding === 'identity') return undefined;
  const zlib = process.getBuiltinModule('node:zlib');
  // Flushed at every chunk: an event must not wait for the next block.
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = zlib.constants;
  switch (encoding.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
    case 'deflate':
      return zlib.createUnzip({ flush: Z_SYNC_FLUSH });
    case 'br':
      return zlib.createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH });
    default:
      return undefined;
  }
};

const abortError = (signal: AbortSignal): Error => {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : transportError('ABORT_ERR', 'The request was aborted.');
};

/** The response's body. `release` is called once nothing can come any more. */
const streamBody = (
  response: NodeHttp.IncomingMessage,
  request: NodeHttp.ClientRequest,
  settings: Settings,
  release: () => void,
): { readonly body: AsyncIterable<Uint8Array>; abort(error: Error): void } => {
  const unpacked = decompressor(response.headers['content-encoding']);
  const source: Readable = unpacked ?? response;
  const idle = watchIdle(settings.clock, settings.idleTimeoutMs, () => {
    stop(
      transportError('TREADLE_IDLE_TIMEOUT', `No data for ${settings.idleTimeoutMs} ms in the middle of the response.`),
    );
  });
  const queue = createChunkQueue({
    pause: () => source.pause(),
    resume: () => source.resume(),
    waiting: idle.wait,
    served: idle.rest,
    abandoned: () => close(),
  });
  const close = (): void => {
    idle.stop();
    release();
    unpacked?.destroy();
    request.destroy();
  };
  const stop = (error: Error): void => {
    queue.fail(error);
    close();
  };
  source.on('data', (chunk: Uint8Array) => queue.push(chunk));
  source.on('end', () => {
    idle.stop();
    release();
    queue.end();
  });
  source.on('error', stop);
  // A connection that ends in the middle of a body says so here and nowhere else.
  response.on('close', () => {
    if (!response.complete)
      stop(transportError('ECONNRESET', 'The connection was closed in the middle of the response.'));
  });
  if (unpacked !== undefined) {
    response.on('error', stop);
    response.pipe(unpacked);
  }
  return { body: queue, abort: stop };
};

/** The kept connection turned out to be closed, and nothing was sent. */
const CONNECTION_GONE = 'gone';

/** Failures of a connection the server had closed while it was kept: nothing of the request was read. */
const connectionWasGone = (request: NodeHttp.ClientRequest, error: NodeJS.ErrnoException): boolean =>
  request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');

const attempt = (
  scheme: Scheme,
  agent: NodeHttp.Agent,
  input: HttpRequest,
  settings: Settings,
): Promise<HttpResponse | typeof CONNECTION_GONE> =>
  new Promise((resolve, reject) => {
    const { signal } = input;
    const target = scheme.target(input.url);
    const headers = headersOf(input, target, settings);
    const request = scheme.request({ ...target.options, method: input.method, headers, agent });
    let abortBody: ((error: Error) => void) | undefined;
    let over = false;

    const release = (): void => {
      over = true;
      cancelTimer();
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: Error): void => {
      if (over) return;
      if (abortBody !== undefined) return abortBody(error);
      release();
      request.destroy();
      reject(error);
    };
    const onAbort = (): void =>
      fail(signal === undefined ? transportError('ABORT_ERR', 'Aborted.') : abortError(signal));
    const cancelTimer = settings.clock.after(settings.firstByteTimeoutMs, () => {
      fail(transportError('TREADLE_FIRST_BYTE_TIMEOUT', `No response within ${settings.firstByteTimeoutMs} ms.`));
    });

    signal?.addEventListener('abort', onAbort);
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (over || abortBody !== undefined || !connectionWasGone(request, error)) return fail(error);
      release();
      resolve(CONNECTION_GONE);
    });
    request.on('response', (response) => {
      if (over) return response.destroy();
      cancelTimer();
      const { body, abort } = streamBody(response, request, settings, release);
      abortBody = abort;
      const { idleTimeoutMs } = settings;
      resolve({ status: response.statusCode ?? 0, headers: lowercased(response.headers), body, idleTimeoutMs });
    });
    sendBody(request, input.body);
  });

/**
 * The cheapest transport Node has: `node:http` and `node:https` with kept connections, loaded at the first request.
 * Redirects are not followed. Bodies in gzip, deflate and brotli are unpacked. A request that finds its kept
 * connection closed is sent once more on a new one.
 *
 * @throws Rejects with the connection's error, with `TREADLE_FIRST_BYTE_TIMEOUT`, or with the signal's reason; the body
 * fails with `ECONNRESET` when the connection ends inside it and with `TREADLE_IDLE_TIMEOUT` when nothing comes.
 */
export function nodeHttp(options: NodeHttpOptions = {}): Http {
  let settings: Settings | undefined;
  const schemes = new Map<string, Scheme>();

  return async (input) => {
    input.signal?.throwIfAborted();
    settings ??= {
      firstByteTimeoutMs: options.firstByteTimeoutMs ?? DEFAULT_FIRST_BYTE_TIMEOUT_MS,
      idleTimeoutMs: options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
      clock: options.clock ?? systemClock,
      proxies: proxyEnvironment(options.env ?? process.env),
      ca: options.ca,
    };
    const secure = input.url.startsWith('https:');
    if (
      settings.proxies !== undefined &&
      !knowsProxies(process.version) &&
      wantsProxy(new URL(input.url), settings.proxies)
    ) {
      throw proxyUnsupported(process.version);
    }
    const protocol = secure ? 'https:' : 'http:';
    let scheme = schemes.get(protocol);
    if (scheme === undefined) schemes.set(protocol, (scheme = createScheme(secure, settings)));
    const response = await attempt(scheme, scheme.kept, input, settings);
    if (response !== CONNECTION_GONE) return response;
    const second = await attempt(scheme, scheme.fresh(), input, settings);
    if (second !== CONNECTION_GONE) return second;
    throw transportError('ECONNRESET', 'The server closed the connection before it answered, twice.');
  };
}
