import { constants } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { relativeToRoots } from '../root/components.ts';

/**
 * The absolute path of the program `name` on `searchPath` (a `PATH`). Relative entries, and programs that lie inside
 * `root`, are passed over: a folder that is being worked on must not decide which program runs.
 */
export async function findExecutable(
  name: string,
  searchPath: string | undefined,
  root: string,
): Promise<string | undefined> {
  for (const folder of (searchPath ?? '').split(':')) {
    if (!isAbsolute(folder)) continue;
    const candidate = join(folder, name);
    try {
      await access(candidate, constants.X_OK);
      const [real, stats] = await Promise.all([realpath(candidate), stat(candidate)]);
      if (
        stats.isFile() &&
        relativeToRoots(candidate, [root]) === undefined &&
        relativeToRoots(real, [root]) === undefined
      ) {
        return candidate;
      }
    } catch {
      // Not here; the next folder may have it.
    }
  }
  return undefined;
}
