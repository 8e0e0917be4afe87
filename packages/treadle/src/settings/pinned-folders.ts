import { commandFolders, skillFolders } from '@treadle/skills';

import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Folders of a project with instructions for the model, relative to it. Only clients of the Claude Agent SDK have all of them read. */
export const instructionFolders = (project: string): readonly string[] => [
  '.claude/agents',
  '.claude/output-styles',
  ...[...skillFolders({ project }), ...commandFolders({ project })].map(({ path }) => relative(project, path)),
];

/** The digests of the instruction folders that a project has, by their paths in it. One that can't be read has none. */
export async function instructionDigests(project: string): Promise<Readonly<Record<string, string>>> {
  const found = await Promise.all(
    instructionFolders(project).map(async (name) => [name, await folderDigest(join(project, name))] as const),
  );
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== null));
}

const MAX_FILES = 5000;
const MAX_BYTES = 50_000_000;
const MAX_DEPTH = 16;

/** The SHA-256 of the paths and contents of a folder's files, those behind links too; null for a folder that isn't there, or is too large. */
async function folderDigest(folder: string): Promise<string | null> {
  const all = createHash('sha256');
  let files = 0;
  let bytes = 0;
  async function add(below: string, depth: number): Promise<void> {
    for (const name of (await readdir(join(folder, below))).toSorted()) {
      const path = join(below, name);
      const found = await stat(join(folder, path));
      if (found.isDirectory()) {
        if (depth === MAX_DEPTH) throw new Error('The folder is too deep.');
        await add(path, depth + 1);
        continue;
      }
      files += 1;
      bytes += found.size;
      if (!found.isFile() || files > MAX_FILES || bytes > MAX_BYTES) throw new Error('The folder is too large.');
      const content = createHash('sha256').update(await readFile(join(folder, path)));
      all.update(JSON.stringify([path, content.digest('hex')]));
    }
  }
  try {
    await add('', 0);
    return all.digest('hex');
  } catch {
    return null;
  }
}
