import { readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';

/** Bytes of a file that a client is shown. */
export const MOST_SHOWN = 1_000_000;

/** @throws TypeError for bytes that are no text. */
export const shownText = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

/** What a file of a folder holds now; null for one that isn't there, undefined for what can't be shown. */
export async function textOf(folder: string, path: unknown): Promise<string | null | undefined> {
  if (typeof path !== 'string') return undefined;
  try {
    const file = await realpath(resolve(folder, path));
    const inside = relative(folder, file);
    if (inside.startsWith('..') || isAbsolute(inside)) return undefined;
    const found = await stat(file);
    if (!found.isFile() || found.size > MOST_SHOWN) return undefined;
    return shownText(await readFile(file));
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? null : undefined;
  }
}
