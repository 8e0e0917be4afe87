// The packages of a workspace, as their manifests describe them.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What `package.json` says, as far as a release needs it. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly files?: readonly string[];
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export interface Package {
  /** The name of its folder in `packages/`. */
  readonly folder: string;
  /** The absolute path of that folder. */
  readonly path: string;
  readonly manifest: Manifest;
}

export async function manifestAt(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
}

export async function packagesOf(root: string): Promise<readonly Package[]> {
  const folders = (await readdir(join(root, 'packages'))).toSorted();
  return Promise.all(
    folders.map(async (folder) => {
      const path = join(root, 'packages', folder);
      return { folder, path, manifest: await manifestAt(path) };
    }),
  );
}

/** The address of the repository, from the workspace's `package.json`. Empty until the project has one. */
export async function repositoryOf(root: string): Promise<string> {
  const { repository } = await manifestAt(root);
  return typeof repository === 'string' ? repository : '';
}
