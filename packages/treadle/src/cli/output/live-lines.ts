/** Lines of one update that are shown at most: the latest. */
const MOST = 5;

/** What is new in the output of a running call. */
export interface NewLines {
  readonly lines: readonly string[];
  /** How many new ones before these are left out. */
  readonly skipped: number;
}

/**
 * The lines that are new in the latest output of a running call. Each update has the end of all that was written, so
 * the new one begins somewhere in the one before.
 *
 * @param before the text of the update before; empty for the first
 */
export function newLines(before: string, now: string): NewLines {
  const old = wholeLines(before);
  const all = wholeLines(now);
  const shared = overlap(old, all);
  const fresh = shared === 0 ? others(old, all) : all.slice(shared);
  return { lines: fresh.slice(-MOST), skipped: Math.max(0, fresh.length - MOST) };
}

/** A line without an end will be longer in the next update. */
const wholeLines = (text: string): readonly string[] =>
  text
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.trim() !== '');

/** How many lines at the end of `old` are those at the beginning of `all`. */
function overlap(old: readonly string[], all: readonly string[]): number {
  for (let count = Math.min(old.length, all.length); count > 0; count -= 1) {
    if (old.slice(-count).every((line, index) => line === all[index])) return count;
  }
  return 0;
}

/** Two streams that both went on share no such place: there, lines are new that were not there before. */
function others(old: readonly string[], all: readonly string[]): readonly string[] {
  const known = new Set(old);
  return all.filter((line) => !known.has(line));
}
