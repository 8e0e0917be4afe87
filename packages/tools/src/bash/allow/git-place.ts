import type { Stats } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { relativeToRoots } from '../../root/components.ts';
import { MISSING, unless } from '../../root/problem.ts';
import { realPath } from '../../root/real-path.ts';
import { foreignSetting } from './git-settings.ts';

/** Where the files of a repository are, or why git may read or run something else there. */
export type GitPlace = { readonly folders: readonly string[] } | { readonly reason: string };

/**
 * The folders that git reads when it runs in `folder`: the root of the work tree, the git directory and, for a linked work
 * tree, the directory that it shares with the others. Each pointer between them must be confirmed from the other side, so
 * that a `.git` file from an archive can't lead to another repository of the user. A repository above `root`, the working
 * folder, shows files beside it, so it must be the user's own: in `/tmp`, anybody can make one.
 */
export async function gitPlace(folder: string, root: string): Promise<GitPlace> {
  const found = await findRepository(folder);
  if (typeof found === 'string') return { reason: found };
  const { top, git, common } = found;
  if (isAtOrAbove(top, await realPath(homedir())))
    return { reason: `the repository is ${top}, which holds more than a project` };
  if (relativeToRoots(top, [root]) === undefined && (await lstat(git)).uid !== process.getuid?.())
    return { reason: `the repository ${top} belongs to another user` };
  for (const file of new Set([join(common, 'config'), join(common, 'config.worktree'), join(git, 'config.worktree')])) {
    const text = await settingsText(file);
    if (text === null) continue;
    if (text === undefined) return { reason: "the repository's settings can not be read" };
    const foreign = foreignSetting(text);
    if (foreign !== undefined) return { reason: `the repository's settings have ${foreign}, which may run a program` };
  }
  return { folders: [top, git, common] };
}

interface Repository {
  /** The root of the work tree. */
  readonly top: string;
  readonly git: string;
  /** The git directory that all work trees share. */
  readonly common: string;
}

const elsewhere = 'the repository is kept elsewhere';

/** The repository that git finds from `folder` upwards, or why there is none that is known. */
async function findRepository(folder: string): Promise<Repository | string> {
  for (let at = folder; ; at = dirname(at)) {
    const path = join(at, '.git');
    const stats = await statsOf(path);
    if (stats?.isDirectory() === true) {
      // Only a linked work tree shares another directory.
      if ((await statsOf(join(path, 'commondir'))) !== undefined) return elsewhere;
      return { top: at, git: path, common: path };
    }
    if (stats !== undefined) return stats.isFile() ? linkedWorkTree(at, path) : elsewhere;
    // A folder may itself be a repository, without a `.git`.
    if ((await statsOf(join(at, 'HEAD'))) !== undefined && (await statsOf(join(at, 'objects'))) !== undefined) {
      return elsewhere;
    }
    if (at === dirname(at)) return 'there is no repository';
  }
}

/** A work tree whose git directory is in that of the main one, as `git worktree add` makes it. */
async function linkedWorkTree(top: string, file: string): Promise<Repository | string> {
  const given = /^gitdir: (.+)\n?$/.exec(await pointerText(file))?.[1];
  if (given === undefined) return elsewhere;
  const git = await realPath(given, top);
  const common = dirname(dirname(git));
  const isOneOfMany = basename(dirname(git)) === 'worktrees' && basename(common) === '.git';
  if (!isOneOfMany || (await pointed(git, 'gitdir')) !== file || (await pointed(git, 'commondir')) !== common) {
    return elsewhere;
  }
  return { top, git, common };
}

/** Where a file of a git directory points to. */
async function pointed(git: string, name: string): Promise<string> {
  return realPath((await pointerText(join(git, name))).replace(/\n$/, ''), git);
}

const longestPointer = 8192;

async function pointerText(path: string): Promise<string> {
  const stats = await statsOf(path);
  return stats?.isFile() === true && stats.size <= longestPointer ? readFile(path, 'utf8') : '';
}

const longestSettings = 256 * 1024;

/** Null when there are none, undefined when they can't be read as they are. */
async function settingsText(path: string): Promise<string | null | undefined> {
  const stats = await statsOf(path);
  if (stats === undefined) return basename(path) === 'config' ? undefined : null;
  return stats.isFile() && stats.size <= longestSettings ? readFile(path, 'utf8') : undefined;
}

const isAtOrAbove = (folder: string, path: string): boolean => relativeToRoots(path, [folder]) !== undefined;

const statsOf = (path: string): Promise<Stats | undefined> => unless(lstat(path), ...MISSING);
