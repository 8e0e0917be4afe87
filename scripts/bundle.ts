// Writes the JavaScript of core and models: a file per entry, and one for what entries share. A process that imports them
// then reads a few files instead of dozens, and most of the time until an agent is ready was spent on that. Their types
// come from `tsc`, file by file, as does all of the other packages, whose files look for each other at run time.

import { copyFile, glob, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';

/** Folders of packages none of whose files looks for another, or for anything beside it, at run time. */
const BUNDLED = [
  { name: 'core', sharedBy: 2 },
  // Most wires are used by their entry, the index and at most one other entry. They stay out of the shared file.
  { name: 'models', sharedBy: 4 },
];

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

/**
 * A process reads one file for all modules that `sharedBy` entries use, and not dozens. What `defineTool` needs is a file of its
 * own, so that a bundler can leave the rest of core out.
 */
const groupsOf = (sharedBy: number) => [
  { name: 'define', test: /src\/tools\/define\/define\.ts$/, priority: 2 },
  { name: 'shared', minShareCount: sharedBy, priority: 1 },
];

/**
 * No file does anything when it is imported, so a call at its top may be left out with the constant that it makes. Bundlers
 * can't see that, and would keep every wire in a program that uses one.
 */
const pureCalls = {
  name: 'pure-calls',
  // Lines stay where they were, which is what a source map is read for.
  transform: (code: string) => ({
    code: code.replace(/^((?:export )?const \w+(?:: .+)? = )(?=[\w.]+\()/gm, '$1/* @__PURE__ */ '),
    map: null,
  }),
};

async function bundle(folder: string, sharedBy: number): Promise<void> {
  const dist = join(folder, 'dist');
  for await (const file of glob('**/*.js{,.map}', { cwd: dist })) await rm(join(dist, file));
  const build = await rolldown({
    input: await entriesOf(folder),
    platform: 'node',
    // Other packages and Node's own modules stay imports; only a package's own files are joined.
    external: (id) => !id.startsWith('.') && !id.startsWith(folder),
    treeshake: { moduleSideEffects: false },
    plugins: [pureCalls],
  });
  // Comments are for readers of the sources; what users see of them is in the types.
  await build.write({
    dir: dist,
    format: 'esm',
    chunkFileNames: '[name]-[hash].js',
    comments: { annotation: true, jsdoc: false, legal: false },
    sourcemap: true,
    codeSplitting: { groups: groupsOf(sharedBy) },
  });
  await build.close();
}

/**
 * The grammar of bash is one file of WebAssembly. Its package brings twenty megabytes of sources and native modules besides,
 * with a script that may want a compiler, so nobody who installs ours gets that package: ours has the file.
 */
async function copyGrammar(): Promise<void> {
  const folder = join(root, 'packages/tools/dist/bash/grammar');
  await mkdir(folder, { recursive: true });
  const file = 'tree-sitter-bash.wasm';
  await copyFile(join(root, 'node_modules/tree-sitter-bash', file), join(folder, file));
}

for (const { name, sharedBy } of BUNDLED) await bundle(join(root, 'packages', name), sharedBy);
await copyGrammar();
