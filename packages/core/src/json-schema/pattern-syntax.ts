/** A regular expression as a tree. An atom is whatever matches exactly one character, kept as its source. */
export type PatternNode =
  | { readonly type: 'atom'; readonly source: string }
  | { readonly type: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly type: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly type: 'repeat'; readonly body: PatternNode; readonly least: number; readonly most: number }
  | { readonly type: 'assertion'; readonly kind: 'start' | 'end' | 'word' | 'not_word' }
  /** What no automaton can follow: a look-around (with its body) or a back-reference. */
  | { readonly type: 'irregular'; readonly body: PatternNode };

interface Reader {
  readonly source: string;
  readonly unicode: boolean;
  at: number;
  depth: number;
}

const MAX_GROUP_DEPTH = 100;
const EMPTY: PatternNode = { type: 'sequence', parts: [] };

/**
 * Reads the structure of an expression that JavaScript has accepted already. Undefined for what this reader doesn't know:
 * inline modifiers and groups nested very deep.
 */
export function parsePattern(source: string, unicode: boolean): PatternNode | undefined {
  const reader: Reader = { source, unicode, at: 0, depth: 0 };
  const node = readChoice(reader);
  return reader.at === source.length ? node : undefined;
}

function readChoice(reader: Reader): PatternNode | undefined {
  const options: PatternNode[] = [];
  for (;;) {
    const option = readSequence(reader);
    if (option === undefined) return undefined;
    options.push(option);
    if (reader.source[reader.at] !== '|') break;
    reader.at += 1;
  }
  const [only] = options;
  return options.length === 1 && only !== undefined ? only : { type: 'choice', options };
}

function readSequence(reader: Reader): PatternNode | undefined {
  const parts: PatternNode[] = [];
  while (reader.at < reader.source.length) {
    const character = reader.source[reader.at];
    if (character === '|' || character === ')') break;
    const term = readTerm(reader);
    if (term === undefined) return undefined;
    parts.push(readRepeat(reader, term));
  }
  return { type: 'sequence', parts };
}

function readTerm(reader: Reader): PatternNode | undefined {
  const { source, at } = reader;
  switch (source[at]) {
    case '^':
      reader.at += 1;
      return { type: 'assertion', kind: 'start' };
    case '$':
      reader.at += 1;
      return { type: 'assertion', kind: 'end' };
    case '(':
      return readGroup(reader);
    case '[':
      reader.at = endOfClass(source, at);
      return { type: 'atom', source: source.slice(at, reader.at) };
    case '\\':
      return readEscape(reader);
    case undefined:
      return undefined;
    default: {
      const character = reader.unicode ? String.fromCodePoint(source.codePointAt(at) ?? 0) : source.charAt(at);
      reader.at += character.length;
      return { type: 'atom', source: character };
    }
  }
}

const GROUP = /\((?:\?(?:(:)|(<?[=!])|<[^>]*>))?/y;

function readGroup(reader: Reader): PatternNode | undefined {
  GROUP.lastIndex = reader.at;
  const match = GROUP.exec(reader.source);
  // `(` alone matches always; what follows a `?` that isn't known here is a modifier.
  if (match === null || (match[0] === '(' && reader.source[reader.at + 1] === '?')) return undefined;
  if (reader.depth >= MAX_GROUP_DEPTH) return undefined;
  reader.at += match[0].length;
  reader.depth += 1;
  const body = readChoice(reader);
  reader.depth -= 1;
  if (body === undefined || reader.source[reader.at] !== ')') return undefined;
  reader.at += 1;
  return match[2] === undefined ? body : { type: 'irregular', body };
}

const ESCAPE = /\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|[pP]\{[^}]*\}|k<[^>]*>|[0-9]+|[^])/y;
const SURROGATES = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}/y;

function readEscape(reader: Reader): PatternNode | undefined {
  const { source, at } = reader;
  SURROGATES.lastIndex = at;
  ESCAPE.lastIndex = at;
  const text = ((reader.unicode ? SURROGATES.exec(source) : null) ?? ESCAPE.exec(source))?.[0];
  if (text === undefined) return undefined;
  reader.at += text.length;
  if (text === '\\b') return { type: 'assertion', kind: 'word' };
  if (text === '\\B') return { type: 'assertion', kind: 'not_word' };
  if (/^\\(?:k|[1-9])/.test(text)) return { type: 'irregular', body: EMPTY };
  // Without the `u` flag these read differently in ways not worth following.
  if (!reader.unicode && /^\\(?:u\{|p|P|c|0.)/.test(text)) return undefined;
  return { type: 'atom', source: text };
}

function endOfClass(source: string, start: number): number {
  for (let at = start + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === ']') return at + 1;
  }
  return source.length;
}

const COUNT = /(?:[*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})\??/y;

function readRepeat(reader: Reader, body: PatternNode): PatternNode {
  COUNT.lastIndex = reader.at;
  const match = COUNT.exec(reader.source);
  if (match === null) return body;
  reader.at += match[0].length;
  const [text, from, comma, to] = match;
  if (from === undefined) {
    return { type: 'repeat', body, least: text.startsWith('+') ? 1 : 0, most: text.startsWith('?') ? 1 : Infinity };
  }
  const least = Number(from);
  return { type: 'repeat', body, least, most: comma === undefined ? least : to === '' ? Infinity : Number(to) };
}
