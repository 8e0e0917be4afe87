/** A span of the prompt that is taken as it is: its words are never read as a request. */
export interface Quote {
  readonly value: string;
  /** As written, marks included. */
  readonly raw: string;
  readonly kind: 'quoted' | 'code' | 'block';
}

/** A text in which every quote is replaced by a placeholder, so that grammar can't trip over its words. */
export interface Masked {
  readonly text: string;
  readonly quotes: readonly Quote[];
}

const OPEN = '\uE000';
const CLOSE = '\uE001';
/** Matches one placeholder. */
export const QUOTE = `${OPEN}\\d+${CLOSE}`;

const BLOCK_AFTER_COLON = /\b(?:text|contents?|lines?|body|following)[ \t]*:[ \t]*\r?\n(?!\s*```)(?=[\s\S]*\S)/i;
const COMMAND_AFTER_COLON =
  /\b(?:run|execute)\b(?: the)?(?: following)?(?: shell)?(?: command)?[ \t]*:[ \t]*(?=[^\s`"'“])/i;
const THEN = /,?\s+(?:and\s+)?then\s+/i;

const PATTERNS: readonly { readonly pattern: RegExp; readonly kind: Quote['kind'] }[] = [
  { pattern: /```[^\n`]*\n([\s\S]*?)\n?[ \t]*```/y, kind: 'block' },
  { pattern: /`([^`\n]+)`/y, kind: 'code' },
  { pattern: /"((?:[^"\\]|\\[\s\S])*)"/y, kind: 'quoted' },
  { pattern: /“([^”]*)”/y, kind: 'quoted' },
  { pattern: /«\s*([^»]*?)\s*»/y, kind: 'quoted' },
  { pattern: /‘([^’\n]*)’/y, kind: 'quoted' },
];
/** What the patterns begin with: nearly every character of a prompt begins none of them. */
const OPENERS = '`"“«‘';
/** A straight single quote opens only where a word could begin, and an apostrophe inside a word doesn't close it. */
const SINGLE = /'((?:[^'\n]|'(?=\w))+)'(?!\w)/y;

/** Replaces quoted spans, code spans, fenced blocks and what follows `text:` on its own lines by placeholders. */
export function mask(text: string): Masked {
  const quotes: Quote[] = [];
  const keep = (quote: Quote): string => `${OPEN}${quotes.push(quote) - 1}${CLOSE}`;
  const block = BLOCK_AFTER_COLON.exec(text);
  const blockStart = block === null ? text.length : block.index + block[0].length;
  let masked = '';
  let i = 0;
  let command = COMMAND_AFTER_COLON.exec(text.slice(0, blockStart));
  while (i < blockStart) {
    if (command !== null && i === command.index + command[0].length) {
      const raw = restOfCommand(text.slice(i, blockStart));
      masked += keep({ value: raw, raw, kind: 'code' });
      i += raw.length;
      command = null;
      continue;
    }
    const found = quoteAt(text, i);
    if (found === undefined || i + found.raw.length > blockStart) {
      masked += text.charAt(i) === '’' ? "'" : text.charAt(i);
      i += 1;
    } else {
      masked += keep(found);
      i += found.raw.length;
    }
  }
  if (blockStart < text.length) {
    const raw = text.slice(blockStart);
    masked += keep({ value: raw.replace(/\s+$/, ''), raw, kind: 'block' });
  }
  return { text: masked, quotes };
}

function restOfCommand(text: string): string {
  const line = text.split('\n', 1)[0] ?? '';
  const end = THEN.exec(line)?.index ?? line.length;
  return line.slice(0, end).trimEnd();
}

function quoteAt(text: string, at: number): Quote | undefined {
  const char = text.charAt(at);
  if (char === OPEN || char === CLOSE) return { value: char, raw: char, kind: 'quoted' };
  for (const { pattern, kind } of OPENERS.includes(char) ? PATTERNS : []) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) continue;
    const value = char === '"' ? (match[1] ?? '').replaceAll('\\"', '"') : (match[1] ?? '');
    return { value, raw: match[0], kind };
  }
  if (char !== "'" || /\w/.test(text.charAt(at - 1))) return undefined;
  SINGLE.lastIndex = at;
  const match = SINGLE.exec(text);
  return match === null ? undefined : { value: match[1] ?? '', raw: match[0], kind: 'quoted' };
}

const ONE = new RegExp(`^${QUOTE}$`);
const ANY = new RegExp(`${OPEN}(\\d+)${CLOSE}`, 'g');

/** The quote a text consists of, if it is nothing but one placeholder. */
export function soleQuote(text: string, quotes: readonly Quote[]): Quote | undefined {
  return ONE.test(text) ? quotes[Number(text.slice(1, -1))] : undefined;
}

/** The text as the user wrote it, marks included. */
export function unmask(text: string, quotes: readonly Quote[]): string {
  return text.replace(ANY, (_, index: string) => quotes[Number(index)]?.raw ?? '');
}

/** A word or phrase as meant: the inside of a quote, or the plain words. */
export function meant(text: string, quotes: readonly Quote[]): string {
  const trimmed = text.trim();
  return soleQuote(trimmed, quotes)?.value ?? unmask(trimmed, quotes);
}
