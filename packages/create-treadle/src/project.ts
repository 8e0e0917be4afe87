import { cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

import { CreateProblem } from './problem.ts';
import type { Template } from './templates.ts';

const home = join(import.meta.dirname, '..');

/** Where a template writes the version of Treadle. A project gets that of this package. */
const VERSION = '0.0.0-treadle';

/** The version of this package, and of every package of Treadle that a new project uses. */
export async function ownVersion(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as { readonly version: string };
  return version;
}

/**
 * Writes a project into a folder that doesn't exist or is empty. Returns the folder's absolute path.
 *
 * @throws CreateProblem for a folder that has files in it, or a name that npm refuses
 */
export async function writeProject(folder: string, template: Template): Promise<string> {
  const path = resolve(folder);
  const name = packageNameOf(basename(path));
  await mkdir(path, { recursive: true });
  const files = await readdir(path);
  if (files.length > 0) throw new CreateProblem(`${path} is not empty. Choose another folder. Nothing was written.`);
  await cp(join(home, 'templates', template), path, { recursive: true, filter: isOurs });
  // npm leaves a file of this name out of every package.
  await rename(join(path, '_gitignore'), join(path, '.gitignore'));
  const manifest = join(path, 'package.json');
  const text = await readFile(manifest, 'utf8');
  const named = text.replace(/"name": "[^"]*"/, `"name": ${JSON.stringify(name)}`);
  await writeFile(manifest, named.replaceAll(VERSION, await ownVersion()));
  return path;
}

/** What running a template in place leaves behind is no part of it. */
const isOurs = (path: string): boolean => !['node_modules', '.next', 'package-lock.json'].includes(basename(path));

/** The name of a package in a folder: what npm allows of the folder's name. */
function packageNameOf(folder: string): string {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[-._]+/, '')
    .slice(0, 214);
  if (name === '')
    throw new CreateProblem(`No package can be named after the folder ${folder}. Choose another folder.`);
  return name;
}
