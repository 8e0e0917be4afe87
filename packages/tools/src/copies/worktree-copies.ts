import type { WorkingCopies } from '@treadle/core/branches';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { placesOf, type FolderCopiesOptions } from './folder-copies.ts';
import { filesIn, git } from './git.ts';
import { makeEntryEqual } from './make-equal.ts';

/**
 * Copies of a folder in a Git repository for branches (`runBranches` of core): each is a worktree, at the commit that is checked
 * out, with what isn't committed as it is in the folder. What git ignores, such as installed packages, is neither copied nor
 * merged, which makes copies small; {@link folderCopies} copies everything. What is committed inside of a copy stays
 * there: `merge` takes its files, and touches neither the index nor the branches of the repository.
 *
 * A copy appears all at once, and a file of the original is replaced all at once. Hooks of the repository are not run.
 * Needs `git`.
 *
 * @throws TreadleError `invalid_definition` when the copies would be inside the root, when the root is not there, and, from
 *   its methods, when it is in no repository, or in one without a commit.
 * @example
 * ```ts
 * import { worktreeCopies } from '@treadle/tools';
 *
 * const copies = worktreeCopies({ root: process.cwd() });
 * console.log(typeof copies.open); // function
 * ```
 */
export function worktreeCopies(options: FolderCopiesOptions): WorkingCopies {
  const { root, placeOf, existing } = placesOf(options);
  let top: Promise<string> | null = null;
  /** The root of the repository. */
  const topOf = (): Promise<string> =>
    (top ??= git(root, ['rev-parse', '--show-toplevel']).then((said) => said.trimEnd()));
  // Git keeps a list of worktrees, and those that come at once would wait for each other.
  let before: Promise<unknown> = Promise.resolve();
  const inTurn = <Value>(work: () => Promise<Value>): Promise<Value> => {
    const turn = before.then(work);
    before = turn.catch(() => {});
    return turn;
  };
  const folderIn = (place: string, of: string): string => join(place, relative(of, root));

  return {
    open: (key) =>
      inTurn(async () => {
        const place = placeOf(key);
        const repository = await topOf();
        if (!existsSync(place)) await addWorktree(repository, place);
        const own = folderIn(place, repository);
        await mkdir(own, { recursive: true });
        return { folder: own };
      }),
    merge: (key) =>
      inTurn(async () => {
        const place = existing(key);
        await mergeFiles(folderIn(place, await topOf()), root);
      }),
    remove: (key) =>
      inTurn(async () => {
        const place = placeOf(key);
        if (!existsSync(place)) return;
        const repository = await topOf();
        // Twice: also one that is locked.
        await git(repository, ['worktree', 'remove', '--force', '--force', place]).catch(() => {});
        await rm(place, { recursive: true, force: true });
        await git(repository, ['worktree', 'prune']);
      }),
  };
}

async function addWorktree(repository: string, place: string): Promise<void> {
  await mkdir(dirname(place), { recursive: true });
  const part = `${place}.${randomUUID()}.part`;
  try {
    await git(repository, ['worktree', 'add', '--quiet', '--detach', '--no-checkout', part, 'HEAD']);
    await git(part, ['read-tree', 'HEAD']);
    // The bytes of the folder, and not what filters and line ends would make of the commit's.
    for (const path of await filesIn(repository)) await putFile(repository, part, path);
    await git(repository, ['worktree', 'move', part, place]);
  } catch (error) {
    await git(repository, ['worktree', 'remove', '--force', part]).catch(() => {});
    await rm(part, { recursive: true, force: true });
    throw error;
  }
}

/** Makes the files of a folder those of a copy. What git ignores in either is left alone. */
async function mergeFiles(copy: string, root: string): Promise<void> {
  const wanted = new Set(await filesIn(copy));
  for (const path of await filesIn(root)) {
    if (wanted.has(path)) continue;
    const there = await lstat(join(copy, path)).catch(() => null);
    // What the copy has begun to ignore is its file all the same.
    if (there && !there.isDirectory()) wanted.add(path);
    else {
      await rm(join(root, path), { force: true });
      await removeEmptyFolders(root, dirname(path));
    }
  }
  for (const path of wanted) await putFile(copy, root, path);
}

async function putFile(from: string, to: string, path: string): Promise<void> {
  await makeFolders(to, dirname(path));
  await makeEntryEqual(join(from, path), join(to, path));
}

/** Makes the folders of a path, where a file or a link may be in the way. */
async function makeFolders(root: string, path: string): Promise<void> {
  if (path === '.') return;
  await makeFolders(root, dirname(path));
  const folder = join(root, path);
  const there = await lstat(folder).catch(() => null);
  if (there?.isDirectory() === true) return;
  if (there) await rm(folder, { force: true });
  await mkdir(folder);
}

/** Git knows no folders without files: what has become one is gone. */
async function removeEmptyFolders(root: string, path: string): Promise<void> {
  if (path === '.') return;
  const folder = join(root, path);
  const left = await readdir(folder).catch(() => null);
  if (left?.length !== 0) return;
  await rmdir(folder);
  await removeEmptyFolders(root, dirname(path));
}
