// Prints what each package weighs when it is packed and what programs weigh as one minified file, and holds core to its
// promise: small, and alone.
// It measures what was built: run `npm run build` before.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const run = promisify(execFile);

/** Bytes of the packed file at most, source maps and pages included. A raise is a decision: say why in the commit. */
const LIMITS: Readonly<Record<string, number>> = { '@treadle/core': 870_000 };

/** Programs that a user bundles, and the bytes of their file at most. */
const PROGRAMS = [
  {
    name: 'core and one wire, gzip',
    source:
      "export { createSession, defineAgent } from '@treadle/core'; export { anthropic } from '@treadle/models/anthropic';",
    sizeOf: (code: string) => gzipSync(code).length,
    limit: 142_000,
  },
  {
    name: 'defineTool alone',
    source: "export { defineTool } from '@treadle/core';",
    sizeOf: (code: string) => Buffer.byteLength(code),
    limit: 30_000,
  },
];

interface Packed {
  readonly name: string;
  /** Bytes of the packed file. */
  readonly size: number;
  /** Bytes of its files. */
  readonly unpackedSize: number;
  readonly entryCount: number;
}

async function pack(): Promise<readonly Packed[]> {
  const folders = (await readdir(join(root, 'dist/packages'))).map((name) => `./${name}`);
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', ...folders], {
    cwd: join(root, 'dist/packages'),
    maxBuffer: 64 * 1024 * 1024,
    timeout: 120_000,
  });
  const packed = JSON.parse(stdout) as readonly Packed[] | Readonly<Record<string, Packed>>;
  // npm 12 names them by package.
  return Object.values(packed);
}

/** Every module that an import of the built entry loads, by URL. */
async function modulesLoadedBy(entry: string): Promise<readonly string[]> {
  const program = `
    import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ resolve(specifier, context, next) { const found = next(specifier, context); urls.push(found.url); return found; } });
    await import(${JSON.stringify(pathToFileURL(entry).href)});
    process.stdout.write(JSON.stringify(urls));
  `;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { timeout: 30_000 });
  return [...new Set(JSON.parse(stdout) as readonly string[])];
}

/** A program and all that it imports as one minified file. */
async function bundled(source: string): Promise<string> {
  const id = join(root, 'program.js');
  const program = {
    name: 'program',
    resolveId: (name: string) => (name === id ? id : null),
    load: (name: string) => (name === id ? source : null),
  };
  const bundle = await rolldown({ input: id, platform: 'node', plugins: [program] });
  const { output } = await bundle.generate({ minify: true, codeSplitting: false });
  return output[0].code;
}

const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;
const problems: string[] = [];

console.log('package             packed   unpacked   files');
for (const { name, size, unpackedSize, entryCount } of await pack()) {
  const limit = LIMITS[name];
  const note = limit === undefined ? '' : `   limit ${kilobytes(limit)}`;
  const row = [kilobytes(size).padStart(10), kilobytes(unpackedSize).padStart(11), String(entryCount).padStart(8)];
  console.log(`${name.padEnd(16)}${row.join('')}${note}`);
  if (limit !== undefined && size > limit) {
    problems.push(`${name} is packed in ${kilobytes(size)}, over its limit of ${kilobytes(limit)}.`);
  }
}

const dist = join(root, 'packages/core/dist');
const entry = join(dist, 'index.js');
if (existsSync(entry)) {
  const loaded = await modulesLoadedBy(entry);
  const home = `${pathToFileURL(dist).href}/`;
  const foreign = loaded.filter((url) => !url.startsWith(home));
  console.log(`@treadle/core loads ${String(loaded.length)} modules, ${String(foreign.length)} of them not its own.`);
  for (const url of foreign) problems.push(`An import of @treadle/core loads ${url}.`);
  for (const { name, source, sizeOf, limit } of PROGRAMS) {
    const size = sizeOf(await bundled(source));
    console.log(`${name}: ${kilobytes(size)}   limit ${kilobytes(limit)}`);
    if (size > limit) problems.push(`${name} has ${kilobytes(size)}, over its limit of ${kilobytes(limit)}.`);
  }
} else {
  problems.push('Nothing is built yet. Run `npm run build` first.');
}

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
