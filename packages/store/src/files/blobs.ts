import { type Blobs, type Clock, errorText, systemClock, TreadleError } from '@treadle/core';
import type { BlobContent, BlobRef, BlobSweep, BlobSweepReport } from '@treadle/core/ports';
import { blobErrors, blobIdOf, isBlobId } from '@treadle/core/ports';
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, unless } from '../errors.ts';
import { systemFiles } from './file-system.ts';
import { syncFolder } from './folder.ts';

/** Options of {@link fileBlobs}. */
export interface FileBlobsOptions {
  /** The folder. It is made when first needed, readable by its owner only. */
  readonly folder: string;
  /** Says how old a blob is. Default: the machine's. */
  readonly clock?: Clock;
}

/**
 * Blobs as files, one each, for any number of processes. A blob is written beside its place, synced, and then renamed to
 * it, so that there is a whole one or none, whenever the machine dies. What is read is checked against its id.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { readBlob } from '@treadle/core/ports';
 * import { fileBlobs } from '@treadle/store';
 *
 * const blobs = fileBlobs({ folder: mkdtempSync(join(tmpdir(), 'treadle-')) });
 * const { id } = await blobs.put(Buffer.from('kept'));
 * console.log(Buffer.from(await readBlob(blobs, id)).toString()); // kept
 * ```
 */
export function fileBlobs({ folder, clock = systemClock }: FileBlobsOptions): Blobs {
  if (folder === '') throw new TreadleError('invalid_definition', 'fileBlobs needs the path of a folder.');
  const place: Place = { folder, clock, made: new Set() };
  const guarded = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    try {
      return await work();
    } catch (error) {
      throw isSystemError(error) ? failure(folder, error) : error;
    }
  };
  return {
    backend: 'files',
    put: (content, { maxBytes = Number.POSITIVE_INFINITY } = {}) => guarded(() => put(place, content, maxBytes)),
    read: (id) => read(place, id),
    size: (id) => guarded(async () => (await find(place, id))?.stats.size ?? null),
    sweep: (sweep) => guarded(() => sweepFolder(place, sweep)),
  };
}

interface Place {
  readonly folder: string;
  readonly clock: Clock;
  /** Folders that this process has made or found. */
  readonly made: Set<string>;
}

const TEMPORARY = 'temporary';
/** A blob that a sweep has set aside and looks at once more. */
const REMOVED = '.removed';

const folderOf = ({ folder }: Place, id: string): string => join(folder, id.slice('sha256-'.length).slice(0, 2));
const pathOf = (place: Place, id: string): string => join(folderOf(place, id), id);

async function makeFolder(place: Place, folder: string): Promise<void> {
  if (place.made.has(folder)) return;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await syncFolder(systemFiles, place.folder);
  place.made.add(folder);
}

/** Written again also where it is there already: that makes it young, and whole if it was damaged. */
async function put(place: Place, content: BlobContent, maxBytes: number): Promise<BlobRef> {
  const temporaries = join(place.folder, TEMPORARY);
  await makeFolder(place, temporaries);
  const temporary = join(temporaries, randomUUID());
  const file = await open(temporary, 'wx', 0o600);
  try {
    let written: BlobRef;
    try {
      written = await fill(file, content, maxBytes);
      const now = place.clock.now() / 1000;
      await file.utimes(now, now);
      await file.sync();
    } finally {
      await file.close();
    }
    const folder = folderOf(place, written.id);
    await makeFolder(place, folder);
    await rename(temporary, pathOf(place, written.id));
    await syncFolder(systemFiles, folder);
    return written;
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
}

async function fill(file: FileHandle, content: BlobContent, maxBytes: number): Promise<BlobRef> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const piece of content instanceof Uint8Array ? [content] : content) {
    size += piece.length;
    if (size > maxBytes) throw blobErrors.tooLarge(maxBytes);
    hash.update(piece);
    for (let at = 0; at < piece.length;) at += (await file.write(piece, at, piece.length - at)).bytesWritten;
  }
  return { id: blobIdOf(hash.digest('hex')), size };
}

/** Where a blob is: in its place or, for the moment of a sweep's second look, beside it. */
async function find(place: Place, id: string): Promise<{ readonly path: string; readonly stats: Stats } | null> {
  if (!isBlobId(id)) return null;
  const folder = folderOf(place, id);
  const look = async (name: string) => {
    const path = join(folder, name);
    const stats = await statsOf(path);
    return stats && { path, stats };
  };
  const found = await look(id);
  if (found) return found;
  for (const name of await entries(folder)) {
    const aside = name.startsWith(`${id}.`) ? await look(name) : null;
    if (aside) return aside;
  }
  return look(id);
}

async function* read(place: Place, id: string): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let begun = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const found = await find(place, id);
      if (!found) throw blobErrors.notFound(id);
      for await (const piece of createReadStream(found.path)) {
        begun = true;
        hash.update(piece as Uint8Array);
        yield piece as Uint8Array;
      }
      break;
    } catch (error) {
      // Renamed by a sweep between the look and the opening.
      if (!begun && attempt < ATTEMPTS && codeOf(error) === 'ENOENT') continue;
      throw isSystemError(error) ? failure(place.folder, error) : error;
    }
  }
  if (blobIdOf(hash.digest('hex')) !== id) throw blobErrors.corrupt(id);
}

const ATTEMPTS = 5;

async function sweepFolder(place: Place, { olderThanMs, inUse }: BlobSweep): Promise<BlobSweepReport> {
  const before = place.clock.now() - olderThanMs;
  let removed = 0;
  let removedBytes = 0;
  let kept = 0;
  for (const name of await entries(place.folder)) {
    const folder = join(place.folder, name);
    for (const entry of await entries(folder)) {
      const path = join(folder, entry);
      if (name === TEMPORARY) {
        // Left by a process that died while it wrote.
        if (isOld(await statsOf(path), before)) await unlink(path).catch(() => {});
        continue;
      }
      const [id = ''] = entry.split('.');
      if (!isBlobId(id)) continue;
      const isAside = entry.endsWith(REMOVED);
      const stays = inUse.has(id);
      const aside = isAside ? path : stays ? null : await setAside(path, before);
      const size = aside === null ? null : await removeUnlessYoung(aside, join(folder, id), before, stays);
      if (size === null) kept += 1;
      else {
        removed += 1;
        removedBytes += size;
      }
    }
  }
  return { removed, removedBytes, kept };
}

/** Takes an old blob out of its place, under a name that nobody else uses. Null when it is young, or gone. */
async function setAside(path: string, before: number): Promise<string | null> {
  const stats = await statsOf(path);
  if (!isOld(stats, before)) return null;
  const aside = `${path}.${randomUUID()}${REMOVED}`;
  return (await unlessGone(rename(path, aside))) ? aside : null;
}

/**
 * A blob set aside, by this sweep or by one that died: somebody may have put it once more before it was taken out, and
 * then it goes back. Its size, or null when it stays.
 */
async function removeUnlessYoung(aside: string, path: string, before: number, inUse: boolean): Promise<number | null> {
  const stats = await statsOf(aside);
  if (stats === null) return null;
  if (inUse || !isOld(stats, before)) {
    await unlessGone(rename(aside, path));
    return null;
  }
  return (await unlessGone(unlink(aside))) ? stats.size : null;
}

/** False when another sweep was quicker. */
const unlessGone = async (work: Promise<void>): Promise<boolean> => (await unless(work, 'ENOENT')) !== null;

const isOld = (stats: Stats | null, before: number): boolean => stats !== null && Math.round(stats.mtimeMs) <= before;

const entries = async (folder: string): Promise<readonly string[]> =>
  (await unless(readdir(folder), 'ENOENT', 'ENOTDIR')) ?? [];

/** Of a file; links, which may lead anywhere, and folders are none. */
async function statsOf(path: string): Promise<Stats | null> {
  const stats = await unless(lstat(path), 'ENOENT');
  return stats?.isFile() === true ? stats : null;
}

/** True for what the operating system refuses; what a caller's own stream throws stays what it is. */
const isSystemError = (thrown: unknown): boolean =>
  thrown instanceof Error && 'syscall' in thrown && typeof codeOf(thrown) === 'string';

function failure(folder: string, thrown: unknown): TreadleError {
  const what = codeOf(thrown) === 'ENOSPC' ? 'the disk is full. Free some space and try again' : errorText(thrown);
  return new TreadleError('blob_failed', `The blobs in ${folder} could not be read or written: ${what}.`, {
    cause: thrown,
    details: { folder },
  });
}
