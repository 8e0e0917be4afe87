/** An entry that `list_files` printed. */
export interface Entry {
  readonly path: string;
  readonly bytes: number;
}

const NUMBERS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** A number in digits or as a word; one where there is none. */
export function numberOf(word: string | undefined): number {
  if (word === undefined) return 1;
  const named = NUMBERS.indexOf(word.toLowerCase());
  return Math.max(1, named >= 0 ? named : Number(word));
}

/** The number of lines that `read_file` printed: its first line is `path: 1200 lines, …`. */
export function lengthOf(page: string): string {
  const [, more = '', lines] = /: (more than )?(\d+) lines?\b/.exec(page) ?? [];
  return lines === undefined ? 'not a text file' : `${more}${counted(Number(lines), 'line')}`;
}

/** What `list_files` printed: its entries, and how many there are with those it didn't show. */
export function listingOf(text: string): { readonly entries: readonly Entry[]; readonly total: number } {
  const entries = [...text.matchAll(/^ *(\d+|-) {2}(.+)$/gm)].map(([, bytes = '', path = '']) => ({
    path,
    bytes: bytes === '-' ? 0 : Number(bytes),
  }));
  const total = /^\[\d+ of (\d+) entries shown/m.exec(text)?.[1];
  return { entries, total: total === undefined ? entries.length : Number(total) };
}

export const placeOf = (folder: string): string => (folder === '.' ? 'this folder' : folder);
/** The place at the beginning of a sentence: a path stays as it is. */
export const capitalised = (place: string): string => place.replace(/^this/, 'This');
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;

const SHOWN = 40;

/** A list, one item a line; `total` when there are more items than these. */
export function bullets(items: readonly string[], total = items.length): string {
  const lines = items.slice(0, SHOWN).map((item) => `- ${item}`);
  if (total > lines.length) lines.push(`- and ${total - lines.length} more`);
  return lines.join('\n');
}
