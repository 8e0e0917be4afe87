import type { ScreenOutput } from '../screen/screen.ts';

/** The terminal that a session is shown in. A test may be one. */
export interface TerminalDevice extends ScreenOutput {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Begins to read keys, one by one; returns a function that ends it and leaves the terminal as it was. */
  readKeys(take: (bytes: Uint8Array) => void): () => void;
  /** Calls `changed` when the size is another. Returns a function that ends it. */
  onResize(changed: () => void): () => void;
  /** Asks for the size now, and calls those of `onResize` where it is another. Absent where it is always known. */
  measure?(): void;
  /** Stops the process until the shell lets it go on; `back` is called then. */
  suspend(back: () => void): void;
  now(): number;
  /** Calls `fn` after so many milliseconds; returns a function that cancels it. */
  after(ms: number, fn: () => void): () => void;
}

/** Modes that are on while keys are read: pastes are marked. */
export const MODES_ON = '\u001b[?2004h';
/** All that may be on, off: also after a crash in the pager. */
export const MODES_OFF = '\u001b[?2004l\u001b[?25h';
/** Asks whether the terminal takes whole frames. */
export const ASK_FRAMES = '\u001b[?2026$p';
/** Asks for the keyboard protocol of Kitty. */
export const ASK_KEYS = '\u001b[?u';
/** Asks for the colour of the background. */
export const ASK_BACKGROUND = '\u001b]11;?\u0007';
