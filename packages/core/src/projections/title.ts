import type { DurableEvent, SessionInput } from '../events/events.ts';

const MOST = 50;
const KEPT = 47;
/** Code units of a text that are looked at: enough for so many characters of any kind. */
const LOOKED_AT = MOST * 16;

/**
 * A title for a conversation, from what was said first: at most 50 characters on one line; a longer text is its first 47
 * with `...` after them. Empty when it says nothing.
 *
 * @example
 * ```ts
 * import { fallbackTitle } from '@treadle/core';
 *
 * console.log(fallbackTitle('Why is the sky blue, and why is it red in the evening?'));
 * // Why is the sky blue, and why is it red in the e...
 * ```
 */
export function fallbackTitle(text: string): string {
  const line = text.trimStart().slice(0, LOOKED_AT).toWellFormed().replace(/\s+/gu, ' ').trim();
  const characters = Array.from(new Intl.Segmenter().segment(line), ({ segment }) => segment);
  if (characters.length <= MOST && text.trim().length <= LOOKED_AT) return line;
  return `${characters.slice(0, KEPT).join('').trimEnd()}...`;
}

/** The fallback title of a session: of its first prompt that has a text; null when there is none yet. */
export function sessionTitle(events: Iterable<DurableEvent>): string | null {
  for (const event of events) {
    if (event.type !== 'input_received') continue;
    const title = fallbackTitle(textOf(event.input));
    if (title !== '') return title;
  }
  return null;
}

const textOf = (input: SessionInput): string =>
  input.type !== 'prompt'
    ? ''
    : input.messages
        .flatMap(({ content }) => content)
        .flatMap((block) => (block.type === 'text' ? [block.text] : []))
        .join(' ');
