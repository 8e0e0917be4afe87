/** Text that arrives in pieces. */
export interface TextRun {
  /** Adds a piece and returns what may be shown now. */
  add(piece: string): string;
  /** What was held back, when nothing follows. */
  rest(): string;
  /** All of it. */
  whole(): string;
}

/**
 * Collects pieces of text so that no piece it hands out has half a surrogate pair: a half at the end of a piece is
 * held back until the other half comes, and a half that stays alone becomes U+FFFD.
 */
export function createTextRun(): TextRun {
  let text = '';
  let held = '';
  return {
    add(piece) {
      let shown = held + piece;
      held = '';
      const last = shown.charCodeAt(shown.length - 1);
      if (last >= 0xd800 && last <= 0xdbff) {
        held = shown.slice(-1);
        shown = shown.slice(0, -1);
      }
      shown = shown.toWellFormed();
      text += shown;
      return shown;
    },
    rest() {
      if (held === '') return '';
      held = '';
      text += '\uFFFD';
      return '\uFFFD';
    },
    whole: () => text,
  };
}
