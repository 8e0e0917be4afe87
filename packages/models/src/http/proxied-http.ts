import type * as NodeHttp from 'node:http';
import type { Readable } from 'node:stream';
import type { Clock, Http, HttpBody, HttpRequest, HttpResponse } from '@treadle/core';
import { createChunkQueue } from './chunk-queue.ts';
import { decompressor } from './decompressor.ts';
import { knowsProxies, proxyUnsupported, wantsProxy } from './proxy.ts';
import { transportError, watchIdle } from './timeouts.ts';
import { trustOf } from './trust.ts';

/** What {@link proxiedHttp} is made with. */
export interface ProxiedHttpSettings {
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly clock: Clock;
  /** As Node's `proxyEnv`. */
  readonly proxies: Record<string, string>;
  readonly ca: string | undefined;
}

/** One scheme's module and its agent, which keeps connections. */
interface Scheme {
  readonly request: typeof NodeHttp.request;
  readonly kept: NodeHttp.Agent;
  /** An agent without kept connections, for the request after one found its connection closed. */
  fresh(): NodeHttp.Agent;
}

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

/** The length is always our own; how a body is cut is nobody else's business. */
const headersOf = ({ headers, body }: HttpRequest): Readonly<Record<string, string>> => {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase();
    if (key !== 'content-length' && key !== 'transfer-encoding') all[key] = value;
  }
  if (body !== undefined) all['content-length'] = String(lengthOf(body));
  return all;
};

const createScheme = (secure: boolean, settings: ProxiedHttpSettings): Scheme => {
  // Loaded at the first request: importing this package must cost no more than its own code.
  const module = secure ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http');
  const agentOptions = {
    proxyEnv: settings.proxies,
    ...(secure ? trustOf(settings.ca)() : {}),
  };
  return {
    request: module.request,
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

const abortError = (signal: AbortSignal): Error => {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : transportError('ABORT_ERR', 'The request was aborted.');
};

/** The response's body. `release` is called once nothing can come any more. */
const streamBody = (
  response: NodeHttp.IncomingMessage,
  request: NodeHttp.ClientRequest,
  settings: ProxiedHttpSettings,
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
  settings: ProxiedHttpSettings,
): Promise<HttpResponse | typeof CONNECTION_GONE> =>
  new Promise((resolve, reject) => {
    const { signal } = input;
    const request = scheme.request(input.url, { method: input.method, headers: headersOf(input), agent });
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
 * HTTP through the proxies of an environment: `node:http` and `node:https`, loaded at the first request.
 *
 * @throws As {@link nodeHttp} does, and with `invalid_definition` where Node is too old for proxies.
 */
export function proxiedHttp(settings: ProxiedHttpSettings): Http {
  const schemes = new Map<string, Scheme>();

  return async (input) => {
    input.signal?.throwIfAborted();
    const secure = input.url.startsWith('https:');
    if (!knowsProxies(process.version) && wantsProxy(new URL(input.url), settings.proxies)) {
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
