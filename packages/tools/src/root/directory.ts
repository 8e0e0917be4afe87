import { constants } from 'node:fs';
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * How directories are held while a path is walked.
 *
 * `descriptor`: each directory is an open descriptor and its entries are reached through `/proc/self/fd/N/name`, which
 * is Linux's `openat`: nothing that is renamed or replaced meanwhile can lead elsewhere. `path`: by path name, with the
 * real path compared after opening; for systems without `/proc`.
 */
export type Holding = 'descriptor' | 'path';

/** A directory in the middle of a walk. Close every one that was entered. */
export interface Directory {
  /** A path that file-system calls may use for the directory itself. */
  readonly self: string;
  /** A path that file-system calls may use for the entry `name`, a single name. */
  at(name: string): string;
  /** Opens the child directory `name`. Rejects with ELOOP or ENOTDIR when it is a symbolic link by now. */
  enter(name: string): Promise<Directory>;
  /** Writes the directory's entries to the disk, where the system can. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

export async function openDirectory(path: string, holding: Holding): Promise<Directory> {
  return holding === 'descriptor' ? byDescriptor(await open(path, directoryFlags)) : byPath(path);
}

function byDescriptor(handle: FileHandle): Directory {
  const self = `/proc/self/fd/${handle.fd}`;
  return {
    self,
    at: (name) => `${self}/${name}`,
    enter: async (name) => byDescriptor(await open(`${self}/${name}`, directoryFlags)),
    sync: () => handle.sync(),
    close: () => handle.close(),
  };
}

function byPath(path: string): Directory {
  return {
    self: path,
    at: (name) => join(path, name),
    async enter(name) {
      const child = join(path, name);
      await (await open(child, directoryFlags)).close();
      return byPath(child);
    },
    async sync() {
      const handle = await open(path, directoryFlags);
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
    close: () => Promise.resolve(),
  };
}

/** The path that an open file has now, or undefined when that can't be told or it is no longer at `path`. */
export async function currentPath(handle: FileHandle, path: string, holding: Holding): Promise<string | undefined> {
  if (holding === 'descriptor') return readlink(`/proc/self/fd/${handle.fd}`);
  const real = await realpath(path);
  const [opened, named] = await Promise.all([handle.stat({ bigint: true }), lstat(real, { bigint: true })]);
  return opened.dev === named.dev && opened.ino === named.ino ? real : undefined;
}
