// Gives every package one version.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { manifestAt, packagesOf, type Manifest } from './workspace.ts';

const KINDS = ['dependencies', 'devDependencies'];

/** Writes a version into every manifest of a workspace, and into what its packages need of each other. */
export async function setVersion(root: string, version: string): Promise<void> {
  const packages = await packagesOf(root);
  const ours = new Set(packages.map(({ manifest }) => manifest.name));
  const write = (folder: string, manifest: Manifest): Promise<void> =>
    writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await write(root, { ...(await manifestAt(root)), version });
  for (const { path, manifest } of packages) {
    const changed = Object.fromEntries(
      KINDS.filter((kind) => manifest[kind] !== undefined).map((kind) => {
        const needed = Object.entries(manifest[kind] as Readonly<Record<string, string>>);
        return [kind, Object.fromEntries(needed.map(([name, range]) => [name, ours.has(name) ? version : range]))];
      }),
    );
    await write(path, { ...manifest, ...changed, version });
  }
}
