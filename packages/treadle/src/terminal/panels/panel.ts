import type { Theme } from '../screen/theme.ts';

/** A key that was pressed. */
export interface Key {
  /** Such as `escape`, `ctrl+c` or `a`; empty for what has no name. */
  readonly name: string;
  readonly sequence: string;
}

/** Something above the input line that takes keys first: a menu, a list, a question. */
export interface Panel {
  rows(columns: number, most: number, theme: Theme): readonly string[];
  /** True when the key was for the panel; else the input line gets it. */
  key(key: Key): boolean;
  /** What stands before the input line; `> ` where the panel doesn't say. */
  readonly label?: string;
  /** What is typed is not shown, and not kept. */
  readonly isSecret?: boolean;
  /** Takes the line that was entered; without it Enter is the panel's own. */
  submit?(text: string): void;
  /** Ctrl+C and Esc: false when it can't be closed. */
  close(): boolean;
}
