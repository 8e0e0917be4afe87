/** How text of a kind is shown. Every function takes text that is harmless already. */
export interface Theme {
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
  readonly italic: (text: string) => string;
  readonly underline: (text: string) => string;
  /** Headings, the chosen row of a list. */
  readonly accent: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warn: (text: string) => string;
  /** Code inside a sentence. */
  readonly code: (text: string) => string;
  /** A part of code, by highlight.js's name for its kind, such as `keyword`. */
  readonly syntax: ((kind: string, text: string) => string) | null;
}

export const THEME_NAMES = ['dark', 'light', 'none'] as const;
export type ThemeName = (typeof THEME_NAMES)[number];

const paint =
  (on: number, off: number) =>
  (text: string): string =>
    text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`;

const same = (text: string): string => text;

/** Colours of the terminal's own palette, so that they fit whatever background it has. */
function coloured(accent: number, warn: number, kinds: Readonly<Record<string, number>>): Theme {
  return {
    dim: paint(2, 22),
    bold: paint(1, 22),
    italic: paint(3, 23),
    underline: paint(4, 24),
    accent: paint(accent, 39),
    good: paint(32, 39),
    bad: paint(31, 39),
    warn: paint(warn, 39),
    code: paint(accent, 39),
    syntax(kind, text) {
      const colour = kinds[kind.split('.')[0] ?? ''];
      return colour === undefined ? text : paint(colour, 39)(text);
    },
  };
}

const KINDS = { keyword: 35, built_in: 36, type: 36, literal: 35, number: 35, string: 32, regexp: 32, comment: 90 };
const MORE_KINDS = { title: 34, attr: 34, attribute: 34, section: 34, tag: 34, name: 34, meta: 90, variable: 36 };
const DIFF_KINDS = { addition: 32, deletion: 31 };
const SYNTAX = { ...KINDS, ...MORE_KINDS, ...DIFF_KINDS };

const THEMES: Readonly<Record<ThemeName, Theme>> = {
  dark: coloured(36, 33, SYNTAX),
  light: coloured(34, 35, { ...SYNTAX, built_in: 34, type: 34, variable: 34 }),
  none: {
    dim: same,
    bold: same,
    italic: same,
    underline: same,
    accent: same,
    good: same,
    bad: same,
    warn: same,
    code: same,
    syntax: null,
  },
};

export const themeNamed = (name: ThemeName): Theme => THEMES[name];

/**
 * The theme that an environment asks for: none with `NO_COLOR`; `TREADLE_THEME`; else by the background that `COLORFGBG` says.
 * Null where only the terminal knows its background.
 */
export function themeOf(env: Readonly<Record<string, string | undefined>>): ThemeName | null {
  if (env['NO_COLOR'] || env['TERM'] === 'dumb') return 'none';
  const own = env['TREADLE_THEME'];
  const named = THEME_NAMES.find((name) => name === own);
  if (named !== undefined) return named;
  const background = Number(env['COLORFGBG']?.split(';').at(-1) ?? Number.NaN);
  if (Number.isNaN(background)) return null;
  return background === 7 || background === 15 ? 'light' : 'dark';
}
