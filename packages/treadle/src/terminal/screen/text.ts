// Rows of a terminal: how wide they are, and how text is broken into them.
import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from '@earendil-works/pi-tui/dist/utils.js';

/** Columns that a text takes on the screen. Styles take none. */
export const widthOf = (text: string): number => visibleWidth(text);

/** A tab moves the cursor over what is there: spaces take its place. */
const untabbed = (text: string): string => text.replaceAll('\t', '    ');

/** Breaks text into rows of at most so many columns. Styles go on across a break; tabs are four columns. */
export function wrap(text: string, columns: number): string[] {
  return wrapTextWithAnsi(untabbed(text), Math.max(1, columns));
}

/**
 * Breaks a text that somebody decides on: no space is dropped at a break, and no terminal needs more columns for a row. Each
 * character counts by itself, and a mark takes a column too: terminals differ in what they put together.
 */
export function wrapExactly(text: string, columns: number): string[] {
  const rows: string[] = [];
  let row = '';
  let width = 0;
  for (const character of untabbed(text)) {
    const taken = Math.max(1, widthOf(character));
    if (width + taken > columns && row !== '') {
      rows.push(row);
      [row, width] = ['', 0];
    }
    row += character;
    width += taken;
  }
  return [...rows, row];
}

/** Breaks text into rows, all but the first with so many spaces before them. */
export function wrapIndented(first: string, text: string, columns: number): string[] {
  const indent = widthOf(first);
  return wrap(text, columns - indent).map((row, index) => `${index === 0 ? first : ' '.repeat(indent)}${row}`);
}

/** The beginning of a text that fits one row; `…` says that there is more. */
export function fit(text: string, columns: number): string {
  const cut = truncateToWidth(untabbed(text), Math.max(1, columns), '…');
  // Where nothing has a style, no style needs an end.
  return text.includes('\u001b') ? cut : cut.replaceAll('\u001b[0m', '');
}
