import { commandFolders, skillFolders } from '@treadle/skills';

import { createHash } from 'node:crypto';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';

import type { CliIo } from '../cli/io.ts';
import { PROJECT_AGENTS } from './agent-files.ts';
import { configFolder, readWithin } from './settings.ts';

/** What is in a folder of instructions. */
export type InstructionKind = 'skills' | 'commands' | 'agents' | 'output styles';

/** Folders of a project with instructions for the model, relative to it. Only clients of the Claude Agent SDK have output styles read. */
export const instructionFolders = (project: string): readonly (readonly [name: string, kind: InstructionKind])[] => {
  const below = (kind: InstructionKind, folders: readonly { readonly path: string }[]) =>
    folders.map(({ path }) => [relative(project, path), kind] as const);
  return [
    ...below('skills', skillFolders({ project })),
    ...below('commands', commandFolders({ project })),
    ...PROJECT_AGENTS.map((name) => [name, 'agents'] as const),
    ['.claude/output-styles', 'output styles'],
  ];
};

/** Paths that are the user's own, also when the project is their home folder: nobody is asked about them. */
export function ownPlaces(io: Pick<CliIo, 'env' | 'cwd'>): ReadonlySet<string> {
  const home = resolve(io.cwd, io.env['HOME'] || '/');
  const config = configFolder(io);
  return new Set([
    ...[...skillFolders({ home }), ...commandFolders({ home })].map(({ path }) => path),
    ...['.claude/agents', '.claude/output-styles', '.claude/settings.json'].map((name) => join(home, name)),
    ...(config === null ? [] : [join(config, 'agents')]),
  ]);
}

/** The digests of what is pinned, by its path in the project; null for what is there and can't be pinned. */
export type Pins = Readonly<Record<string, string | null>>;

/** The digests of the instruction folders that a project has. */
export async function instructionPins(project: string): Promise<Pins> {
  const found = await Promise.all(
    instructionFolders(project).map(async ([name]) => [name, await folderDigest(join(project, name))] as const),
  );
  return Object.fromEntries(found.filter((entry): entry is [string, string | null] => entry[1] !== undefined));
}

/** A folder with instructions that isn't as it was when its project was trusted. */
export interface Unpinned {
  readonly name: string;
  readonly kind: InstructionKind;
  /** Begins with "it". */
  readonly why: string;
}

/** Which folders with instructions are not as they were trusted; those of the user's own aside. */
export function unpinnedOf(
  project: string,
  { pins, trusted, io }: { readonly pins: Pins; readonly trusted: Pins; readonly io: Pick<CliIo, 'env' | 'cwd'> },
): readonly Unpinned[] {
  const own = ownPlaces(io);
  return instructionFolders(project).flatMap(([name, kind]) => {
    const now = pins[name];
    if (now === undefined || own.has(join(project, name))) return [];
    if (now === null) return [{ name, kind, why: 'it is too large to notice changes of it, or can’t be read' }];
    if (now === trusted[name]) return [];
    const isNew = trusted[name] === undefined;
    return [
      { name, kind, why: isNew ? 'it is not among what was trusted' : 'it changed since this folder was trusted' },
    ];
  });
}

const MAX_ENTRIES = 5000;
const MAX_BYTES = 50_000_000;
const MAX_DEPTH = 16;

/**
 * The SHA-256 of the paths and contents of a folder's files, those behind links too; null for one that can't be read, or is
 * too large. Undefined where there is none.
 */
async function folderDigest(folder: string): Promise<string | null | undefined> {
  const all = createHash('sha256');
  let entries = 0;
  let bytes = 0;
  async function add(below: string, depth: number): Promise<void> {
    for (const name of (await readdir(join(folder, below))).toSorted()) {
      // Folders count too: links among them can make very many of few.
      if (++entries > MAX_ENTRIES) throw new Error('There is too much in the folder.');
      const path = join(below, name);
      const found = await stat(join(folder, path)).catch(() => null);
      if (found === null && (await lstat(join(folder, path))).isSymbolicLink()) {
        // A link to nothing, such as the lock of an editor. It is another one once it leads somewhere.
        all.update(JSON.stringify([path, null]));
        continue;
      }
      if (found?.isDirectory() === true) {
        if (depth === MAX_DEPTH) throw new Error('The folder is too deep.');
        await add(path, depth + 1);
        continue;
      }
      const content = await readWithin(join(folder, path), MAX_BYTES - bytes);
      bytes += content.length;
      all.update(JSON.stringify([path, createHash('sha256').update(content).digest('hex')]));
    }
  }
  try {
    await add('', 0);
    return all.digest('hex');
  } catch (error) {
    const isMissing = entries === 0 && error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return isMissing ? undefined : null;
  }
}
