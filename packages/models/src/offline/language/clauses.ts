import { belongsTo, pairwise, withVerbOf } from './gaps.ts';
import { mask, QUOTE, type Masked, type Quote } from './quotes.ts';
import { withoutCourtesy } from './words.ts';

/** One request within a prompt, with its quotes still masked. */
export interface Clause {
  readonly text: string;
  readonly quotes: readonly Quote[];
}

const LIST_LINE = /^\s*(?:\d{1,2}[.)]|[-*•]|step \d+:?)\s+/i;
/** Where one request surely ends: a sentence, a semicolon, `then`. */
const STRONG =
  /(?:[.!?]+(?=\s|$)|;)(?:\s+(?:and\s+)?then\b,?)?\s*|\s*,?\s*\b(?:and\s+)?(?:then|after that|afterwards|after which|followed by)\b,?\s+|,\s+(?:and\s+)?(?:finally|lastly|next)\b,?\s+|\s+and\s+(?:finally|lastly|next)\b,?\s+/gi;
/** Where one may end: it does only if both sides are requests by themselves. */
const WEAK = /\s*,\s+(?:and\s+|but\s+)?(?:also\s+)?|\s+(?:and|but)\s+(?:also\s+)?/gi;

const BLOCK = new RegExp(`\\s*\\r?\\n\\s*(?=${QUOTE}\\s*(?:\\n|$))`, 'g');

/** A prompt with more words than this, quotes aside, is none of the requests known here; nor is a clause with more. */
const MOST_TEXT = 10_000;
/** The longest clause that is read. Bounds what the patterns cost. */
export const LONGEST_CLAUSE = 400;

/** Whether a clause is a request that is understood. */
export type Understands = (clause: Clause) => 'yes' | 'open' | 'no';

/**
 * Splits a prompt into its requests, in order. `understands` says which pieces stand by themselves; an `open` one (a text
 * given without quotes) takes up what follows unless that is a request of its own.
 */
export function clausesOf(prompt: string, understands: Understands): readonly Clause[] {
  const raw = mask(prompt.trim());
  // One blank is as good as many, and long runs of them would cost the patterns dearly.
  const masked = { text: raw.text.replace(/[^\S\r\n]+/g, ' '), quotes: raw.quotes };
  if (masked.text.length > MOST_TEXT) return [masked];
  // A quoted block that begins on a new line belongs to the sentence before it.
  const pieces = masked.text
    .replace(BLOCK, ' ')
    .split(/\r?\n/)
    .flatMap((line) => {
      const listed = LIST_LINE.test(line);
      const text = line.replace(LIST_LINE, '').trim();
      // A line that announces a list is no request by itself.
      if (text === '' || (!listed && text.endsWith(':') && understands(clause(text, masked)) === 'no')) return [];
      return strongPieces(text);
    });
  const known = new Map<string, readonly Clause[]>();
  return rejoined(pieces, masked, understands).flatMap((piece) => weakPieces(piece, masked, understands, known));
}

interface Piece {
  readonly text: string;
  /** What stood between the piece before and this one. */
  readonly separator: string;
}

function clause(text: string, masked: Masked): Clause {
  return { text: withoutCourtesy(text), quotes: masked.quotes };
}

function strongPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let start = 0;
  let separator = '\n';
  for (const match of text.matchAll(STRONG)) {
    pieces.push({ text: text.slice(start, match.index), separator });
    start = match.index + match[0].length;
    separator = match[0];
  }
  pieces.push({ text: text.slice(start), separator });
  return pieces.filter((piece) => piece.text.trim() !== '');
}

/** Gives an unquoted text back the sentences that were taken for requests and are none. */
function rejoined(pieces: readonly Piece[], masked: Masked, understands: Understands): readonly string[] {
  const texts: string[] = [];
  for (const piece of pieces) {
    const before = texts.at(-1);
    const joined = before === undefined ? undefined : `${before}${piece.separator}${piece.text}`;
    if (
      before !== undefined &&
      joined !== undefined &&
      understands(clause(before, masked)) === 'open' &&
      understands(clause(piece.text, masked)) === 'no'
    ) {
      texts[texts.length - 1] = joined;
    } else {
      texts.push(piece.text);
    }
  }
  return texts;
}

/** `known` holds what the rests of the sentence came to: there are many ways to a rest, but only one to read it. */
function weakPieces(
  text: string,
  masked: Masked,
  understands: Understands,
  known: Map<string, readonly Clause[]>,
): readonly Clause[] {
  const before = known.get(text);
  if (before !== undefined) return before;
  const pieces = splitWeakly(text, masked, understands, known);
  known.set(text, pieces);
  return pieces;
}

function splitWeakly(
  text: string,
  masked: Masked,
  understands: Understands,
  known: Map<string, readonly Clause[]>,
): readonly Clause[] {
  const whole = clause(text, masked);
  if (whole.text === '') return [];
  if (text.length > LONGEST_CLAUSE) return [whole];
  const understood = (pieces: readonly Clause[]): boolean =>
    pieces.length > 0 && pieces.every((piece) => understands(piece) !== 'no');
  const pairs = pairwise(whole.text, masked.quotes)?.map((pair) => clause(pair, masked));
  if (pairs !== undefined && understood(pairs)) return pairs;
  const wholeIsUnderstood = understands(whole) === 'yes';
  for (const match of text.matchAll(WEAK)) {
    const left = clause(text.slice(0, match.index), masked);
    const rest = text.slice(match.index + match[0].length);
    if (understands(left) === 'no') continue;
    const gapped = withVerbOf(left.text, rest, masked.quotes);
    if (gapped === undefined && belongsTo(left.text, rest, wholeIsUnderstood)) continue;
    const right = weakPieces(gapped ?? rest, masked, understands, known);
    if (understood(right)) return [left, ...right];
  }
  return [whole];
}
