// Writes what each package publishes to `dist/packages/<folder>`: the built files, the license, the README and the pages of
// the documentation that they name. Everything that packs, measures or publishes a package takes it from there.

import { cp, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { pagesNamedIn, withLinksFor } from './pages.ts';
import { packagesOf, repositoryOf } from './workspace.ts';
import type { Manifest, Package } from './workspace.ts';

/** The condition under which the repository's own tests read the sources. Nobody else has them. */
const SOURCE = 'treadle-source';

/** The package with everything in it carries all pages. */
const EVERYTHING = 'treadle';

/** Fields of a manifest that serve the repository only. `private` protects a folder that isn't staged from `npm publish`. */
const INTERNAL = new Set(['private', 'files', 'scripts', 'devDependencies']);

/** Where a package is staged. */
export const stagedAt = (root: string, folder: string): string => join(root, 'dist/packages', folder);

/** The manifest that users get. */
export function publishedManifest({ manifest, folder }: Package, repository: string): Manifest {
  const kept = Object.fromEntries(Object.entries(manifest).filter(([field]) => !INTERNAL.has(field)));
  const entries = Object.entries(manifest.exports ?? {}).map(([entry, conditions]) => [
    entry,
    Object.fromEntries(Object.entries(conditions).filter(([condition]) => condition !== SOURCE)),
  ]);
  const places = {
    homepage: `${repository}#readme`,
    bugs: `${repository}/issues`,
    repository: { type: 'git', url: `git+${repository}.git`, directory: `packages/${folder}` },
  };
  return {
    ...(kept as Manifest),
    ...(entries.length > 0 && { exports: Object.fromEntries(entries) as NonNullable<Manifest['exports']> }),
    ...(repository !== '' && places),
    publishConfig: { access: 'public' },
  };
}

/** The files of a package that ship as they are, by their path below its folder. */
async function shippedFiles({ path, manifest }: Package): Promise<readonly string[]> {
  const folders = (manifest.files ?? []).filter((pattern) => !pattern.startsWith('!'));
  const files: string[] = [];
  for await (const entry of glob(
    folders.map((folder) => `${folder}/**`),
    { cwd: path, withFileTypes: true },
  )) {
    const file = join(entry.parentPath, entry.name).slice(path.length + 1);
    if (entry.isFile() && !file.endsWith('.tsbuildinfo')) files.push(file);
  }
  return files;
}

async function stage(root: string, shipped: Package, repository: string): Promise<void> {
  const target = stagedAt(root, shipped.folder);
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  const files = await shippedFiles(shipped);
  for (const file of [...files, 'LICENSE']) await cp(join(shipped.path, file), join(target, file));

  const readme = await readFile(join(shipped.path, 'README.md'), 'utf8');
  const declarations = files.filter((file) => file.endsWith('.d.ts'));
  const texts = await Promise.all(declarations.map((file) => readFile(join(shipped.path, file), 'utf8')));
  const pages = new Set(pagesNamedIn([readme, ...texts].join('\n')));
  if (shipped.folder === EVERYTHING) for await (const page of glob('docs/**/*.md', { cwd: root })) pages.add(page);

  const packed = new Map([...pages].map((page) => [page, page]));
  const readmeFrom = `packages/${shipped.folder}/README.md`;
  packed.set(readmeFrom, 'README.md');
  for (const [from, to] of packed) {
    await mkdir(dirname(join(target, to)), { recursive: true });
    const text = await readFile(join(root, from), 'utf8');
    await writeFile(join(target, to), withLinksFor({ from, to, packed, repository }, text));
  }
  const manifest = publishedManifest(shipped, repository);
  await writeFile(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * Stages every package of a workspace.
 *
 * @throws Error when a README or a declaration names a page that `docs/` doesn't have
 */
export async function stageAll(root: string): Promise<void> {
  const repository = await repositoryOf(root);
  await Promise.all((await packagesOf(root)).map((shipped) => stage(root, shipped, repository)));
}

if (import.meta.main) await stageAll(join(import.meta.dirname, '../..'));
