import type { Blobs } from '@treadle/core';
import type { BlobRef } from '@treadle/core/ports';
import { createFile } from '../root/create.ts';
import { errnoOf, FileProblem } from '../root/problem.ts';
import { contentOf } from '../files/checkpoint.ts';
import type { Root } from '../root/root.ts';
import type { Captured, Spill } from './capture.ts';

/** Makes the spill file `name` in a folder of the root that version control ignores. */
export async function openSpill(root: Root, folder: string, name: string): Promise<Spill> {
  await ignoreFolder(root, folder);
  const path = `${folder}/${name}`;
  const handle = await createFile(root, path);
  return {
    path,
    async write(bytes) {
      for (let written = 0; written < bytes.length;) {
        written += (await handle.write(bytes, written, bytes.length - written)).bytesWritten;
      }
    },
    close: () => handle.close(),
  };
}

/** The whole of a long output once more as a blob, which outlives the file. None when it can't be kept: the file is there. */
export async function keepSpill(blobs: Blobs, root: Root, { spill }: Captured): Promise<BlobRef | undefined> {
  if (spill === undefined) return undefined;
  try {
    const file = await root.open(spill.path);
    try {
      return await blobs.put(contentOf(file));
    } finally {
      await file.handle.close();
    }
  } catch {
    return undefined;
  }
}

async function ignoreFolder(root: Root, folder: string): Promise<void> {
  try {
    const handle = await createFile(root, `${folder}/.gitignore`);
    try {
      await handle.writeFile('*\n');
    } finally {
      await handle.close();
    }
  } catch (error) {
    const exists = error instanceof FileProblem && errnoOf(error.cause) === 'EEXIST';
    if (!exists) throw error;
  }
}
