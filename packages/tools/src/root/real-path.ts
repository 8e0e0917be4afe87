import { lstat, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { namesOf } from './components.ts';
import { MISSING, unless } from './problem.ts';

/** As many symbolic links as Linux itself follows in one path. */
const linkLimit = 40;

/**
 * Where a path leads when the kernel opens it in `folder`, which is a real path: names are followed one by one, so that `..`
 * leaves the folder that a link led to. A path to what isn't there yet leads to where it would be made. Rejects when that
 * can't be found out, as in a folder that may not be entered.
 */
export async function realPath(path: string, folder = '/'): Promise<string> {
  const pending = namesOf(path).toReversed();
  let at = path.startsWith('/') ? '/' : folder;
  let links = 0;
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === '..') {
      at = dirname(at);
      continue;
    }
    const next = join(at, name);
    const target = await linkTarget(next);
    if (target === undefined) {
      at = next;
      continue;
    }
    links += 1;
    if (links > linkLimit) throw new Error(`${path} goes through too many symbolic links`);
    if (target.startsWith('/')) at = '/';
    pending.push(...namesOf(target).toReversed());
  }
  return spelled(at);
}

/** The path as the file system spells it: where upper and lower case are one, a name may be written in many ways. */
async function spelled(path: string): Promise<string> {
  const rest: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    const real = at === '/' ? at : await unless(realpath(at), ...MISSING);
    if (real !== undefined) return join(real, ...rest);
    rest.unshift(basename(at));
  }
}

/** Undefined when there is no link: something else, or nothing. */
async function linkTarget(path: string): Promise<string | undefined> {
  const stats = await unless(lstat(path), ...MISSING);
  return stats?.isSymbolicLink() === true ? unless(readlink(path), ...MISSING) : undefined;
}
