import { parseDecimal, type Decimal } from './decimal.ts';

/** Counts as `wc` makes them, but characters are code points and a last line without an end counts. */
export interface TextCounts {
  readonly lines: number;
  readonly words: number;
  readonly characters: number;
}

/** Line ends are counted as one character each; `ended` says that the last line has one too. */
export function countText(lines: readonly string[], ended = false): TextCounts {
  let words = 0;
  let characters = Math.max(0, ended ? lines.length : lines.length - 1);
  for (const line of lines) {
    words += line.match(/\S+/g)?.length ?? 0;
    characters += [...line].length;
  }
  return { lines: lines.length, words, characters };
}

const SEPARATORS = /[\s=;|]+|(?<=[\p{L}_"')\]]):/u;
const WRAPPING = /^[("'[{<*_`]+|[)"'\]}>*_`,.:!?]+$/g;

/**
 * The numbers that stand by themselves in a text. A date, a time, a version, a number inside a word and the number of a
 * list's item are none.
 */
export function numbersInText(lines: readonly string[]): readonly Decimal[] {
  const numbers: Decimal[] = [];
  for (const line of lines) {
    for (const token of line.replace(/^\s*\d+[.)]\s+(?=\S)/, '').split(SEPARATORS)) {
      const bare = token.replace(WRAPPING, '');
      const value = /\d/.test(bare) ? parseDecimal(bare) : undefined;
      if (value !== undefined) numbers.push(value);
    }
  }
  return numbers;
}

/** The headings of a Markdown text, outside of fenced blocks. */
export function headingsOf(lines: readonly string[]): readonly { readonly level: number; readonly text: string }[] {
  const headings: { level: number; text: string }[] = [];
  let fenced = false;
  for (const line of lines) {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    const match = fenced ? null : /^(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
    if (match !== null) headings.push({ level: match[1]?.length ?? 1, text: match[2] ?? '' });
  }
  return headings;
}

/** The first paragraph of plain prose in a Markdown or plain text. */
export function firstParagraph(lines: readonly string[]): string {
  const paragraph: string[] = [];
  let fenced = false;
  for (const line of lines) {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    const prose =
      !fenced &&
      /^\s*[\p{L}\p{N}"'*_`([]/u.test(line) &&
      !/^\s*(?:[-*+]|\d+[.)])\s|^\s*\[?!?\[|^\s*(?:```|~~~|---|===)/.test(line);
    if (prose) paragraph.push(line.trim());
    else if (paragraph.length > 0) break;
  }
  return paragraph.join(' ');
}

const DECLARATIONS: readonly (readonly [extension: RegExp, pattern: RegExp])[] = [
  [
    /^[cm]?[jt]sx?$/,
    /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type|enum) ([\w$]+)/,
  ],
  [/^py$/, /^(?:async )?(?:def|class) (\w+)/],
  [/^rs$/, /^pub (?:async )?(?:fn|struct|enum|trait|mod|const) (\w+)/],
  [/^go$/, /^(?:func (?:\([^)]*\) )?|type )([A-Z]\w*)/],
];

/** The names a source file declares for others, in order. Nothing for a file of another kind. */
export function declaredNames(path: string, lines: readonly string[]): readonly string[] {
  const extension = path.slice(path.lastIndexOf('.') + 1);
  const pattern = DECLARATIONS.find(([extensions]) => extensions.test(extension))?.[1];
  return pattern === undefined ? [] : lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
}
