/** The command was called in a way that can't work. Says what is wrong and what to do; the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** The candidate that `word` was probably meant to be, or undefined when none is close. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(word.length / 3));
  let best: string | undefined;
  let bestDistance = most + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  // Somebody who stops in the middle of a word means the word.
  return best ?? (word.length > 1 ? candidates.find((candidate) => candidate.startsWith(word)) : undefined);
}

/** ` Did you mean X?`, or what there is. */
export function suggestion(word: string, candidates: readonly string[], prefix = ''): string {
  const best = closest(word, candidates);
  if (best !== undefined) return ` Did you mean '${prefix}${best}'?`;
  return '';
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
