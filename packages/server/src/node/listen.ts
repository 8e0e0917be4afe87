import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import type { AgentServer } from '../app.ts';
import { nodeHandler } from './handler.ts';
import { webSockets, type SocketRoute } from './upgrade.ts';

/** Where a server listens. */
export interface ListenOptions {
  /** The address to listen at. Default `127.0.0.1`: this machine only. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Milliseconds a client has for the headers of a request, and for all of it. Defaults 10 s and 2 min. */
  readonly headersTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  /** Bytes of all headers of a request. Default 16 KiB. */
  readonly headerBytes?: number;
  /** How often these times are looked at, in milliseconds. Default 1 s. */
  readonly checkMs?: number;
  /** WebSockets of other protocols. */
  readonly sockets?: readonly SocketRoute[];
}

/** A server with a socket. */
export interface Listening {
  /** Such as `http://127.0.0.1:4123`. */
  readonly url: string;
  readonly port: number;
  /** Drains the server, as `AgentServer.drain` does, then closes the socket. */
  close(waitMs?: number): Promise<boolean>;
}

/** How long connections have to end by themselves when the server closes, in milliseconds. */
const LINGER_MS = 200;

/** Listens for HTTP and WebSocket with Node. */
export async function listen(server: AgentServer, options: ListenOptions = {}): Promise<Listening> {
  const { host = '127.0.0.1', port = 0, sockets = [], checkMs = 1000 } = options;
  const { parts } = server;
  const handler = nodeHandler(server);
  const http = createHttpServer(
    {
      maxHeaderSize: options.headerBytes ?? 16 * 1024,
      headersTimeout: options.headersTimeoutMs ?? 10_000,
      requestTimeout: options.requestTimeoutMs ?? 120_000,
      connectionsCheckingInterval: checkMs,
      keepAliveTimeout: 5000,
      noDelay: true,
    },
    handler,
  );
  // Beside the streams there are requests.
  http.maxConnections = parts.limits.streams + 1000;
  const upgrades = webSockets(parts, sockets);
  http.on('upgrade', (request, socket, head) => upgrades.handle(request, socket, head));
  http.listen(port, host);
  await once(http, 'listening');
  const { port: actual } = http.address() as AddressInfo;
  return {
    url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${actual}`,
    port: actual,
    async close(waitMs) {
      const finished = await server.drain(waitMs);
      upgrades.close();
      // Streams have been told; whoever is still connected then has had the time.
      const cancel = parts.clock.after(LINGER_MS, () => http.closeAllConnections(), { background: true });
      http.close();
      http.closeIdleConnections();
      await once(http, 'close');
      cancel();
      return finished;
    },
  };
}
