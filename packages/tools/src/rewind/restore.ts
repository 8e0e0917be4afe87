import type { Blobs } from '@treadle/core';
import { readBlob, type BlobRef } from '@treadle/core/ports';
import type { ChangedFile } from '@treadle/core/projections';
import { contentOf, idOfBytes, idOfFile } from '../files/checkpoint.ts';
import type { OpenedFile } from '../root/open.ts';
import { FileProblem } from '../root/problem.ts';
import type { Root } from '../root/root.ts';

/** What a rewind does with a file, or, when it is only tried, would do. */
export type RewindAction =
  /** It gets the content that it had. */
  | 'restore'
  /** It was made since, and goes. */
  | 'delete'
  /** It is as it was already. */
  | 'none'
  /** Somebody else has changed it since: it is left alone. */
  | 'changed'
  /** It can't be brought back; the message says why. It is left alone. */
  | 'refused';

/** The outcome of a rewind for one file. */
export interface RewoundFileReport {
  /** The real path of the root, and the file's path below it. */
  readonly root: string;
  readonly path: string;
  readonly action: RewindAction;
  /** Why, when it is left alone. */
  readonly message?: string;
}

/** A file that is to be restored or deleted. */
export interface Restoration {
  readonly root: Root;
  readonly path: string;
  readonly wanted: BlobRef | null;
  /** The id of what it holds now; null for no file. */
  readonly now: string | null;
}

export type Inspected = { readonly report: RewoundFileReport; readonly restoration?: Restoration };

/** Looks at a file, and says what a rewind would do with it. Changes nothing. */
export async function inspect(file: ChangedFile, roots: readonly Root[]): Promise<Inspected> {
  const { path, wanted, expected } = file;
  const report = (action: RewindAction, message?: string): Inspected => ({
    report: { root: file.root, path, action, ...(message === undefined ? {} : { message }) },
  });
  const root = roots.find((each) => each.path === file.root);
  if (!root) return report('refused', `${file.root} is not one of the roots that may be changed.`);
  if (wanted === undefined) return report('refused', `What ${path} held is not known.`);
  let now: string | null;
  try {
    now = await idOfContent(root, path);
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    return report(error.code === 'changed' ? 'changed' : 'refused', error.message);
  }
  if (now === (wanted?.id ?? null)) return report('none');
  if (!expected.includes(now)) return report('changed', CHANGED);
  return { ...report(wanted === null ? 'delete' : 'restore'), restoration: { root, path, wanted, now } };
}

const CHANGED = 'It does not hold what the session left in it: somebody else has changed it since.';

/** The id of what a file holds, or null for no file. A path that leads to another file by now is a change. */
async function idOfContent(root: Root, path: string): Promise<string | null> {
  await requireSamePlace(root, path);
  let file: OpenedFile;
  try {
    file = await root.open(path);
  } catch (error) {
    if (error instanceof FileProblem && error.code === 'not_found') return null;
    throw error;
  }
  try {
    return await idOfFile(file);
  } finally {
    await file.handle.close();
  }
}

async function requireSamePlace(root: Root, path: string): Promise<void> {
  try {
    const location = await root.locate(path);
    await location.close();
    samePlace(location.real, path);
  } catch (error) {
    if (!(error instanceof FileProblem) || error.code !== 'not_found') throw error;
  }
}

function samePlace(real: string, path: string): void {
  if (real !== path) throw new FileProblem('changed', `${path} is a link by now, and leads to ${real}.`);
}

/** Keeps what a file holds, so that a rewind can be taken back. */
export async function keepNow({ root, path, now }: Restoration, blobs: Blobs): Promise<BlobRef | null> {
  if (now === null) return null;
  const file = await root.open(path);
  try {
    return await blobs.put(contentOf(file));
  } finally {
    await file.handle.close();
  }
}

/** Brings a file back, if it still holds what was seen. Each file is what it was or what it is to be, whenever this dies. */
export async function restore({ root, path, wanted, now }: Restoration, blobs: Blobs): Promise<void> {
  const same = async (current: OpenedFile | undefined, real: string): Promise<void> => {
    samePlace(real, path);
    const held = current ? await idOfFile(current) : null;
    if (held !== now) throw new FileProblem('changed', CHANGED);
  };
  if (wanted === null) return root.remove(path, same);
  const content = await readBlob(blobs, wanted.id);
  if (idOfBytes(content) !== wanted.id) throw new FileProblem('io', `What ${path} held is damaged.`);
  await root.update(path, () => content, {
    create: true,
    signal: new AbortController().signal,
    check: same,
  });
}
