import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FileProblem, unless } from '../root/problem.ts';

/** Where bubblewrap finds the lock that it holds, and keeps from the command. */
export const lockDescriptor = 9;

/** A name that stays as it is while a command runs. */
export interface Protection {
  readonly path: string;
  /**
   * True when there is nothing under the name, or nothing but what another sandbox put there. An empty folder then holds
   * the place while the command runs: what doesn't exist can't be mounted over. Git doesn't show empty folders.
   */
  readonly needsPlaceholder: boolean;
}

/** @throws FileProblem when a name is a symbolic link, which can't be held in its place. */
export async function protectionsOf(root: string, names: readonly string[]): Promise<Protection[]> {
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(root, name);
      const stats = await unless(lstat(path), 'ENOENT');
      if (stats === undefined) return { path, needsPlaceholder: true };
      // Another sandbox may have ended meanwhile, and taken its folder away.
      if (stats.isDirectory()) return { path, needsPlaceholder: !(await unless(readdir(path), 'ENOENT'))?.length };
      if (stats.isFile()) return { path, needsPlaceholder: false };
      // Many have their folders of other programs as links. No command could run beside them.
      if (OFTEN_LINKS.has(name)) return null;
      throw new FileProblem(
        'sandbox',
        `${name} is a symbolic link or a special file, which the sandbox can not keep in its place. ` +
          'Ask the user to put a file or a folder there.',
      );
    }),
  );
  return found.filter((protection) => protection !== null);
}

const OFTEN_LINKS: ReadonlySet<string> = new Set(['.claude', '.agents']);

/**
 * Locks the folder for as long as the sandbox is there, makes what is missing, then becomes the command. Placeholders are told
 * from what others made by the time of their last change: nothing else is from 1970.
 */
const make = `
exec ${lockDescriptor}< "$1" && "$2" --shared ${lockDescriptor} || exit 125
count=$3; shift 3
while [ "$count" -gt 0 ]; do
  mkdir -- "$1" 2>/dev/null && touch -d @0 -- "$1"
  shift; count=$((count - 1))
done
exec "$@"`;

/** A folder that is gone meanwhile has none. `flock` is not given its path: it would make a file of that name. */
const clear = `
{ command exec ${lockDescriptor}< "$1"; } 2>/dev/null || exit 0
"$2" --exclusive --nonblock ${lockDescriptor} || exit 1
shift 2
for path do
  [ "$(stat -c %Y -- "$path" 2>/dev/null)" != 0 ] || rmdir -- "$path" 2>/dev/null
done
exit 0`;

/**
 * A command line that makes the placeholders, then runs `command`. Both happen under a shared lock on the working folder,
 * which every sandbox that has placeholders there holds: taking away one that is mounted in another sandbox would uncover
 * the name there.
 */
export function withPlaceholders(
  flock: string,
  root: string,
  placeholders: readonly Protection[],
  command: readonly string[],
): string[] {
  const names = placeholders.map(({ path }) => path);
  return ['/bin/sh', '-c', make, 'sh', root, flock, String(names.length), ...names, ...command];
}

/** A command line that takes the placeholders away unless another sandbox needs them; that one then does it. */
export const clearingPlaceholders = (flock: string, root: string, placeholders: readonly Protection[]): string[] => [
  '/bin/sh',
  '-c',
  clear,
  'sh',
  root,
  flock,
  ...placeholders.map(({ path }) => path),
];
