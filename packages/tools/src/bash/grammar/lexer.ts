/** The words of each command, and whether its output goes into the next one. */
export interface PlainText {
  readonly commands: readonly (readonly string[])[];
  readonly piped: readonly boolean[];
}

/**
 * Reads text that is nothing but plain words joined by `&&`, `||`, `;`, `|` and line ends: the words of each command, with
 * quotes taken off, or undefined when anything else occurs.
 *
 * It knows far less of bash than the grammar does, on purpose. A command counts as plain only when both read the same words,
 * so that a text which one of them misunderstands is not taken for harmless.
 */
export function plainWords(text: string): PlainText | undefined {
  // A line that is continued in the middle of a word joins the halves; between words it is only white space.
  if (/(?:[^ \t]|\\[ \t])\\\n/.test(text) || text.startsWith('\\\n')) return undefined;
  const commands: string[][] = [];
  const piped: boolean[] = [];
  let words: string[] = [];
  let needsCommand = false;
  let rest = text;
  while (rest !== '') {
    const blank = /^(?:[ \t]+|\\\n)+/.exec(rest)?.[0] ?? '';
    rest = rest.slice(blank.length);
    if (rest === '') break;
    if (rest.startsWith('#')) {
      rest = rest.slice(/^[^\n]*/.exec(rest)?.[0].length ?? 0);
      continue;
    }
    const redirect = harmlessRedirect.exec(rest)?.[0];
    if (redirect !== undefined) {
      if (words.length === 0) return undefined;
      rest = rest.slice(redirect.length);
      continue;
    }
    const operator = operators.find((one) => rest.startsWith(one));
    if (operator === undefined) {
      const word = readWord(rest);
      if (word === undefined) return undefined;
      words.push(word.value);
      rest = rest.slice(word.length);
      needsCommand = false;
      continue;
    }
    rest = rest.slice(operator.length);
    if (words.length === 0) {
      if (operator !== '\n') return undefined;
      continue;
    }
    commands.push(words);
    piped.push(operator === '|');
    words = [];
    needsCommand = operator !== ';' && operator !== '\n';
  }
  if (words.length > 0) commands.push(words);
  return needsCommand || commands.length === 0 ? undefined : { commands, piped };
}

const operators = ['&&', '||', ';', '|', '\n'];
/** Into `/dev/null`, from it, and from one of the three standard streams into another. */
const harmlessRedirect = /^(?:(?:[12]?>>?|&>>?|0?<)[ \t]*\/dev\/null|[12]?>&[12])(?=$|[ \t\n;|&])/;
/** What stands for itself outside of quotes, wherever in a word it is. */
const ordinary = /^[\p{L}\p{N}_./:=@%+,^~#!{}-]+/u;

interface Word {
  readonly value: string;
  readonly length: number;
}

/** The word at the beginning of `text`. */
function readWord(text: string): Word | undefined {
  let value = '';
  let bare = '';
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at, at + 1);
    if (rest === "'" || rest === '"') {
      const quoted = rest === "'" ? singleQuoted(text, at) : doubleQuoted(text, at);
      if (quoted === undefined) return undefined;
      value += quoted.value;
      at += quoted.length;
      // What is quoted counts as some letter in the shape of the word.
      bare += 'q';
    } else if (rest === '\\') {
      const next = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
      if (next === '\0') return undefined;
      // Only between words, see above.
      if (next === '\n') break;
      value += next;
      bare += 'q';
      at += 1 + next.length;
    } else if (/[ \t\n;|&<>]/.test(rest)) {
      break;
    } else {
      const run = ordinary.exec(text.slice(at, at + longestRun))?.[0];
      if (run === undefined) return undefined;
      value += run;
      bare += run;
      at += run.length;
    }
  }
  return at === 0 || expands(bare, text.slice(0, at)) ? undefined : { value, length: at };
}

const longestRun = 4096;

/** Tildes and braces that bash would expand, or might. */
function expands(bare: string, source: string): boolean {
  if (/(?:^|[=:])~/.test(bare)) return true;
  return /[{}]/.test(bare) && (source.includes(',') || source.includes('..') || bare === '{' || bare === '}');
}

function singleQuoted(text: string, start: number): Word | undefined {
  const end = text.indexOf("'", start + 1);
  return end < 0 ? undefined : { value: text.slice(start + 1, end), length: end + 1 - start };
}

function doubleQuoted(text: string, start: number): Word | undefined {
  let value = '';
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (char === '"') return { value, length: at + 1 - start };
    if (char === '$' || char === '`') return undefined;
    if (char === '\\' && /["\\$`]/.test(text[at + 1] ?? '')) {
      at += 1;
      value += text[at] ?? '';
    } else {
      value += char;
    }
  }
  return undefined;
}
