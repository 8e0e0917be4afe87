import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * Stands before a Postgres server as a pooler does: what it tells clients of their connection, its number and its secret, is
 * its own, since the server's connections behind it are shared.
 */
export async function startPooler(url: string): Promise<{ readonly url: string; stop(): void }> {
  const target = new URL(url);
  const port = Number(target.port);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.pipe(upstream);
    let before = Buffer.alloc(0);
    let isKnown = false;
    upstream.on('data', (data: Buffer) => {
      if (isKnown) {
        client.write(data);
        return;
      }
      before = Buffer.concat([before, data]);
      // Messages of the start: a letter, then a length that counts itself. A single letter answers whether TLS is spoken.
      while (before.length > 0 && !isKnown) {
        const length = before[0] === N && before.length === 1 ? 1 : before.length < 5 ? 5 : 1 + before.readInt32BE(1);
        if (before.length < length) return;
        const message = before.subarray(0, length);
        before = before.subarray(length);
        isKnown = message[0] === KEY_DATA;
        if (isKnown) message.writeInt32BE(987_654, 5);
        client.write(message);
      }
      if (isKnown) client.write(before);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  target.port = String((server.address() as AddressInfo).port);
  return {
    url: target.href,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const N = 'N'.charCodeAt(0);
const KEY_DATA = 'K'.charCodeAt(0);
