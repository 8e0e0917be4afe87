// Prints what each package weighs when it is packed, and holds core to its promise: small, and alone.
// It measures what was built: run `npm run build` before.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const run = promisify(execFile);

/** Bytes of the packed file at most. A raise is a decision: say why in the commit. */
const LIMITS: Readonly<Record<string, number>> = { '@treadle/core': 345_000 };

interface Packed {
  readonly name: string;
  /** Bytes of the packed file. */
  readonly size: number;
  /** Bytes of its files. */
  readonly unpackedSize: number;
  readonly entryCount: number;
}

async function pack(): Promise<readonly Packed[]> {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--workspaces'], {
    cwd: root,
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
} else {
  problems.push('Nothing is built yet. Run `npm run build` first.');
}

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
