/**
 * Whether a path matches a pattern of rules. Both are absolute, with `/`. In a pattern `*` stands for any characters of
 * one name, `?` for one, and `**` as a whole name for any number of names, none included.
 *
 * The time is at most the product of both lengths, whatever the pattern: no expressions are built, and a star is never
 * gone back to once there is a later one.
 */
export function matchesPath(pattern: string, path: string): boolean {
  return matchesSegments(namesOf(pattern), namesOf(path));
}

/** Whether a path, or one of the folders it is in, matches a pattern. */
export function matchesPathOrParent(pattern: string, path: string): boolean {
  const names = namesOf(pattern);
  return (
    matchesSegments(names, namesOf(path)) || (names.at(-1) !== '**' && matchesSegments([...names, '**'], namesOf(path)))
  );
}

/** Whether something below a folder could match a pattern. Says yes when it isn't sure. */
export function mayMatchBelow(pattern: string, folder: string): boolean {
  const patternNames = namesOf(pattern);
  const folderNames = namesOf(folder);
  for (const [index, name] of folderNames.entries()) {
    const wanted = patternNames[index];
    if (wanted === undefined) return true;
    if (wanted === '**') return true;
    if (!matchesName(wanted, name)) return false;
  }
  return true;
}

/** Whether a pattern matches a folder with everything that is, or ever will be, below it. */
export function coversTree(pattern: string, folder: string): boolean {
  const names = namesOf(pattern);
  return names.at(-1) === '**' && matchesSegments(names, namesOf(folder));
}

/** A pattern or path made absolute: relative ones begin in `folder`. */
export const absolutePattern = (pattern: string, folder: string): string =>
  pattern.startsWith('/') ? pattern : `${folder}/${pattern}`;

/** Whether a path is a folder, or is in it. */
export function isInside(path: string, folder: string): boolean {
  const root = folder.endsWith('/') ? folder : `${folder}/`;
  return path === folder || (path.startsWith(root) && !namesOf(path).includes('..'));
}

export const namesOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

/** Whether items match a pattern in which `many` stands for any number of them; at most the one length times the other. */
function matches(
  pattern: ArrayLike<string>,
  items: ArrayLike<string>,
  many: string,
  matchesOne: (wanted: string, item: string) => boolean,
): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let resume = 0;
  while (from < items.length) {
    const wanted = pattern[at];
    if (wanted === many) {
      star = at++;
      resume = from;
    } else if (wanted !== undefined && matchesOne(wanted, items[from] ?? '')) {
      at += 1;
      from += 1;
    } else if (star !== -1) {
      at = star + 1;
      from = ++resume;
    } else return false;
  }
  while (pattern[at] === many) at += 1;
  return at === pattern.length;
}

const matchesSegments = (pattern: readonly string[], path: readonly string[]): boolean =>
  matches(pattern, path, '**', matchesName);

/** Whether one name matches a pattern of `*` and `?`. */
const matchesName = (pattern: string, name: string): boolean =>
  matches(pattern, name, '*', (wanted, item) => wanted === '?' || wanted === item);
