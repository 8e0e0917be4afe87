import type { CacheHints } from '@treadle/core';

const MARK = ',"cache_control":{"type":"ephemeral"}';

/** Which parts of a request are marked for the provider's prompt cache. The API takes four marks in all. */
export interface CacheMarks {
  readonly tools: boolean;
  readonly system: boolean;
  /**
   * The messages whose last block is marked. `latest`: the last two of the user's side. The later one is what the next
   * call will read; the earlier one is what the call before wrote, marked again because the API looks for it only a
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

/** JSON of one or more objects with the last of them marked; `''` stays empty. */
export function marked(json: string): string {
  return json === '' ? '' : `${json.slice(0, -1)}${MARK}}`;
}

/** `text` with the objects marked that end at these places, which rise. */
export function markedAt(text: string, ends: readonly number[]): string {
  let result = '';
  let from = 0;
  for (const end of ends) {
    result += marked(text.slice(from, end));
    from = end;
  }
  return result + text.slice(from);
}
