import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoOf } from './problem.ts';

/** As many symbolic links as Linux itself follows in one path. */
const linkLimit = 40;

/**
 * Where an absolute path really leads: with symbolic links followed as far as there is something to follow, also to what
 * isn't there yet, and the rest as it is written. Rejects when that can't be found out, as in a folder that may not be
 * entered.
 */
export function realPath(path: string): Promise<string> {
  return follow(path, linkLimit);
}

async function follow(path: string, links: number): Promise<string> {
  if (links === 0) throw new Error(`${path} goes through too many symbolic links`);
  const rest: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(await realpath(at), ...rest);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') throw error;
    }
    // A link to what isn't there: whatever is made under its name is made at its target.
    const target = await readlink(at).catch(() => undefined);
    if (target !== undefined) {
      return join(await follow(resolve(await realpath(dirname(at)), target), links - 1), ...rest);
    }
    if (at === dirname(at)) return path;
    rest.unshift(basename(at));
  }
}
