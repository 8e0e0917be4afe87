import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, type Server, type Socket, connect, createServer as createSocketServer } from 'node:net';
import { CERTIFICATE, KEY } from './certificate.ts';

/** A server on this machine for one test. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  /** Connections made to it, and those that are still open. */
  readonly connections: () => number;
  readonly open: () => number;
  /** Resolves once no connection is open. */
  allClosed(): Promise<void>;
}

const listen = async (server: Server, scheme: string): Promise<TestServer> => {
  const sockets = new Set<Socket>();
  let waiting: (() => void)[] = [];
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      if (sockets.size > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  return {
    url: `${scheme}://${host}`,
    host,
    connections: () => connections,
    open: () => sockets.size,
    allClosed: () => (sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

export const serve = (handler: RequestListener): Promise<TestServer> => listen(createServer(handler), 'http');

export const serveSecure = (handler: RequestListener): Promise<TestServer> =>
  listen(createSecureServer({ key: KEY, cert: CERTIFICATE }, handler), 'https');

/** A server whose every byte is the test's. */
export const serveBytes = (handler: (socket: Socket) => void): Promise<TestServer> =>
  listen(createSocketServer(handler), 'http');

/** A proxy that notes what it was asked for: `CONNECT host:port` for https, the whole URL for http. */
export async function serveProxy(asked: string[]): Promise<TestServer> {
  const server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    const target = new URL(request.url ?? '');
    const upstream = connect(Number(target.port), '127.0.0.1', () => {
      upstream.write(
        `${request.method ?? ''} ${target.pathname} HTTP/1.1\r\nhost: ${target.host}\r\nconnection: close\r\n\r\n`,
      );
    });
    const chunks: Buffer[] = [];
    upstream.on('data', (chunk: Buffer) => chunks.push(chunk));
    upstream.on('end', () => {
      response.end(Buffer.concat(chunks).toString().split('\r\n\r\n').slice(1).join('\r\n\r\n'));
    });
  });
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    asked.push(`CONNECT ${request.url ?? ''}`);
    const upstream = connect(Number((request.url ?? '').split(':')[1]), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.pipe(client);
      client.pipe(upstream);
    });
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
  });
  return listen(server, 'http');
}

/** Begins a streamed response, headers sent. */
export function beginStream(response: ServerResponse, headers: Record<string, string> = {}): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
  response.flushHeaders();
  return response;
}

/** The whole body of a request. */
export async function received(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
