import type { CacheHints } from '@treadle/core';
import type { GrowingText, Piece } from './growing-text.ts';

/** Which parts of a request are marked for the provider's prompt cache. Providers take four marks in all. */
export interface CacheMarks {
  readonly tools: boolean;
  readonly system: boolean;
  /**
   * The messages whose last block is marked. `latest`: the last two of the user's side. The later one is what the next
   * call will read; the earlier one is what the call before wrote, marked again because a provider looks for it only a
   * score of blocks back on its own, and a turn may have more.
   */
  readonly messages: 'none' | 'latest' | 'second_to_last';
}

const NO_MARKS: CacheMarks = { tools: false, system: false, messages: 'none' };
const ALL_MARKS: CacheMarks = { tools: true, system: true, messages: 'latest' };

/** What hints ask for. */
export function cacheMarks(hints: CacheHints = 'auto'): CacheMarks {
  if (hints === 'auto') return ALL_MARKS;
  if (hints === 'off') return NO_MARKS;
  const { tools = false, system = false, messages = false } = hints;
  return { tools, system, messages: messages ? 'second_to_last' : 'none' };
}

/** A message of the wire: neighbours of one role are one. */
export interface WireMessage {
  readonly role: 'user' | 'assistant';
  /** Where in the text, in bytes, the last block ends that may carry a cache mark; 0 when there is none. */
  end: number;
}

/** Messages whose ends are to be remembered: the two latest of the user's side are among them. */
export const REMEMBERED_MESSAGES = 5;

/** The places in the text of the latest messages where a mark belongs, which rise. */
export function endsToMark(messages: readonly WireMessage[], marks: CacheMarks['messages']): number[] {
  if (marks === 'none') return [];
  const markable = (marks === 'latest' ? messages.filter(({ role }) => role === 'user') : messages.slice(0, -1)).filter(
    ({ end }) => end > 0,
  );
  return markable.slice(marks === 'latest' ? -2 : -1).map(({ end }) => end);
}

/**
 * A text and the end that only one request has, with `mark` at places that rise. Those in the end are counted on from the
 * text's bytes in characters.
 */
export function withMarks(text: GrowingText, end: string, places: readonly number[], mark: string): readonly Piece[] {
  const length = text.size();
  const pieces: Piece[] = [];
  let from = 0;
  for (const place of places) {
    if (from < length) pieces.push(text.view(from, Math.min(place, length)));
    if (place > length) pieces.push(end.slice(Math.max(from - length, 0), place - length));
    pieces.push(mark);
    from = place;
  }
  if (from < length) pieces.push(text.view(from));
  pieces.push(end.slice(Math.max(from - length, 0)));
  return pieces;
}
