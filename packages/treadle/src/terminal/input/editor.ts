/** Rows of the input line, and where its caret is. */
export interface EditorRows {
  readonly rows: readonly string[];
  readonly caret: { readonly row: number; readonly column: number };
}

/**
 * The input line: text with a caret, edited by keys. What it edits is plain text; pastes, completion and history are around
 * it. One implementation uses pi-tui; the contract in `editor-contract.test.ts` says what any other must do.
 */
export interface Editor {
  /** The text, with `\n` between lines. */
  readonly text: string;
  /** The text before the caret. */
  readonly before: string;
  /** Takes one key as a terminal sends it: a character, or an escape sequence. Enter is the caller's. */
  key(sequence: string): void;
  /** Inserts text at the caret; one undo takes it away. */
  insert(text: string): void;
  /** Replaces the text; the caret is at its end. */
  set(text: string): void;
  /** Takes so many characters away before the caret. */
  deleteBefore(characters: number): void;
  /** Starts another line at the caret. */
  newLine(): void;
  /** Whether the caret is in the first row, and in the last one. */
  readonly isAtTop: boolean;
  readonly isAtBottom: boolean;
  /** The text as rows of at most so many columns, at most so many rows around the caret. */
  rows(columns: number, most: number): EditorRows;
}
