/** A line that `search` found. */
export interface Match {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export interface Matches {
  readonly matches: readonly Match[];
  /** What the tool says about the rest: more matches, skipped files. */
  readonly notes: readonly string[];
  /** There are more matches than are listed. */
  readonly cut: boolean;
}

const MATCH = /^(.+?):(\d+): ?(.*)$/;
const NOTE = /^\[(.+)\]$/;

/** Reads the lines `path:line: text` that `search` printed. */
export function parseMatches(text: string): Matches {
  const matches: Match[] = [];
  const notes: string[] = [];
  for (const line of text.split('\n')) {
    const note = NOTE.exec(line)?.[1];
    const [, path, number, content] = MATCH.exec(line) ?? [];
    if (note !== undefined) notes.push(note);
    else if (path !== undefined && content !== undefined) matches.push({ path, line: Number(number), text: content });
  }
  return { matches, notes, cut: notes.some((note) => /\b(?:more|limit|shown|stopped|first \d+)\b/i.test(note)) };
}

/** A regular expression that matches exactly `text`. */
export function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
