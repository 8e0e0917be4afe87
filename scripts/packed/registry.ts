// A small npm registry: it serves packed packages, and sends requests for all others to the registry that npm is set to.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';

import type { Manifest } from '../release/workspace.ts';

export interface PackedPackage {
  readonly manifest: Manifest;
  /** The path of its tarball. */
  readonly tarball: string;
}

export interface Registry {
  readonly url: string;
  /** The packages whose tarballs were downloaded, by name. */
  readonly downloaded: ReadonlySet<string>;
  close(): Promise<void>;
}

function sendJson(response: ServerResponse, value: object): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
}

/** Starts a registry on a free port of this machine. `upstream` ends with a slash. */
export async function startRegistry(packages: readonly PackedPackage[], upstream: string): Promise<Registry> {
  const byName = new Map(packages.map((each) => [each.manifest.name, each]));
  const byFile = new Map(packages.map((each) => [basename(each.tarball), each]));
  const downloaded = new Set<string>();
  const server = createServer((request, response) => {
    answer(request.url ?? '/', response).catch((error: unknown) => response.destroy(error as Error));
  });

  async function answer(path: string, response: ServerResponse): Promise<void> {
    const file = path.startsWith('/tarballs/') ? byFile.get(basename(path)) : undefined;
    if (file !== undefined) {
      downloaded.add(file.manifest.name);
      response.end(await readFile(file.tarball));
      return;
    }
    const named = byName.get(decodeURIComponent(path.slice(1)));
    if (named === undefined) response.writeHead(307, { location: upstream + path.slice(1) }).end();
    else sendJson(response, await packument(named));
  }

  async function packument({ manifest, tarball }: PackedPackage): Promise<object> {
    const digest = createHash('sha512')
      .update(await readFile(tarball))
      .digest('base64');
    const dist = { tarball: `${url}tarballs/${basename(tarball)}`, integrity: `sha512-${digest}` };
    const { name, version } = manifest;
    return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  return {
    url,
    downloaded,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
