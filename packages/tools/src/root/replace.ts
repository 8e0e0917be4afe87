import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, lstat, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import type { Directory } from './directory.ts';
import { requireInside, type OpenPolicy } from './open.ts';
import { FileProblem, unless } from './problem.ts';

export interface Replacement {
  readonly directory: Directory;
  readonly name: string;
  /** For messages. */
  readonly path: string;
  readonly content: Uint8Array;
  /** The file that is replaced; undefined when there is none. Its mode and owner are kept. */
  readonly existing: Stats | undefined;
  /** Called when all is ready, right before the file is replaced. Rejects to leave it alone. */
  readonly check?: (() => Promise<void>) | undefined;
  readonly signal: AbortSignal;
  readonly policy: OpenPolicy;
}

// 0o666 is narrowed by the process's umask, like any new file.
const newFileMode = 0o666;
const temporaryFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Puts `content` in the file's place: a temporary file beside it, synced, then renamed over it. A crash at any moment
 * leaves the old content or the new, never a mixture; a reader sees one or the other. A file that somebody else has changed
 * or made meanwhile is left alone.
 */
export async function replaceFile(replacement: Replacement): Promise<void> {
  const { directory, name, existing } = replacement;
  if (existing !== undefined) await access(directory.at(name), constants.W_OK);
  const temporary = `.treadle-${randomBytes(9).toString('hex')}.tmp`;
  const handle = await open(directory.at(temporary), temporaryFlags, newFileMode);
  try {
    try {
      await requireInside(handle, directory.at(temporary), replacement.path, replacement.policy);
      await fill(handle, replacement.content, existing);
    } finally {
      await handle.close();
    }
    if (replacement.signal.aborted) throw new FileProblem('aborted', `${replacement.path} was not written: aborted.`);
    await replacement.check?.();
    await requireUnchanged(replacement);
    await rename(directory.at(temporary), directory.at(name));
  } catch (error) {
    await unless(unlink(directory.at(temporary)), 'ENOENT');
    throw error;
  }
  await directory.sync();
}

async function fill(handle: FileHandle, content: Uint8Array, existing: Stats | undefined): Promise<void> {
  await handle.writeFile(content);
  if (existing !== undefined) {
    // The owner first: changing it clears set-id bits. Only root may give files away; others keep their own.
    await unless(handle.chown(existing.uid, existing.gid), 'EPERM');
    await handle.chmod(existing.mode & 0o7777);
  }
  await handle.sync();
}

/** Refuses when the file is no longer what its reader saw. */
export async function requireUnchanged(
  replacement: Pick<Replacement, 'directory' | 'name' | 'existing' | 'path'>,
): Promise<void> {
  const { directory, name, existing, path } = replacement;
  const now = await unless(lstat(directory.at(name)), 'ENOENT');
  const same =
    now?.ino === existing?.ino &&
    now?.dev === existing?.dev &&
    now?.size === existing?.size &&
    now?.mtimeMs === existing?.mtimeMs;
  if (!same)
    throw new FileProblem('changed', `${path} was changed by someone else meanwhile. Read it again, then retry.`);
}
