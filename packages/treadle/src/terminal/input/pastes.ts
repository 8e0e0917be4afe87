import { plainText } from '../../cli/asking/plain-text.ts';
import { counted } from '../../cli/output/figures.ts';

/** Pastes larger than this are shown as a marker. */
const LINES_SHOWN = 8;
const CHARACTERS_SHOWN = 800;

/** Pasted texts, by the markers that stand for them in the input line. */
export interface Pastes {
  /** What to insert for a pasted text: itself, or a marker. */
  add(text: string): string;
  /** The text with what its markers stand for. */
  expand(text: string): string;
  /** The marker that a text ends with. */
  endingIn(text: string): string | null;
  /** Those that a text has markers of, to be kept with it. */
  of(text: string): Readonly<Record<string, string>>;
  restore(kept: Readonly<Record<string, string>>): void;
}

/** A text without what a terminal would obey; line ends and tabs stay. */
const harmless = (text: string): string => plainText(text.replaceAll(/\r\n?/g, '\n')).toWellFormed();

export function createPastes(): Pastes {
  const texts = new Map<string, string>();
  return {
    add(pasted) {
      const text = harmless(pasted);
      const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
      // The input line has no tabs.
      if (lines <= LINES_SHOWN && text.length <= CHARACTERS_SHOWN && !text.includes('\t')) return text;
      const size = lines > 1 ? counted(lines, 'line') : counted(text.length, 'character');
      const marker = `[paste #${texts.size + 1} · ${size}]`;
      texts.set(marker, text);
      return marker;
    },
    expand: (text) => [...texts].reduce((all, [marker, whole]) => all.replaceAll(marker, () => whole), text),
    endingIn: (text) => [...texts.keys()].find((marker) => text.endsWith(marker)) ?? null,
    of: (text) => Object.fromEntries([...texts].filter(([marker]) => text.includes(marker))),
    restore(kept) {
      for (const [marker, text] of Object.entries(kept)) texts.set(marker, text);
    },
  };
}
