/** A text with every CRLF as LF, and the way back to positions in the original. */
export interface Unified {
  readonly text: string;
  /** The position in the original of `position` in `text`. */
  original(position: number): number;
}

/** Replaces CRLF by LF. Lone carriage returns stay: they are content. */
export function unifyLineEnds(original: string): Unified {
  if (!original.includes('\r\n')) return { text: original, original: (position) => position };
  // Positions, in the unified text, of the line feeds that were two characters; ascending.
  const shrunk: number[] = [];
  for (let at = original.indexOf('\r\n'); at >= 0; at = original.indexOf('\r\n', at + 2))
    shrunk.push(at - shrunk.length);
  return {
    text: original.replaceAll('\r\n', '\n'),
    original: (position) => position + countBelow(shrunk, position),
  };
}

/** How many of the ascending `numbers` are below `bound`. */
function countBelow(numbers: readonly number[], bound: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? Number.POSITIVE_INFINITY) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The line end that most lines of `text` have; undefined when it has none. On a tie, LF. */
export function commonLineEnd(text: string): '\n' | '\r\n' | undefined {
  let both = 0;
  let all = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    all += 1;
    if (text[at - 1] === '\r') both += 1;
  }
  if (all === 0) return undefined;
  return both * 2 > all ? '\r\n' : '\n';
}
