import { cutLine, safeLine } from './safe-text.ts';

const contextLines = 3;
const mostLines = 200;
const longestLine = 500;

/** The change of a text, as a unified diff. */
export interface LineChange {
  /** The first line that differs, from 1, in the new text. */
  readonly firstChangedLine: number;
  readonly addedLines: number;
  readonly removedLines: number;
  /** A unified diff with one hunk and three lines of context; empty when nothing differs. */
  readonly diff: string;
}

/**
 * The one region in which `before` and `after` differ, as a unified diff. Line ends do not count as content.
 *
 * @param whole true leaves every line as it is; else control characters are shown as pictures, and a long diff is cut
 */
export function describeChange(path: string, before: string, after: string, whole = false): LineChange {
  const old = splitLines(before);
  const now = splitLines(after);
  const [start, end] = commonEnds(old, now);
  const removed = old.slice(start, old.length - end);
  const added = now.slice(start, now.length - end);
  const change = { firstChangedLine: start + 1, addedLines: added.length, removedLines: removed.length };
  if (removed.length === 0 && added.length === 0) return { ...change, firstChangedLine: Math.max(1, start), diff: '' };

  const from = Math.max(0, start - contextLines);
  const above = now.slice(from, start);
  const below = now.slice(now.length - end, now.length - end + contextLines);
  const line = whole ? (text: string): string => text : (text: string): string => cutLine(safeLine(text), longestLine);
  const marked = (lines: readonly string[], mark: string): string[] => lines.map((text) => mark + line(text));
  const body = [...marked(above, ' '), ...marked(removed, '-'), ...marked(added, '+'), ...marked(below, ' ')];
  const context = above.length + below.length;
  const range = (count: number): string => `${count === 0 ? from : from + 1},${count}`;
  const hunk = `@@ -${range(removed.length + context)} +${range(added.length + context)} @@`;
  return { ...change, diff: [`--- ${path}`, `+++ ${path}`, hunk, ...(whole ? body : shortened(body))].join('\n') };
}

/** How much two texts or lists share at their beginning and, without overlapping, at their end. */
export function commonEnds(old: ArrayLike<string>, now: ArrayLike<string>): readonly [number, number] {
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  return [start, end];
}

function splitLines(text: string): string[] {
  const lines = text.split(/\r\n|\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function shortened(lines: readonly string[]): readonly string[] {
  if (lines.length <= mostLines) return lines;
  const half = mostLines / 2;
  return [...lines.slice(0, half), `… ${lines.length - mostLines} lines of the diff left out …`, ...lines.slice(-half)];
}
