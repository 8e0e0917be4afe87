import { connect, type Socket } from 'node:net';

/** Where the `postgres` package wants to connect to: it hands its own options to its option `socket`. */
export interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: unknown;
}

/** The connections of a client, so that one can be given up. */
export interface Sockets {
  /** For the option `socket` of the client. */
  open(target: Target): Socket;
  /** The bytes that each has received so far. */
  received(): ReadonlyMap<Socket, number>;
  /** Destroys those that have received nothing more since; the client makes others when it needs them. */
  giveUp(since: ReadonlyMap<Socket, number>): void;
}

export function createSockets(): Sockets {
  const sockets = new Set<Socket>();
  let made = 0;
  return {
    open({ host: hosts, port: ports, path }) {
      const place = made % hosts.length;
      made += 1;
      const [host, port] = [hosts[place] ?? 'localhost', ports[place] ?? 5432];
      const socket = typeof path === 'string' ? connect(path) : connect({ host, port });
      for (const known of sockets) if (known.destroyed) sockets.delete(known);
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      // The client reads them: for the name in a certificate, and in its errors.
      return Object.assign(socket, { host, port });
    },
    received: () => new Map([...sockets].map((socket) => [socket, socket.bytesRead])),
    giveUp(since) {
      // What the client is about to write it writes first: it would hold on to it otherwise.
      setImmediate(() => {
        for (const [socket, bytes] of since) if (socket.bytesRead === bytes) socket.destroy();
      });
    },
  };
}
