/**
 * Text from a model, a tool or a file as it may go to a terminal: line breaks and tabs stay, and every character that a
 * terminal would obey or not show is written as an escape, such as `\u{202e}`. Joiners and variation selectors stay where
 * ordinary writing has them: in emoji, and between letters of scripts that join.
 *
 * @param before the end of what was printed before, for a text that comes in pieces
 */
export function plainText(text: string, before = ''): string {
  const context = lastCharacter(before);
  const escaped = (found: string, at: number): string => {
    if (at < context.length) return found;
    return found === '\r\n' ? '\n' : escapeOf(found);
  };
  return (context + text).replace(HIDDEN, escaped).slice(context.length);
}

/** The same on one line of at most `length` characters; `…` at its end says that there is more. */
export function plainLine(text: string, length = Number.POSITIVE_INFINITY): string {
  // Cut first, so that a long text isn't worked through for its beginning.
  const source = text.slice(0, length * 4 + 64);
  const line = plainText(source.toWellFormed()).replace(/\s+/g, ' ').trim();
  const characters = [...line];
  if (characters.length <= length && source.length === text.length) return line;
  return `${characters.slice(0, length - 1).join('')}…`;
}

/**
 * A text that somebody decides on, whole. Everything but letters, marks, numbers, punctuation, symbols, plain spaces, tabs
 * and line breaks is an escape: what looks the same is the same, as far as characters go that don't show.
 */
export const exactText = (text: string): string => text.replace(UNSEEN, escapeOf);

/** The same on one line: tabs and line breaks are escapes too. */
export const exactLine = (text: string): string => exactText(text).replace(/[\t\n]/g, escapeOf);

const escapeOf = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

const lastCharacter = (text: string): string => [...text.slice(-2)].at(-1) ?? '';

// By what Unicode says of characters, so that it holds for those to come. Bidirectional controls and tags are of category Cf.
const UNSHOWN = String.raw`\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}`;
/** Letters and symbols whose glyph is empty: no property tells. */
const BLANK = String.raw`\u2800\u{16fe4}\u{13441}\u{13442}\u{1d159}`;
const JOINED = String.raw`(?<=[\p{Lo}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])\p{Join_Control}`;
const PRESENTED = String.raw`(?<=\p{Emoji})[\ufe0e\ufe0f]`;

const HIDDEN = new RegExp(String.raw`\r\n|(?!${JOINED}|${PRESENTED})[[${UNSHOWN}${BLANK}]--[\t\n]]`, 'gv');
const UNSEEN = new RegExp(String.raw`[[\p{C}\p{Z}${UNSHOWN}${BLANK}]--[\t\n ]]`, 'gv');
