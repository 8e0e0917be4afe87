/**
 * The candidate that a name was probably meant to be; undefined when none is close.
 *
 * @example
 * ```ts
 * import { closestName } from '@treadle/core/names';
 *
 * console.log(closestName('sesions', ['run', 'sessions'])); // sessions
 * ```
 */
export function closestName(name: string, candidates: Iterable<string>): string | undefined {
  const all = [...candidates];
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of all) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  // Somebody who stops in the middle of a word means the word.
  return best ?? (name.length > 1 ? all.find((candidate) => candidate.startsWith(name)) : undefined);
}

/** ` Did you mean "X"?`, or what there is. For the end of an error's message. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const all = [...candidates];
  const best = closestName(name, all);
  if (best !== undefined) return ` Did you mean ${JSON.stringify(best)}?`;
  return all.length === 0 ? '' : ` There are: ${all.join(', ')}.`;
}

/** Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (last[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const swapped =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
          ? (beforeLast[column - 2] ?? 0) + 1
          : Number.POSITIVE_INFINITY;
      current.push(Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, replaced, swapped));
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
