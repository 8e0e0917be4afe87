// Runs a worker in workerd, the runtime of Cloudflare Workers.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

export interface Workerd {
  /** The address of the worker. */
  readonly url: string;
  close(): Promise<void>;
}

const config = (flags: readonly string[]): string => `
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
  compatibilityFlags = [${flags.map((flag) => `"${flag}"`).join(', ')}],
);
`;

/**
 * Starts `worker.js` of a folder on a free port.
 *
 * @param binary the path of workerd
 * @param flags its compatibility flags, such as `nodejs_compat`
 */
export async function startWorkerd(binary: string, folder: string, flags: readonly string[]): Promise<Workerd> {
  const file = join(folder, 'config.capnp');
  await writeFile(file, config(flags));
  const child = spawn(binary, ['serve', file, '--control-fd=3'], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
  const control = child.stdio[3];
  if (control === null || control === undefined || !('readable' in control)) throw new Error('workerd has no control.');
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const exited = once(child, 'exit');
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  const listening = once(createInterface(control), 'line') as Promise<[string]>;
  const line = await Promise.race([listening.then(([text]) => text), exited.then(() => null)]);
  if (line === null) throw new Error(`workerd ended: ${errors}`);
  const { port } = JSON.parse(line) as { readonly port: number };
  return { url: `http://127.0.0.1:${String(port)}/`, close };
}
