import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSocketServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A server on this machine for one case. */
export interface CaseServer extends AsyncDisposable {
  readonly url: string;
  /** Connections made to it so far. */
  connections(): number;
  /** Resolves once no connection is open. */
  allClosed(): Promise<void>;
}

async function listen(server: Server): Promise<CaseServer> {
  const sockets = new Set<Socket>();
  let waiting: (() => void)[] = [];
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      if (sockets.size > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    allClosed: () => (sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const serve = (handler: RequestListener): Promise<CaseServer> => listen(createServer(handler));

/** A server whose every byte is the case's. */
export const serveBytes = (handler: (socket: Socket) => void): Promise<CaseServer> =>
  listen(createSocketServer(handler));

/** Begins a streamed response, and sends its headers. */
export function begin(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  return response;
}
