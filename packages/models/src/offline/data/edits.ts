/** A piece of a text to be put in place of another. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly to: string;
}

/** One call of an edit tool that wants its old text to occur exactly once. */
export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
}

/** Where `from` occurs, without overlaps; `wholeWord` leaves out those inside a longer word. */
export function occurrencesOf(text: string, from: string, wholeWord: boolean): readonly number[] {
  const found: number[] = [];
  if (from === '') return found;
  const inWord = /[\p{L}\p{N}_$]/u;
  for (let at = text.indexOf(from); at >= 0; at = text.indexOf(from, at + from.length)) {
    const inside = inWord.test(text.charAt(at - 1)) || inWord.test(text.charAt(at + from.length));
    if (!wholeWord || !inside) found.push(at);
  }
  return found;
}

/** The text with all replacements made. They are in order and don't overlap. */
export function replaceAt(text: string, replacements: readonly Replacement[]): string {
  let result = '';
  let at = 0;
  for (const { start, end, to } of replacements) {
    result += text.slice(at, start) + to;
    at = end;
  }
  return result + text.slice(at);
}

/**
 * The edits that make these replacements, in order: each one's old text occurs once in the text as it then is. What is on
 * neighbouring lines goes together, and never more than `most` edits are made.
 */
export function editsFor(text: string, replacements: readonly Replacement[], most = 12): readonly TextEdit[] {
  const groups = grouped(text, replacements, most);
  const edits: TextEdit[] = [];
  let current = text;
  let shift = 0;
  for (const group of groups) {
    const moved = group.map(({ start, end, to }) => ({ start: start + shift, end: end + shift, to }));
    const span = uniqueSpan(current, moved);
    const oldText = current.slice(span.start, span.end);
    const inside = moved.map(({ start, end, to }) => ({ start: start - span.start, end: end - span.start, to }));
    const newText = replaceAt(oldText, inside);
    edits.push({ oldText, newText });
    current = current.slice(0, span.start) + newText + current.slice(span.end);
    shift += newText.length - oldText.length;
  }
  return edits;
}

function grouped(
  text: string,
  replacements: readonly Replacement[],
  most: number,
): readonly (readonly Replacement[])[] {
  const groups: Replacement[][] = [];
  for (const replacement of replacements) {
    const before = groups.at(-1)?.at(-1);
    const together = before !== undefined && !text.slice(before.end, replacement.start).includes('\n');
    if (together) groups.at(-1)?.push(replacement);
    else groups.push([replacement]);
  }
  if (groups.length <= most) return groups;
  const size = Math.ceil(groups.length / most);
  return Array.from({ length: Math.ceil(groups.length / size) }, (_, i) =>
    groups.slice(i * size, (i + 1) * size).flat(),
  );
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The smallest of: the words alone, their lines, their lines with more and more lines around them. */
function uniqueSpan(text: string, group: readonly Replacement[]): Span {
  const exact = { start: group[0]?.start ?? 0, end: group.at(-1)?.end ?? 0 };
  if (exact.end > exact.start && isUnique(text, exact)) return exact;
  let span = wholeLines(text, exact);
  for (let more = 1; !isUnique(text, span) && (span.start > 0 || span.end < text.length); more *= 2) {
    for (let i = 0; i < more; i += 1) {
      span = wholeLines(text, { start: Math.max(0, span.start - 1), end: Math.min(text.length, span.end + 1) });
    }
  }
  return span;
}

function wholeLines(text: string, span: Span): Span {
  const start = span.start === 0 ? 0 : text.lastIndexOf('\n', span.start - 1) + 1;
  const end = text.indexOf('\n', span.end);
  return { start, end: end < 0 ? text.length : end };
}

/** Occurs once, overlaps counted, and isn't nothing. */
function isUnique(text: string, span: Span): boolean {
  const part = text.slice(span.start, span.end);
  return part !== '' && text.indexOf(part) === span.start && text.indexOf(part, span.start + 1) < 0;
}
