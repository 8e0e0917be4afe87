import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** Folders looked at between the working folder and the repository's root. */
const MOST_FOLDERS = 64;

/** Where instruction files may lie: the repository, and its folders from the root down to the working folder. */
export interface InstructionPlaces {
  /** The repository's root; the working folder itself where there is no repository. A real path. */
  readonly root: string;
  /** Paths relative to the root, `.` for the root itself; the nearest to the working folder last. */
  readonly folders: readonly string[];
}

/**
 * The folders whose instructions count for `folder`. Outside a repository it is the folder alone: what lies above it, as in
 * a shared temporary folder, may be anyone's.
 */
export async function instructionPlaces(folder: string): Promise<InstructionPlaces> {
  const start = await realpath(folder);
  const passed: string[] = [];
  for (let path = start; passed.length < MOST_FOLDERS; path = dirname(path)) {
    passed.unshift(path);
    if (await isThere(join(path, '.git'))) {
      const root = path;
      return { root, folders: passed.map((one) => relative(root, one) || '.') };
    }
    if (path === dirname(path)) break;
  }
  return { root: start, folders: ['.'] };
}

/** A repository's `.git` is a folder, or a file in a work tree. Nothing in it is read. */
const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
