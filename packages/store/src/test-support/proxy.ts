import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type Direction = 'to the server' | 'from the server';

/** Stands between clients and a server, and does to their connections what networks do. */
export interface Proxy {
  /** The server's URL by way of it. */
  readonly url: string;
  /** The next connection that sends so many bytes in a direction is cut there, and all others with it. */
  cutAfter(direction: Direction, bytes: number): void;
  readonly cuts: number;
  /**
   * After so many more bytes in a direction, on whatever connections there are by then, they swallow all that is sent that
   * way, and stay open. Connections that are made later are well. Resolves when something was swallowed.
   */
  swallowAfter(direction: Direction, bytes: number): Promise<void>;
  stop(): void;
}

export async function startProxy(url: string): Promise<Proxy> {
  const target = new URL(url);
  const port = Number(target.port);
  const sockets = new Set<Socket>();
  const swallowing = new Map<Direction, Set<Socket>>();
  let left: { readonly direction: Direction; bytes: number; readonly act: (to: Socket) => void } | null = null;
  let swallowed = (): void => {};
  let cuts = 0;

  /** Hands on what may still pass, and then does what is to be done. */
  function relay(direction: Direction, from: Socket, to: Socket): void {
    from.on('data', (data: Buffer) => {
      if (swallowing.get(direction)?.has(from) === true) {
        swallowed();
        return;
      }
      if (left === null || left.direction !== direction) {
        to.write(data);
        return;
      }
      const part = data.subarray(0, left.bytes);
      left.bytes -= part.length;
      to.write(part);
      if (left.bytes > 0) return;
      const { act } = left;
      left = null;
      act(to);
      if (part.length < data.length && swallowing.get(direction)?.has(from) === true) swallowed();
    });
    from.on('close', () => to.destroy());
    from.on('error', () => {});
  }

  const server = createServer((client) => {
    const upstream = connect(port, target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
    relay('to the server', client, upstream);
    relay('from the server', upstream, client);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  target.port = String((server.address() as AddressInfo).port);

  function cut(to: Socket): void {
    cuts += 1;
    // What may pass still arrives, then everything is cut.
    to.write('', () => {
      for (const socket of sockets) socket.destroy();
    });
  }

  return {
    url: target.href,
    cutAfter(direction, bytes) {
      left = { direction, bytes, act: cut };
    },
    get cuts() {
      return cuts;
    },
    swallowAfter(direction, bytes) {
      const happened = new Promise<void>((resolve) => (swallowed = resolve));
      const swallow = (): void => void swallowing.set(direction, new Set(sockets));
      if (bytes === 0) swallow();
      else left = { direction, bytes, act: swallow };
      return happened;
    },
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
