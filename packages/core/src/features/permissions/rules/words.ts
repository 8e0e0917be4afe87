/** What the text of a rule, or of an example, came to. */
export type SplitWords =
  { readonly ok: true; readonly words: readonly string[] } | { readonly ok: false; readonly problem: string };

/**
 * Splits a text into words at white space. A part in quotes belongs to its word, and a backslash takes the next character
 * as it is; nothing is expanded. It is how words are written in rules, and no shell's grammar.
 */
export function splitWords(text: string): SplitWords {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '\\' && quote !== "'") {
      at += 1;
      if (at === text.length) return { ok: false, problem: 'it ends with a backslash' };
      word = (word ?? '') + text.charAt(at);
    } else if (quote !== null) {
      if (character === quote) quote = null;
      else word = (word ?? '') + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + character;
  }
  if (quote !== null) return { ok: false, problem: `the quote ${quote} is not closed` };
  if (word !== null) words.push(word);
  return { ok: true, words };
}

/** Words as `splitWords` reads them back. */
export const joinWords = (words: readonly string[]): string =>
  words.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`)).join(' ');
