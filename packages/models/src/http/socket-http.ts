import type { Clock, Http, HttpRequest, HttpResponse } from '@treadle/core';
import { createChunkQueue } from './chunk-queue.ts';
import type { ChunkQueue } from './chunk-queue.ts';
import { createConnections } from './connection.ts';
import type { Connection, Connections } from './connection.ts';
import { decompressor } from './decompressor.ts';
import { requestBytes, requestLine } from './request-bytes.ts';
import type { RequestLine } from './request-bytes.ts';
import type { ResponseHead } from './response-head.ts';
import { transportError, watchIdle } from './timeouts.ts';
import { trustOf } from './trust.ts';
import type { SecureContextOptions } from './trust.ts';

/** What {@link socketHttp} is made with. */
export interface SocketHttpSettings {
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly clock: Clock;
  /** A certificate to trust besides Node's own, as PEM. */
  readonly ca: string | undefined;
}

/** Where a request goes. */
interface Target {
  readonly method: string;
  readonly url: string;
  readonly line: RequestLine;
  readonly connections: Connections;
}

/** A host's name as sockets want it: an address of IPv6 is in brackets only inside a URL. */
const hostOf = ({ hostname }: URL): string => (hostname.startsWith('[') ? hostname.slice(1, -1) : hostname);

/** After so long without a byte the system asks whether the other side is still there. */
const TCP_KEEP_ALIVE_MS = 1000;

const connectionsTo = (url: URL, clock: Clock, trust: () => SecureContextOptions): Connections => {
  const host = hostOf(url);
  const options = { host, noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
  if (url.protocol === 'http:') {
    const net = process.getBuiltinModule('node:net');
    const port = url.port === '' ? 80 : Number(url.port);
    return createConnections({ connect: () => net.connect({ ...options, port }), readyEvent: 'connect', clock });
  }
  if (url.protocol !== 'https:')
    throw transportError(
      'ERR_INVALID_PROTOCOL',
      `Requests are sent to http: and https: addresses, not to ${url.protocol}`,
    );
  const tls = process.getBuiltinModule('node:tls');
  const { isIP } = process.getBuiltinModule('node:net');
  const port = url.port === '' ? 443 : Number(url.port);
  // A session that was agreed on before makes the next connection cheaper.
  let session: Buffer | undefined;
  return createConnections({
    clock,
    readyEvent: 'secureConnect',
    connect() {
      const socket = tls.connect({
        ...options,
        port,
        ALPNProtocols: ['http/1.1'],
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ...trust(),
        ...(session === undefined ? {} : { session }),
      });
      socket.on('session', (agreed) => (session = agreed));
      socket.on('error', () => (session = undefined));
      return socket;
    },
  });
};

/** Addresses whose connections are kept at the same time. */
const MOST_ORIGINS = 256;

const abortError = (signal: AbortSignal | undefined): Error => {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : transportError('ABORT_ERR', 'The request was aborted.');
};

/** What a body's queue does to the connection it comes from. */
interface Source {
  pause(): void;
  resume(): void;
  /** The body is over: all of it was handed on, or nobody reads it any more. */
  leave(): void;
}

/** Where the pieces of a response go: into the queue that is its body. */
interface BodySink {
  readonly queue: ChunkQueue;
  push(piece: Uint8Array): void;
  end(): void;
  fail(error: Error): void;
}

const createBody = (head: ResponseHead, clock: Clock, idleTimeoutMs: number, source: Source): BodySink => {
  const unpacked = decompressor(head.headers['content-encoding']);
  const idle = watchIdle(clock, idleTimeoutMs, () => {
    fail(transportError('TREADLE_IDLE_TIMEOUT', `No data for ${idleTimeoutMs} ms in the middle of the response.`));
    source.leave();
  });
  const stop = (): void => {
    idle.stop();
    unpacked?.destroy();
  };
  const queue = createChunkQueue({
    pause: () => void (unpacked ?? source).pause(),
    resume: () => void (unpacked ?? source).resume(),
    waiting: idle.wait,
    served: idle.rest,
    abandoned() {
      stop();
      source.leave();
    },
  });
  const fail = (error: Error): void => {
    queue.fail(error);
    stop();
  };
  const end = (): void => {
    idle.stop();
    queue.end();
    source.leave();
  };
  if (unpacked === undefined) {
    return {
      queue,
      push: queue.push,
      end,
      fail,
    };
  }
  let isEmpty = true;
  unpacked.on('data', queue.push);
  // Before the response is, if what follows is not packed: it is nobody's.
  unpacked.on('end', end);
  unpacked.on('error', (error) => {
    fail(error);
    source.leave();
  });
  unpacked.on('drain', source.resume);
  return {
    queue,
    push(piece) {
      isEmpty = false;
      if (!unpacked.destroyed && !unpacked.write(piece)) source.pause();
    },
    end() {
      if (!isEmpty) return void unpacked.end();
      // Nothing is not packed.
      unpacked.destroy();
      end();
    },
    fail,
  };
};

type Resolve = (response: HttpResponse) => void;
type Reject = (error: Error) => void;

/** Sends one request, on a kept connection where there is one. */
const send = (
  request: HttpRequest,
  { line, connections }: Target,
  { clock, firstByteTimeoutMs, idleTimeoutMs }: SocketHttpSettings,
  resolve: Resolve,
  reject: Reject,
): void => {
  const { signal } = request;
  const { bytes, closes } = requestBytes(request, line);
  let body: BodySink | undefined;
  /** The whole response has come, or nobody waits for it: the connection is not ours any more. */
  let over = false;
  let connection: Connection | undefined;
  let isSecond = false;

  const release = (): void => {
    over = true;
    cancelTimer();
  };
  const failed = (error: Error): void => {
    release();
    signal?.removeEventListener('abort', onAbort);
    if (body === undefined) reject(error);
    else body.fail(error);
  };
  const stop = (error: Error): void => {
    if (!over) connection?.destroy();
    failed(error);
  };
  const onAbort = (): void => stop(abortError(signal));
  const cancelTimer = clock.after(firstByteTimeoutMs, () =>
    stop(transportError('TREADLE_FIRST_BYTE_TIMEOUT', `No response within ${firstByteTimeoutMs} ms.`)),
  );
  /** Made when there is a response: a request that waits for one is small. */
  const createSource = (): Source => ({
    pause() {
      if (!over) connection?.pause();
    },
    resume() {
      if (!over) connection?.resume();
    },
    leave() {
      signal?.removeEventListener('abort', onAbort);
      if (over) return;
      release();
      connection?.destroy();
    },
  });
  const attempt = (to: () => Connection): void => {
    try {
      connection = to();
    } catch (error) {
      return failed(error as Error);
    }
    connection.send({
      bytes,
      closes,
      expectsBody: request.method !== 'HEAD',
      onHead(head) {
        cancelTimer();
        body = createBody(head, clock, idleTimeoutMs, createSource());
        const { status, headers } = head;
        resolve({ status, headers, body: body.queue, idleTimeoutMs });
      },
      onData: (piece) => body?.push(piece),
      onEnd() {
        release();
        body?.end();
      },
      onFailure(error, gone) {
        // The server has most likely closed the connection while it was kept, and read nothing. That can't be known: it
        // may also have gone in the middle of its work. Then a model is asked twice, which costs money and no more.
        if (!gone || isSecond) return failed(error);
        isSecond = true;
        attempt(connections.open);
      },
    });
  };
  signal?.addEventListener('abort', onAbort);
  attempt(connections.take);
};

const forgetOldest = (origins: Map<string, Connections>): void => {
  if (origins.size <= MOST_ORIGINS) return;
  for (const [origin, connections] of origins) {
    origins.delete(origin);
    return connections.retire();
  }
};

/**
 * HTTP/1.1 on Node's sockets, with kept connections. A request costs a fraction of what it costs on `node:http`, for
 * nothing is made that a model's call doesn't need. It knows no proxies.
 */
export function socketHttp(settings: SocketHttpSettings): Http {
  const origins = new Map<string, Connections>();
  const trust = trustOf(settings.ca);
  // A run asks for the same address every turn; it is taken apart once.
  let target: Target | undefined;
  const targetOf = ({ method, url }: HttpRequest): Target => {
    if (target?.url === url && target.method === method) return target;
    const parsed = new URL(url);
    const connections = origins.get(parsed.origin) ?? connectionsTo(parsed, settings.clock, trust);
    // The one asked last is the last.
    origins.delete(parsed.origin);
    origins.set(parsed.origin, connections);
    forgetOldest(origins);
    return (target = { method, url, line: requestLine(method, parsed), connections });
  };
  return (request) =>
    new Promise((resolve, reject) => {
      request.signal?.throwIfAborted();
      send(request, targetOf(request), settings, resolve, reject);
    });
}
