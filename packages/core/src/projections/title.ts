import { textsOf } from '../messages/final-text.ts';
import type { DurableEvent, SessionInput } from '../events/events.ts';
import { changesFacts, factsAfter, type SessionFacts } from '../journal/session-facts.ts';

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
 * import { fallbackTitle } from '@treadle/core/projections';
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

/** Folds a log into what its session is called. */
export interface SessionTitleFold {
  take(event: DurableEvent): void;
  /** As it is now; null when there is none yet. */
  title(): string | null;
}

/** Starts the fold. Feed it the events of one session in order. */
export function sessionTitleFold(): SessionTitleFold {
  let facts: SessionFacts = {};
  let firstPrompt: string | null = null;
  return {
    take(event) {
      if (event.type === 'session_created' || changesFacts(event)) facts = factsAfter(facts, event);
      if (firstPrompt === null && event.type === 'input_received')
        firstPrompt = fallbackTitle(textOf(event.input)) || null;
    },
    title: () => facts.title ?? firstPrompt,
  };
}

/**
 * What a session is called: as somebody named it, else as a model did, else its first prompt that has a text; null when
 * there is none yet. A fork has no title of its parent's.
 */
export function sessionTitle(events: Iterable<DurableEvent>): string | null {
  const fold = sessionTitleFold();
  for (const event of events) fold.take(event);
  return fold.title();
}

const textOf = (input: SessionInput): string =>
  input.type === 'prompt' ? input.messages.flatMap(({ content }) => textsOf(content)).join(' ') : '';
