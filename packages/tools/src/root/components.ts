import { FileProblem } from './problem.ts';

const loneSurrogate = /\p{Surrogate}/u;

/**
 * The names on the way from a root to `input`: none for the root itself, never `.`, `..` or an empty name. Absolute
 * paths must begin with one of `roots` (the root as given and its real path). Purely lexical: what the names lead to
 * is for `locate` to find out. Throws a `FileProblem` that says what to write instead.
 */
export function componentsOf(input: string, roots: readonly string[]): string[] {
  const shown = JSON.stringify(input);
  if (input === '') throw new FileProblem('bad_path', 'The path is empty. Give a path relative to the root folder.');
  if (input.includes('\0')) throw new FileProblem('bad_path', `The path ${shown} contains a NUL character.`);
  if (loneSurrogate.test(input)) throw new FileProblem('bad_path', `The path ${shown} is not valid Unicode.`);
  if (input.startsWith('~')) {
    throw new FileProblem(
      'outside_root',
      `The path ${shown} starts with "~", which is not expanded here. Give a path relative to the root folder ` +
        '(write ./~name for a file whose name starts with ~).',
    );
  }
  const names = namesOf(input.startsWith('/') ? belowRoot(input, roots) : input);
  if (names.includes('..')) {
    throw new FileProblem(
      'outside_root',
      `The path ${shown} contains "..". Give a path relative to the root folder, without "..".`,
    );
  }
  return names;
}

/** The names of a path, with `.` and empty ones dropped. */
export const namesOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

/** What follows the root in an absolute path, or undefined when none of `roots` is its beginning. */
export function relativeToRoots(absolute: string, roots: readonly string[]): string | undefined {
  for (const root of roots) {
    const prefix = root === '/' ? '/' : `${root}/`;
    if (absolute === root) return '';
    if (absolute.startsWith(prefix)) return absolute.slice(prefix.length);
  }
  return undefined;
}

function belowRoot(absolute: string, roots: readonly string[]): string {
  const relative = relativeToRoots(absolute, roots);
  if (relative !== undefined) return relative;
  throw new FileProblem(
    'outside_root',
    `The path ${JSON.stringify(absolute)} is outside the root folder. Give a path relative to the root folder.`,
  );
}
