import type { Clock, Http, HttpRequest } from '@treadle/core';
import { createConnections } from './connection.ts';
import type { Connections } from './connection.ts';
import { createDeadlines } from './deadlines.ts';
import { queuedHttp } from './queued-http.ts';
import { headerText, requestLine } from './request-bytes.ts';
import type { RequestLine } from './request-bytes.ts';
import { SocketCall } from './socket-call.ts';
import { transportError } from './timeouts.ts';
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
    return createConnections({
      connect: (reading) => net.connect({ ...options, ...reading, port }),
      readyEvent: 'connect',
      clock,
    });
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
    connect(reading) {
      const socket = tls.connect({
        ...options,
        ...reading,
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
  const { clock, firstByteTimeoutMs, idleTimeoutMs } = settings;
  const origins = new Map<string, Connections>();
  const trust = trustOf(settings.ca);
  // A run asks for the same address every turn; it is taken apart once.
  let target: Target | undefined;
  const targetOf = ({ method, url }: HttpRequest): Target => {
    if (target?.url === url && target.method === method) return target;
    const parsed = new URL(url);
    const connections = origins.get(parsed.origin) ?? connectionsTo(parsed, clock, trust);
    // The one asked last is the last.
    origins.delete(parsed.origin);
    origins.set(parsed.origin, connections);
    forgetOldest(origins);
    return (target = { method, url, line: requestLine(method, parsed), connections });
  };
  const unanswered = createDeadlines<SocketCall>(clock, firstByteTimeoutMs, (call) =>
    call.passed(transportError('TREADLE_FIRST_BYTE_TIMEOUT', `No response within ${firstByteTimeoutMs} ms.`)),
  );
  const idle = createDeadlines<SocketCall>(clock, idleTimeoutMs, (call) => {
    const message = `No data for ${idleTimeoutMs} ms in the middle of the response.`;
    call.passed(transportError('TREADLE_IDLE_TIMEOUT', message));
  });
  const setup = { idleTimeoutMs, unanswered, idle };
  return queuedHttp((request, receiver) => {
    const { line, connections } = targetOf(request);
    return new SocketCall(setup, connections, request, headerText(request.headers, line), receiver);
  });
}
