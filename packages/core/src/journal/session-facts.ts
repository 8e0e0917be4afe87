import type { DurableEventBody } from '../events/events.ts';
import { TreadleError } from '../errors.ts';
import type { SessionSummary } from './journal.ts';

/** What `list` shows of a session besides its first prompt, and a journal keeps beside its log. */
export type SessionFacts = Pick<SessionSummary, 'title' | 'tags' | 'previous'>;

const TITLE_LENGTH = 200;
const TAG_LENGTH = 64;
const MOST_TAGS = 32;

/** On one line, without what a terminal or a database would trip over. */
const lineOf = (text: string): string =>
  text
    .slice(0, 8 * TITLE_LENGTH)
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();

const cut = (line: string, length: number): string => line.slice(0, length).toWellFormed().trimEnd();

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

/** @throws TreadleError `invalid_definition` for a title that would not be kept as it is. */
export function checkTitle(title: string): string {
  if (title !== '' && title === cut(lineOf(title), TITLE_LENGTH)) return title;
  throw new TreadleError(
    'invalid_definition',
    `A title is one line of 1 to ${TITLE_LENGTH} characters, without blanks around it. This one isn't: ${JSON.stringify(title.slice(0, 80))}.`,
  );
}

/** @throws TreadleError `invalid_definition` for tags that would not be kept as they are. */
export function checkTags(tags: readonly string[]): readonly string[] {
  const wrong = tags.find((tag) => tag === '' || tag !== cut(lineOf(tag), TAG_LENGTH));
  if (wrong !== undefined) {
    throw new TreadleError(
      'invalid_definition',
      `A tag is one line of 1 to ${TAG_LENGTH} characters. This one isn't: ${JSON.stringify(wrong.slice(0, 80))}.`,
    );
  }
  if (tags.length <= MOST_TAGS) return tags;
  throw new TreadleError(
    'invalid_definition',
    `A session has at most ${MOST_TAGS} tags, and these are ${tags.length}.`,
  );
}
