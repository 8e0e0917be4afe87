import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';

import type { StdioServerConfig } from '../client/config.ts';

/** The program of a reference server. */
export function programOf(name: 'everything' | 'filesystem' | 'memory'): string {
  const manifest = createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/package.json`);
  return join(dirname(manifest), 'dist/index.js');
}

export const overStdio = (name: Parameters<typeof programOf>[0], ...args: readonly string[]): StdioServerConfig => ({
  command: process.execPath,
  args: [programOf(name), ...args],
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** The everything server at an address. `kill` ends it as a crash would, and `start` starts it again there. */
export async function overHttp(transport: 'streamableHttp' | 'sse') {
  const port = await freePort();
  const begin = async () => {
    const child = spawn(process.execPath, [programOf('everything'), transport], {
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await new Promise<void>((resolve, reject) => {
      const look = (chunk: Uint8Array): void => {
        if (/listening|running/i.test(Buffer.from(chunk).toString('utf8'))) resolve();
      };
      child.stdout.on('data', look);
      child.stderr.on('data', look);
      child.on('exit', (code) => reject(new Error(`The server ended with ${code}.`)));
    });
    return child;
  };
  let child = await begin();
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGKILL');
    await ended;
  };
  return {
    url: `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    kill,
    start: async () => void (child = await begin()),
    [Symbol.asyncDispose]: kill,
  };
}
