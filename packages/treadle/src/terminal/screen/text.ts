// Rows of a terminal: how wide they are, and how text is broken into them.
import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from '@earendil-works/pi-tui/dist/utils.js';

/** Columns that a text takes on the screen. Styles take none. */
export const widthOf = (text: string): number => visibleWidth(text);

/** Breaks text into rows of at most so many columns. Styles go on across a break; tabs are four columns. */
export function wrap(text: string, columns: number): string[] {
  return wrapTextWithAnsi(text.replaceAll('\t', '    '), Math.max(1, columns));
}

/** Breaks text into rows, all but the first with so many spaces before them. */
export function wrapIndented(first: string, text: string, columns: number): string[] {
  const indent = widthOf(first);
  return wrap(text, columns - indent).map((row, index) => `${index === 0 ? first : ' '.repeat(indent)}${row}`);
}

/** The beginning of a text that fits one row; `…` says that there is more. */
export const fit = (text: string, columns: number): string => truncateToWidth(text, Math.max(1, columns), '…');
