import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes compared at a time. */
const CHUNK = 256 * 1024;

/**
 * Makes the folder `to` equal to `from`: files byte for byte, with their modes; links; and nothing else. What is equal is not
 * touched, and each file that isn't is replaced in one step.
 */
export async function makeEqual(from: string, to: string): Promise<void> {
  const wanted = await readdir(from);
  for (const name of await readdir(to)) {
    if (!wanted.includes(name)) await rm(join(to, name), { recursive: true, force: true });
  }
  for (const name of wanted) await makeEntryEqual(join(from, name), join(to, name));
}

/** The same for one of its entries; the folder it is in must be there. */
export async function makeEntryEqual(from: string, to: string): Promise<void> {
  const wanted = await lstat(from);
  const there = await lstat(to).catch(() => null);
  if (there && kindOf(there) !== kindOf(wanted)) await rm(to, { recursive: true, force: true });
  const same = there !== null && kindOf(there) === kindOf(wanted);
  if (wanted.isDirectory()) {
    if (!same) await mkdir(to);
    await makeEqual(from, to);
    await chmod(to, wanted.mode & 0o7777);
  } else if (wanted.isSymbolicLink()) {
    const target = await readlink(from);
    if (!same || (await readlink(to)) !== target) await replace(to, (part) => symlink(target, part));
  } else if (wanted.isFile()) {
    const isEqual = same && there.mode === wanted.mode && (await haveEqualBytes(from, wanted, to, there));
    if (!isEqual) {
      await replace(to, async (part) => {
        await copyFile(from, part, constants.COPYFILE_FICLONE);
        await chmod(part, wanted.mode & 0o7777);
      });
    }
  }
}

const kindOf = (found: Stats): string =>
  found.isDirectory() ? 'folder' : found.isSymbolicLink() ? 'link' : found.isFile() ? 'file' : 'other';

async function replace(path: string, write: (part: string) => Promise<void>): Promise<void> {
  const part = `${path}.${randomUUID()}.part`;
  try {
    await write(part);
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

async function haveEqualBytes(one: string, oneStat: Stats, other: string, otherStat: Stats): Promise<boolean> {
  if (oneStat.size !== otherStat.size) return false;
  const handles: FileHandle[] = [];
  try {
    for (const path of [one, other]) handles.push(await open(path));
    const buffers = [Buffer.alloc(CHUNK), Buffer.alloc(CHUNK)] as const;
    for (let at = 0; at < oneStat.size; at += CHUNK) {
      const [a, b] = await Promise.all(
        handles.map((handle, place) => handle.read(buffers[place === 0 ? 0 : 1], 0, CHUNK, at)),
      );
      const length = a?.bytesRead ?? 0;
      if (length !== b?.bytesRead || !buffers[0].subarray(0, length).equals(buffers[1].subarray(0, length)))
        return false;
    }
    return true;
  } finally {
    for (const handle of handles) await handle.close();
  }
}
