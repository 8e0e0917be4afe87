// The packed packages, and projects outside the repository that use them.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

export const root = join(import.meta.dirname, '../..');

const INSTALL_TIMEOUT_MS = 240_000;

/**
 * Runs a program and returns what it printed.
 *
 * @throws Error with all of its output when it fails
 */
export async function run(
  cwd: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  try {
    const options = { cwd, env, timeout: INSTALL_TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 };
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`\`${[command, ...args].join(' ')}\` failed:\n${stdout}${stderr}`, { cause: error });
  }
}

/** A new folder in the temporary folder. */
export async function emptyFolder(): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), 'treadle-packed-')));
}

/** Packs every package into a new folder. The set-up of the system tests has built them. Returns the paths of the tarballs. */
export async function packAll(): Promise<{ readonly folder: string; readonly tarballs: readonly string[] }> {
  const folder = await emptyFolder();
  const staged = (await readdir(join(root, 'dist/packages'))).map((name) => `./${name}`);
  await run(join(root, 'dist/packages'), 'npm', ['pack', '--silent', '--pack-destination', folder, ...staged]);
  const tarballs = (await readdir(folder)).toSorted().map((name) => join(folder, name));
  return { folder, tarballs };
}

/** Runs npm as on a machine of its own: nothing of the npm that runs the tests. */
export async function npm(cwd: string, ...args: string[]): Promise<string> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_(?!config_(registry|cache)$)/i.test(name));
  return run(cwd, 'npm', args, Object.fromEntries(inherited));
}

/** Makes a folder a project in which packages are installed, such as tarballs or `name@version`. */
export async function install(folder: string, ...packages: string[]): Promise<void> {
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest)) await writeFile(manifest, '{ "private": true, "type": "module" }\n');
  await npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', ...packages);
}

/** A folder of `compat/`. The set-up of the system tests has installed it. */
export const compatFolder = (name: string): string => join(root, 'compat', name);

export const remove = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });
