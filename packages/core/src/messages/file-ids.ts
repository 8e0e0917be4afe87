import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import type { AssistantContent } from './content.ts';

/** Values of one reply that are looked through, and characters of an id, at most: both are a stranger's to choose. */
const MOST_VALUES = 10_000;
const LONGEST_ID = 256;

/**
 * The files that tools which the provider ran itself have made, in the order in which they are named, each once: by a
 * `file_id` in their results, or where a text cites a file of a container. One in a container is `{container}/{file}`.
 */
export function fileIdsIn(content: readonly AssistantContent[]): readonly string[] {
  // A stack rather than recursion: how deep a result is nested is the provider's to choose.
  const open: JsonValue[] = [];
  for (const block of content) {
    if (block.type === 'provider_tool_result') open.push(block.raw);
    // Other citations name what was found, and not what was made.
    if (block.type === 'text') open.push(...(block.citations ?? []).filter(isOfContainer));
  }
  open.reverse();
  const ids = new Set<string>();
  for (let seen = 0; seen < MOST_VALUES; seen += 1) {
    const value = open.pop();
    if (value === undefined) break;
    if (isJsonObject(value)) {
      const id = idOf(value);
      if (id !== null && id.length <= LONGEST_ID) ids.add(id);
    }
    pushInside(open, value, MOST_VALUES - seen);
  }
  return [...ids];
}

const isOfContainer = (value: JsonValue): boolean =>
  isJsonObject(value) && typeof value['container_id'] === 'string' && value['container_id'] !== '';

function idOf(value: JsonObject): string | null {
  const { file_id: id, container_id: container } = value;
  if (typeof id !== 'string' || id === '') return null;
  return typeof container === 'string' && container !== '' ? `${container}/${id}` : id;
}

/** Whether a reply may name any: looking is only for those. */
export const mayNameFiles = (content: readonly AssistantContent[]): boolean =>
  content.some((block) => block.type === 'provider_tool_result' || (block.type === 'text' && block.citations));

/** Puts what a value holds on the stack, its first part on top. Texts and numbers hold nothing. */
function pushInside(open: JsonValue[], value: JsonValue, most: number): void {
  if (typeof value !== 'object' || value === null) return;
  const inside = (Array.isArray(value) ? value : Object.values(value)) as readonly JsonValue[];
  for (let at = Math.min(inside.length, most) - 1; at >= 0; at -= 1) {
    const part = inside[at];
    if (typeof part === 'object' && part !== null) open.push(part);
  }
}
