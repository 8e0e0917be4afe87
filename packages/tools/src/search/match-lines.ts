/** Whole lines of a file. */
export interface Piece {
  readonly text: string;
  /** The number of its first line, from 1. */
  readonly firstLine: number;
}

export interface LineMatch {
  readonly line: number;
  readonly text: string;
  /** Where in the whole line the match begins. */
  readonly at: number;
}

export interface PieceMatches {
  readonly matches: readonly LineMatch[];
  /** How many line feeds the piece has. */
  readonly lines: number;
}

/** Shown of a long line, and how much of that is before the match. */
const shownCharacters = 450;
const shownBefore = 150;

/** The lines of `piece` that `pattern` matches, at most `limit` of them. `pattern` must not be global or sticky. */
function matchLines(pattern: RegExp, piece: Piece, limit: number): PieceMatches {
  const { text } = piece;
  const matches: LineMatch[] = [];
  let lines = 0;
  for (let from = 0; from < text.length;) {
    const newline = text.indexOf('\n', from);
    const next = newline < 0 ? text.length : newline + 1;
    if (matches.length < limit) {
      const content = newline < 0 ? text.length : newline;
      const line = text.slice(from, content > from && text[content - 1] === '\r' ? content - 1 : content);
      const at = pattern.exec(line)?.index;
      if (at !== undefined) matches.push({ line: piece.firstLine + lines, ...excerpt(line, at) });
    }
    if (newline >= 0) lines += 1;
    from = next;
  }
  return { matches, lines };
}

/** The same for pieces, with at most `limit` of them in all. */
export function matchPieces(pattern: RegExp, pieces: readonly Piece[], limit: number): readonly PieceMatches[] {
  let left = limit;
  return pieces.map((piece) => {
    const found = matchLines(pattern, piece, left);
    left -= found.matches.length;
    return found;
  });
}

/** The part of a line around position `at`, marked with … where it was cut. */
export function excerpt(line: string, at: number): { readonly text: string; readonly at: number } {
  const from = at > shownCharacters - shownBefore ? at - shownBefore : 0;
  const to = from + shownCharacters;
  if (from === 0 && line.length <= to) return { text: line, at };
  return { text: `${from > 0 ? '…' : ''}${line.slice(from, to)}${line.length > to ? '…' : ''}`, at };
}
