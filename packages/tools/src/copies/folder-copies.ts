import { TreadleError } from '@treadle/core';
import type { WorkingCopies } from '@treadle/core/branches';
import { createHash, randomUUID } from 'node:crypto';
import { constants, existsSync, realpathSync } from 'node:fs';
import { cp, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';

import { makeEqual } from './make-equal.ts';

/** Settings of {@link folderCopies}. */
export interface FolderCopiesOptions {
  /** The folder that branches work on. */
  readonly root: string;
  /** Where their copies are kept, on the same disk and outside the root. Default: `.NAME.branches` beside the root. */
  readonly folder?: string;
}

/**
 * Copies of a folder for branches (`runBranches` of core). Where the file system can (Btrfs, XFS, APFS), a copy shares its
 * bytes with the original until either is written to; elsewhere it is a plain one. Symbolic links are copied as they are;
 * sockets, pipes and devices are left out.
 *
 * A copy appears all at once, and a file of the original is replaced all at once: a process that dies amid either leaves
 * nothing half done that isn't done again.
 *
 * @throws TreadleError `invalid_definition` when the copies would be inside the root, or the root is not there.
 * @example
 * ```ts
 * import { folderCopies } from '@treadle/tools';
 * import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 *
 * const root = mkdtempSync(join(tmpdir(), 'treadle-'));
 * writeFileSync(join(root, 'a.txt'), 'one');
 * const copies = folderCopies({ root });
 * const { folder } = await copies.open('first');
 * writeFileSync(join(folder, 'a.txt'), 'two');
 * console.log(readFileSync(join(root, 'a.txt'), 'utf8')); // one
 * await copies.merge('first');
 * console.log(readFileSync(join(root, 'a.txt'), 'utf8')); // two
 * await copies.remove('first');
 * rmSync(root, { recursive: true });
 * ```
 */
export function folderCopies(options: FolderCopiesOptions): WorkingCopies {
  const { root, placeOf, existing } = placesOf(options);
  return {
    async open(key) {
      const place = placeOf(key);
      if (!existsSync(place)) await copyTo(root, place);
      return { folder: place };
    },
    merge: async (key) => makeEqual(existing(key), root),
    async remove(key) {
      await rm(placeOf(key), { recursive: true, force: true });
    },
  };
}

/** The folder that branches work on, and where the copy of each is or would be. */
export function placesOf(options: FolderCopiesOptions) {
  const root = realRoot(options.root);
  const folder = resolve(options.folder ?? join(dirname(root), `.${basename(root)}.branches`));
  if (folder === root || folder.startsWith(root + sep)) {
    throw new TreadleError('invalid_definition', `The copies of ${root} can't be kept inside it, in ${folder}.`);
  }
  const placeOf = (key: string): string => join(folder, nameOf(key));
  const existing = (key: string): string => {
    const place = placeOf(key);
    if (existsSync(place)) return place;
    throw new TreadleError('not_selected', `There is no copy of ${root} for ${key}.`);
  };
  return { root, placeOf, existing };
}

function realRoot(root: string): string {
  try {
    return realpathSync(root);
  } catch (cause) {
    throw new TreadleError('invalid_definition', `The folder ${root} is not there.`, { cause });
  }
}

/** Readable, and different for different keys. */
const nameOf = (key: string): string =>
  `${key.replaceAll(/[^\w.-]/g, '_').slice(-80)}-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`;

async function copyTo(root: string, place: string): Promise<void> {
  await mkdir(dirname(place), { recursive: true });
  const part = `${place}.${randomUUID()}.part`;
  try {
    await cp(root, part, {
      recursive: true,
      mode: constants.COPYFILE_FICLONE,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      async filter(source) {
        const found = await lstat(source);
        return found.isFile() || found.isDirectory() || found.isSymbolicLink();
      },
    });
    await rename(part, place);
  } catch (error) {
    await rm(part, { recursive: true, force: true });
    throw error;
  }
}
