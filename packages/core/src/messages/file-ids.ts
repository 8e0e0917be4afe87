import { isJsonObject, type JsonValue } from '../json.ts';
import type { AssistantContent } from './content.ts';

/** Values of one reply that are looked through, and characters of an id, at most: both are a stranger's to choose. */
const MOST_VALUES = 10_000;
const LONGEST_ID = 256;

/** The `file_id`s in the results of tools that the provider ran itself, in the order they stand there, each once. */
export function fileIdsIn(content: readonly AssistantContent[]): readonly string[] {
  // A stack rather than recursion: how deep a result is nested is the provider's to choose.
  const open: JsonValue[] = [];
  for (const block of content) if (block.type === 'provider_tool_result') open.push(block.raw);
  open.reverse();
  const ids = new Set<string>();
  for (let seen = 0; seen < MOST_VALUES; seen += 1) {
    const value = open.pop();
    if (value === undefined) break;
    if (isJsonObject(value)) {
      const id = value['file_id'];
      if (typeof id === 'string' && id !== '' && id.length <= LONGEST_ID) ids.add(id);
    }
    pushInside(open, value, MOST_VALUES - seen);
  }
  return [...ids];
}

/** Puts what a value holds on the stack, its first part on top. Texts and numbers hold nothing. */
function pushInside(open: JsonValue[], value: JsonValue, most: number): void {
  if (typeof value !== 'object' || value === null) return;
  const inside = (Array.isArray(value) ? value : Object.values(value)) as readonly JsonValue[];
  for (let at = Math.min(inside.length, most) - 1; at >= 0; at -= 1) {
    const part = inside[at];
    if (typeof part === 'object' && part !== null) open.push(part);
  }
}
