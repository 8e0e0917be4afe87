// Writes the JavaScript of every package: a file per entry, and one for what entries share. A process that imports a
// package then reads a few files instead of dozens, and most of the time until an agent is ready was spent on that.
// The types come from `tsc`, file by file.

import { glob, readFile, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';

const root = dirname(import.meta.dirname);

interface Manifest {
  readonly exports?: Readonly<Record<string, { readonly 'treadle-source'?: string; readonly default?: string }>>;
}

/** Sources, by the path below `dist` of the file they become. */
async function entriesOf(folder: string): Promise<Record<string, string>> {
  const { exports = {} } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
  const entries: Record<string, string> = {};
  for (const { 'treadle-source': source, default: file } of Object.values(exports)) {
    if (source === undefined || file === undefined) continue;
    entries[relative('dist', file).replace(/\.js$/, '')] = join(folder, source);
  }
  return entries;
}

async function bundle(folder: string): Promise<void> {
  const dist = join(folder, 'dist');
  for await (const file of glob('**/*.js', { cwd: dist })) await rm(join(dist, file));
  const build = await rolldown({
    input: await entriesOf(folder),
    platform: 'node',
    // Other packages and Node's own modules stay imports; only a package's own files are joined.
    external: (id) => !id.startsWith('.') && !id.startsWith(folder),
    treeshake: { moduleSideEffects: false },
  });
  await build.write({ dir: dist, format: 'esm', chunkFileNames: 'shared-[hash].js' });
  await build.close();
}

for await (const manifest of glob('packages/*/package.json', { cwd: root })) {
  await bundle(join(root, dirname(manifest)));
}
