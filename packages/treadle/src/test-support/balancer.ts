import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Hands connections on to servers in turn, and knows nothing of what goes through them. */
export interface Balancer {
  readonly url: string;
  add(url: string): void;
  /** No new connections for it; those there are end with it. */
  remove(url: string): void;
  close(): void;
}

export async function startBalancer(): Promise<Balancer> {
  const targets: string[] = [];
  const sockets = new Set<Socket>();
  let turn = 0;

  const server = createServer((from) => {
    turn += 1;
    const target = targets[turn % targets.length];
    if (target === undefined) return void from.destroy();
    const { hostname, port } = new URL(target);
    const to = connect(Number(port), hostname);
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket);
          other.destroy();
        });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (url) => void targets.push(url),
    remove: (url) => void targets.splice(targets.indexOf(url), 1),
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
