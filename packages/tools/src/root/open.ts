import { constants, type Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { relativeToRoots } from './components.ts';
import { currentPath, type Directory, type Holding } from './directory.ts';
import { FileProblem, problemFrom } from './problem.ts';

/** An open file, as far as tools read it. */
export interface ReadHandle {
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

/** A regular file inside the root, open for reading. Close it. */
export interface OpenedFile {
  readonly handle: ReadHandle;
  /** Relative to the root, with `/`. */
  readonly path: string;
  /** Of the file on the disk. */
  readonly stats: Stats;
}

/**
 * The files that an editor has open: what it shows may not be saved yet. Paths are absolute and real, and inside the root.
 * Only text files in UTF-8 of up to 10 MB are asked for, and only such that exist.
 */
export interface EditorFiles {
  /** What the editor has; null to take the file from the disk. */
  readonly read?: (path: string) => Promise<string | null>;
  /** Has the editor write a file and save it, whether it exists or not. Rejects when it doesn't. */
  readonly write?: (path: string, text: string) => Promise<void>;
}

/** What a file must satisfy to be opened. */
export interface OpenPolicy {
  /** The root's real path. */
  readonly root: string;
  readonly holding: Holding;
  /** A file with several hard links may be one that lies outside the root as well. */
  readonly hardLinks: 'refuse' | 'allow';
  readonly editor?: EditorFiles;
  /** Whether files have absolute names: those outside of the folder that the tools work in. */
  readonly isNamedWhole?: boolean;
}

// Without NONBLOCK, opening a FIFO that nobody writes to would wait for ever; NOCTTY keeps a terminal from adopting us.
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Opens the entry `name` of `directory` for reading if it is a regular file inside the root. Never follows a link. */
export async function openRegular(
  directory: Directory,
  name: string,
  path: string,
  known: Stats | undefined,
  policy: OpenPolicy,
): Promise<OpenedFile> {
  if (known !== undefined) requireRegular(known, path, policy);
  let handle: FileHandle;
  try {
    handle = await open(directory.at(name), readFlags);
  } catch (error) {
    throw problemFrom(error, path);
  }
  try {
    const stats = await handle.stat();
    requireRegular(stats, path, policy);
    await requireInside(handle, directory.at(name), path, policy);
    return { handle, path, stats };
  } catch (error) {
    await handle.close();
    throw problemFrom(error, path);
  }
}

/** Refuses an open file that is not below the root now, whatever path led to it. */
export async function requireInside(
  handle: FileHandle,
  openedAs: string,
  path: string,
  policy: OpenPolicy,
): Promise<void> {
  const real = await currentPath(handle, openedAs, policy.holding);
  if (real === undefined) throw new FileProblem('changed', `${path} was replaced while it was being opened.`);
  if (relativeToRoots(real, [policy.root]) === undefined) {
    throw new FileProblem('outside_root', `${path} leads outside the root folder.`);
  }
}

/** Refuses directories, devices, sockets, pipes and, by policy, files with several hard links. */
export function requireRegular(stats: Stats, path: string, policy: OpenPolicy): void {
  if (stats.isDirectory()) {
    throw new FileProblem('is_directory', `${path} is a directory. Use list_files to see what is in it.`);
  }
  if (!stats.isFile()) {
    throw new FileProblem('not_regular', `${path} is not a regular file but a device, socket or pipe.`);
  }
  if (stats.nlink > 1 && policy.hardLinks === 'refuse') {
    throw new FileProblem(
      'hard_link',
      `${path} has ${stats.nlink} hard links, so it may be a file outside the root folder too. It is refused here.`,
    );
  }
}
