import { TreadleError, type JsonObject } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';
import { createHash, randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { codeOf, unless } from '../errors.ts';
import type { JournalFile, JournalFileSystem } from './file-system.ts';

/** The version of the layout on disk. */
const FORMAT = 1;

/**
 * Where things are: `names/` has a file per session with the id of its log, `logs/ID/` the log itself. Names of files are
 * made from ids that we make, never from a session's, which may hold anything.
 */
export interface Layout {
  readonly fs: JournalFileSystem;
  readonly folder: string;
  readonly names: string;
  readonly logs: string;
  /** A file per session that wants to be driven at some time: see `wakes.ts`. */
  readonly wakes: string;
}

export const layoutOf = (folder: string, fs: JournalFileSystem): Layout => ({
  fs,
  folder,
  names: join(folder, 'names'),
  logs: join(folder, 'logs'),
  wakes: join(folder, 'wakes'),
});

/**
 * Makes the folder where it isn't there.
 *
 * @throws TreadleError `journal_too_new` when a newer version has written it; nothing is changed then.
 */
export async function openFolder({ fs, folder, names, logs, wakes }: Layout): Promise<void> {
  const made = await fs.mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'format');
  const found = await readText(fs, path);
  if (found === null) await replaceFile(fs, path, `${FORMAT}\n`);
  else if (Number(found) > FORMAT) {
    const message = `The journal ${folder} was written by a newer Treadle (format ${found.trim()}, known ${FORMAT}).`;
    throw new TreadleError('journal_too_new', message);
  }
  const isNew = [
    await fs.mkdir(names, { recursive: true, mode: 0o700 }),
    await fs.mkdir(logs, { recursive: true, mode: 0o700 }),
    await fs.mkdir(wakes, { recursive: true, mode: 0o700 }),
    await fs.mkdir(join(folder, 'members'), { recursive: true, mode: 0o700 }),
  ].some((first) => first !== undefined);
  if (isNew || found === null) await syncFolder(fs, folder);
  // A folder that a power failure takes away takes everything in it.
  if (made === undefined) return;
  for (let above = dirname(folder); above.length >= dirname(made).length; above = dirname(above)) {
    await syncFolder(fs, above);
    if (above === dirname(above)) return;
  }
}

const nameFile = ({ names }: Layout, sessionId: string): string =>
  join(names, createHash('sha256').update(sessionId).digest('hex'));

/** A session's name and the id of its log. */
interface Named {
  readonly name: string;
  readonly log: string;
}

/** The id of a session's log, or null. */
export async function findLog(layout: Layout, sessionId: string): Promise<string | null> {
  const path = nameFile(layout, sessionId);
  const found = await readText(layout.fs, path);
  return found === null ? null : namedIn(path, found).log;
}

function namedIn(path: string, text: string): Named {
  const { name, log } = parsedFile(path, text);
  if (typeof name === 'string' && typeof log === 'string') return { name, log };
  throw damagedFile(path);
}

/**
 * What a small file of the journal's own says.
 *
 * @throws TreadleError `journal_corrupt` when it is no JSON object.
 */
export function parsedFile(path: string, text: string): JsonObject {
  try {
    const value = parseJson(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw damagedFile(path, error);
  }
  throw damagedFile(path);
}

const damagedFile = (path: string, cause?: unknown): TreadleError =>
  new TreadleError('journal_corrupt', `The file ${path} isn't what was written. Restore it from a copy.`, {
    cause,
    details: { path },
  });

/** Gives a log its name; false when the name is taken. All or nothing, and durable. */
export async function nameLog(layout: Layout, sessionId: string, log: string): Promise<boolean> {
  const { fs } = layout;
  const temporary = join(layout.names, `.${randomUUID()}`);
  await writeDurably(fs, temporary, JSON.stringify({ name: sessionId, log } satisfies Named));
  try {
    if ((await unless(fs.link(temporary, nameFile(layout, sessionId)), 'EEXIST')) === null) return false;
  } finally {
    // Nobody reads it; one that can't be taken away is in nobody's way.
    await fs.unlink(temporary).catch(() => {});
  }
  await syncFolder(fs, layout.names);
  return true;
}

export async function unnameLog(layout: Layout, sessionId: string): Promise<void> {
  await layout.fs.unlink(nameFile(layout, sessionId));
  await syncFolder(layout.fs, layout.names);
}

/** A log with its name, or the file of a name that can't be read. */
export type NamedLog = Named | { readonly file: string; readonly damage: TreadleError };

/** The logs that have a name. */
export async function namedLogs({ fs, names }: Layout): Promise<NamedLog[]> {
  const files = (await fs.readdir(names)).filter((name) => !name.startsWith('.'));
  const found = await Promise.all(
    files.map(async (file): Promise<NamedLog | null> => {
      const path = join(names, file);
      const text = await readText(fs, path);
      try {
        return text === null ? null : namedIn(path, text);
      } catch (error) {
        return { file, damage: damageOf(error) };
      }
    }),
  );
  return found.filter((log) => log !== null);
}

/** The damage that an error tells of; any other error is thrown again. */
export function damageOf(error: unknown): TreadleError {
  if (error instanceof TreadleError && error.code === 'journal_corrupt') return error;
  throw error;
}

/** The text of a file, or null when there is none. */
export const readText = (fs: JournalFileSystem, path: string): Promise<string | null> =>
  unless(fs.readFile(path, 'utf8'), 'ENOENT');

/** A new file, on the disk when this resolves. */
export async function writeDurably(fs: JournalFileSystem, path: string, text: string | Uint8Array): Promise<void> {
  const file = await fs.open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Replaces a file: readers see the old or the new one, never a part. Which of them, after a power failure, is open. */
export async function replaceFile(fs: JournalFileSystem, path: string, text: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeDurably(fs, temporary, text);
    await fs.rename(temporary, path);
  } catch (error) {
    await fs.rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/** Makes new names in a folder durable, where the system can. */
export async function syncFolder(fs: JournalFileSystem, path: string): Promise<void> {
  let folder: JournalFile | null = null;
  try {
    folder = await fs.open(path, 'r');
    await folder.sync();
  } catch (error) {
    // Some systems can't open or sync a folder; they order its changes by themselves.
    if (!UNSUPPORTED.has(codeOf(error))) throw error;
  } finally {
    await folder?.close();
  }
}

const UNSUPPORTED: ReadonlySet<unknown> = new Set(['EISDIR', 'EINVAL', 'EPERM', 'ENOTSUP', 'ENOSYS']);
