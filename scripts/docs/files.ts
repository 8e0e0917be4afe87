// Where the documentation's code blocks are, and a fresh copy of the repository to run them in.

import { execFile } from 'node:child_process';
import { cp, glob, mkdir, mkdtemp, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { blocksOf, examplesOf } from './blocks.ts';
import type { Block } from './blocks.ts';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const DOCUMENTS = ['*.md', 'docs/**/*.md', 'packages/*/README.md', 'examples/**/*.md', 'bench/*.md'];
const SOURCES = ['packages/*/src/**/*.ts'];

const exclude = (path: string): boolean => path.includes('node_modules');

async function find(patterns: readonly string[]): Promise<readonly string[]> {
  const files: string[] = [];
  for await (const file of glob(patterns, { cwd: root, exclude })) files.push(file);
  return files.toSorted();
}

export interface Document {
  /** From the repository's root, such as `docs/events.md`. */
  readonly file: string;
  readonly text: string;
}

export async function documents(): Promise<readonly Document[]> {
  const files = await find(DOCUMENTS);
  return Promise.all(files.map(async (file) => ({ file, text: await readFile(join(root, file), 'utf8') })));
}

/** The code blocks of each document. */
export async function documentBlocks(): Promise<readonly (readonly Block[])[]> {
  return (await documents()).map(({ file, text }) => blocksOf(text, file));
}

/** The examples in the doc comments of what ships. */
export async function sourceExamples(): Promise<readonly Block[]> {
  const files = (await find(SOURCES)).filter((file) => !file.endsWith('.test.ts'));
  const found = files.map(async (file) => examplesOf(await readFile(join(root, file), 'utf8'), file));
  return (await Promise.all(found)).flat();
}

/** A temporary folder that is gone after `dispose`. */
export interface Folder {
  readonly path: string;
  dispose(): Promise<void>;
}

export async function temporaryFolder(): Promise<Folder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'treadle-docs-')));
  return { path, dispose: () => rm(path, { recursive: true, force: true }) };
}

/**
 * A copy of the repository's files as they are now, without what git ignores.
 *
 * @param installed whether it gets the dependencies that are installed here, by a link
 */
export async function freshCopy(installed: boolean): Promise<Folder> {
  const folder = await temporaryFolder();
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const { stdout } = await promisify(execFile)('git', list, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  for (const file of stdout.split('\0').filter((name) => name !== '')) {
    const target = join(folder.path, file);
    await mkdir(dirname(target), { recursive: true });
    await cp(join(root, file), target).catch((error: unknown) => {
      // Deleted here and not yet in a commit.
      if ((error as { readonly code?: unknown }).code !== 'ENOENT') throw error;
    });
  }
  if (installed) await symlink(join(root, 'node_modules'), join(folder.path, 'node_modules'));
  return folder;
}
