import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { requireInside } from './open.ts';
import { FileProblem, problemFrom } from './problem.ts';
import type { Root } from './root.ts';

const newFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** For its owner only: what programs print may be confidential. */
const privateMode = 0o600;

/** Makes a new file inside the root, with the folders above it, open for writing. Refuses one that exists. */
export async function createFile(root: Root, path: string): Promise<FileHandle> {
  const location = await root.locate(path, { createParents: true });
  try {
    const { directory, name } = location;
    if (name === undefined) throw new FileProblem('is_directory', `${path} is a directory.`);
    const handle = await open(directory.at(name), newFlags, privateMode);
    try {
      await requireInside(handle, directory.at(name), path, root.policy);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  } catch (error) {
    throw problemFrom(error, path);
  } finally {
    await location.close();
  }
}
