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

/** What {@link socketHttp} is made with. */
export interface SocketHttpSettings {
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly clock: Clock;
  /** Certificates to trust besides Node's own, as PEM. */
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

/** Longer than any client waits for a connection that nobody answers on. */
const TCP_KEEP_ALIVE_MS = 1000;

const connectionsTo = (url: URL, { ca, clock }: SocketHttpSettings): Connections => {
  const host = hostOf(url);
  const options = { host, noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
  if (url.protocol === 'http:') {
    const net = process.getBuiltinModule('node:net');
    const port = url.port === '' ? 80 : Number(url.port);
    return createConnections({ connect: () => net.connect({ ...options, port }), readyEvent: 'connect', clock });
  }
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
        ...(ca === undefined ? {} : { ca }),
        ...(session === undefined ? {} : { session }),
      });
      socket.on('session', (agreed) => (session = agreed));
      socket.on('error', () => (session = undefined));
      return socket;
    },
  });
};

const abortError = (signal: AbortSignal | undefined): Error => {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : transportError('ABORT_ERR', 'The request was aborted.');
};

/** What a body's queue does to the connection it comes from. */
interface Source {
  pause(): void;
  resume(): void;
  /** Nobody reads it any more. */
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
  if (unpacked === undefined) {
    return {
      queue,
      push: queue.push,
      end() {
        idle.stop();
        queue.end();
      },
      fail,
    };
  }
  unpacked.on('data', queue.push);
  unpacked.on('end', () => {
    idle.stop();
    queue.end();
  });
  unpacked.on('error', (error) => {
    fail(error);
    source.leave();
  });
  unpacked.on('drain', source.resume);
  return {
    queue,
    push(piece) {
      if (!unpacked.destroyed && !unpacked.write(piece)) source.pause();
    },
    end: () => void unpacked.end(),
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
  const bytes = requestBytes(request, line);
  let body: BodySink | undefined;
  /** The whole response has come, or nobody waits for it. */
  let over = false;
  let connection: Connection | undefined;
  let isSecond = false;

  const release = (): void => {
    over = true;
    cancelTimer();
    signal?.removeEventListener('abort', onAbort);
  };
  const failed = (error: Error): void => {
    release();
    if (body === undefined) reject(error);
    else body.fail(error);
  };
  const stop = (error: Error): void => {
    if (over) return;
    connection?.destroy();
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
      if (over) return;
      release();
      connection?.destroy();
    },
  });
  const attempt = (on: Connection): void => {
    connection = on;
    on.send({
      bytes,
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
        // Nothing of the request was read: the server had closed the connection while it was kept.
        if (!gone || isSecond) return failed(error);
        isSecond = true;
        attempt(connections.open());
      },
    });
  };
  signal?.addEventListener('abort', onAbort);
  attempt(connections.take());
};

/**
 * HTTP/1.1 on Node's sockets, with kept connections. A request costs a fraction of what it costs on `node:http`, for
 * nothing is made that a model's call doesn't need. It knows no proxies.
 */
export function socketHttp(settings: SocketHttpSettings): Http {
  const origins = new Map<string, Connections>();
  // A run asks for the same address every turn; it is taken apart once.
  let target: Target | undefined;
  const targetOf = ({ method, url }: HttpRequest): Target => {
    if (target?.url === url && target.method === method) return target;
    const parsed = new URL(url);
    let connections = origins.get(parsed.origin);
    if (connections === undefined) origins.set(parsed.origin, (connections = connectionsTo(parsed, settings)));
    return (target = { method, url, line: requestLine(method, parsed), connections });
  };
  return (request) =>
    new Promise((resolve, reject) => {
      request.signal?.throwIfAborted();
      send(request, targetOf(request), settings, resolve, reject);
    });
}
