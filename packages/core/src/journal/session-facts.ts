import type { DurableEventBody } from '../events/events.ts';
import type { SessionSummary } from './journal.ts';

/** What `list` shows of a session besides its first prompt, and a journal keeps beside its log. */
export type SessionFacts = Pick<SessionSummary, 'title' | 'tags' | 'previous'>;

export const TITLE_LENGTH = 200;

export const TAG_LENGTH = 64;

export const MOST_TAGS = 32;

/** On one line, without what a terminal or a database would trip over. */
export const lineOf = (text: string): string =>
  text
    .slice(0, 8 * TITLE_LENGTH)
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();

export const cut = (line: string, length: number): string => line.slice(0, length).toWellFormed().trimEnd();

/**
 * The facts after an event of the session's own log: the same in every journal, whatever was posted. For authors of
 * journals: fold each event from `session_created` on, or only what `changesFacts` says.
 */
export function factsAfter(facts: SessionFacts, event: DurableEventBody): SessionFacts {
  if (event.type === 'session_created') {
    const { title, tags, previous } = event;
    // Most sessions begin without any.
    if (title === undefined && tags === undefined && previous === undefined) return {};
    return {
      ...withTitle({}, title ?? ''),
      ...withTags([], tags ?? []),
      ...(previous === undefined ? {} : { previous }),
    };
  }
  if (event.type !== 'input_received') return facts;
  const { input } = event;
  if (input.type === 'rename') {
    // What nobody gave doesn't replace what is there.
    return input.by !== undefined && facts.title !== undefined ? facts : withTitle(facts, input.title);
  }
  if (input.type !== 'tag') return facts;
  const { tags = [], ...others } = facts;
  const removed = new Set((input.remove ?? []).map((tag) => cut(lineOf(tag), TAG_LENGTH)));
  return {
    ...others,
    ...withTags(
      tags.filter((tag) => !removed.has(tag)),
      input.add ?? [],
    ),
  };
}

/** Whether an event may change what `list` shows. */
export const changesFacts = (event: DurableEventBody): boolean =>
  event.type === 'input_received' && (event.input.type === 'rename' || event.input.type === 'tag');

function withTitle({ title: _, ...others }: SessionFacts, text: string): SessionFacts {
  const title = cut(lineOf(text), TITLE_LENGTH);
  return { ...others, ...(title === '' ? {} : { title }) };
}

function withTags(tags: readonly string[], added: readonly string[]): Pick<SessionFacts, 'tags'> {
  const all = new Set([...tags, ...added.map((tag) => cut(lineOf(tag), TAG_LENGTH))]);
  all.delete('');
  return all.size === 0 ? {} : { tags: [...all].toSorted().slice(0, MOST_TAGS) };
}
