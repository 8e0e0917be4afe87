import type { JsonValue } from './json.ts';

/** A JSON value as text in which the order of keys says nothing: the same text for the same value. */
export function canonicalJson(value: JsonValue | undefined): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : item,
  );
}
