import { commonEnds } from '../text/diff.ts';
import { commonLineEnd, unifyLineEnds } from './line-ends.ts';

export type Replaced =
  | { readonly kind: 'replaced'; readonly text: string }
  | { readonly kind: 'missing' }
  /** Lines, from 1, at which the matches begin; at most `lineLimit` of them. `count` stops at `countLimit`. */
  | { readonly kind: 'ambiguous'; readonly count: number; readonly lines: readonly number[] };

const lineLimit = 20;
/** Counting stops here: nobody needs to know how many thousand matches there are. */
const countLimit = 1000;

/**
 * Replaces the one occurrence of `oldText` in `text`. CRLF and LF count as equal when comparing; what is put in gets
 * the line ends of what it replaces (or, when that has none, of most of the file), and lines that the replacement
 * leaves alone keep theirs. Overlapping occurrences count.
 */
export function replaceOnce(text: string, oldText: string, newText: string): Replaced {
  const unified = unifyLineEnds(text);
  const old = oldText.replaceAll('\r\n', '\n');
  const found = occurrences(unified.text, old);
  const [at] = found.positions;
  if (at === undefined) return { kind: 'missing' };
  if (found.count > 1) {
    return { kind: 'ambiguous', count: found.count, lines: lineNumbers(unified.text, found.positions) };
  }
  const now = newText.replaceAll('\r\n', '\n');
  const [start, end] = commonEnds(old, now);
  const from = unified.original(at + start);
  const to = unified.original(at + old.length - end);
  const matched = text.slice(unified.original(at), unified.original(at + old.length));
  const lineEnd = commonLineEnd(matched) ?? commonLineEnd(text) ?? '\n';
  const middle = now.slice(start, now.length - end).replaceAll('\n', lineEnd);
  return { kind: 'replaced', text: text.slice(0, from) + middle + text.slice(to) };
}

function occurrences(text: string, part: string): { count: number; positions: number[] } {
  const positions: number[] = [];
  let count = 0;
  for (let at = text.indexOf(part); at >= 0 && count < countLimit; at = text.indexOf(part, at + 1)) {
    count += 1;
    if (positions.length < lineLimit) positions.push(at);
  }
  return { count, positions };
}

/** The line, from 1, of each of the ascending positions, in one pass. */
function lineNumbers(text: string, positions: readonly number[]): number[] {
  let line = 1;
  let seen = 0;
  return positions.map((position) => {
    for (let at = text.indexOf('\n', seen); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) line += 1;
    seen = position;
    return line;
  });
}
