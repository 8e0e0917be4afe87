import { TreadleError } from '../errors.ts';
import { cut, lineOf, MOST_TAGS, TAG_LENGTH, TITLE_LENGTH } from './session-facts.ts';

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
