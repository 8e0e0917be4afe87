import { TreadleError } from '@treadle/core';
import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The version of the layout on disk. */
const FORMAT = 1;

/**
 * Where things are: `names/` has a file per session with the id of its log, `logs/ID/` the log itself. Names of files are
 * made from ids that we make, never from a session's, which may hold anything.
 */
export interface Layout {
  readonly folder: string;
  readonly names: string;
  readonly logs: string;
}

export const layoutOf = (folder: string): Layout => ({
  folder,
  names: join(folder, 'names'),
  logs: join(folder, 'logs'),
});

/**
 * Makes the folder where it isn't there.
 *
 * @throws TreadleError `journal_too_new` when a newer version has written it; nothing is changed then.
 */
export async function openFolder({ folder, names, logs }: Layout): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'format');
  const found = await readText(path);
  if (found === null) await writeFile(path, `${FORMAT}\n`, { mode: 0o600 });
  else if (Number(found) > FORMAT) {
    const message = `The journal ${folder} was written by a newer Treadle (format ${found.trim()}, known ${FORMAT}).`;
    throw new TreadleError('journal_too_new', message);
  }
  await mkdir(names, { recursive: true, mode: 0o700 });
  await mkdir(logs, { recursive: true, mode: 0o700 });
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
  const found = await readText(nameFile(layout, sessionId));
  return found === null ? null : (JSON.parse(found) as Named).log;
}

/** Gives a log its name; false when the name is taken. All or nothing, and durable. */
export async function nameLog(layout: Layout, sessionId: string, log: string): Promise<boolean> {
  const temporary = join(layout.names, `.${randomUUID()}`);
  await writeDurably(temporary, JSON.stringify({ name: sessionId, log } satisfies Named));
  try {
    await link(temporary, nameFile(layout, sessionId));
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(temporary);
  }
  await syncFolder(layout.names);
  return true;
}

export async function unnameLog(layout: Layout, sessionId: string): Promise<void> {
  await unlink(nameFile(layout, sessionId));
  await syncFolder(layout.names);
}

/** The logs that have a name. */
export async function namedLogs({ names }: Layout): Promise<Named[]> {
  const files = (await readdir(names)).filter((name) => !name.startsWith('.'));
  const found = await Promise.all(files.map((name) => readText(join(names, name))));
  return found.flatMap((text) => (text === null ? [] : [JSON.parse(text) as Named]));
}

/** The text of a file, or null when there is none. */
export async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ENOENT') return null;
    throw error;
  }
}

/** A new file, on the disk when this resolves. */
export async function writeDurably(path: string, text: string | Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Replaces a file: readers see the old or the new one, never a part. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeDurably(temporary, text);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Makes new names in a folder durable, where the system can. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null);
  try {
    await folder?.sync();
  } catch {
    // Some systems can't sync a folder; they order its changes by themselves.
  } finally {
    await folder?.close();
  }
}
