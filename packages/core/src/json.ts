/** A value that `JSON.stringify` writes and `JSON.parse` reads back unchanged. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** A JSON object. Keys are data: never copy them onto an object with a prototype you care about. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** A JSON Schema document, kept as plain data. Core validates the subset in `tools/validate.ts`. */
export type JsonSchema = JsonObject;

/** True for a plain JSON object: not null, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A copy of a JSON value that may be changed without changing the original. Strings are shared, and depth is no danger:
 * nothing recurses.
 */
export function copyJson<Value extends JsonValue>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  // Spreading copies a level at once, several times cheaper than key by key, and keeps `__proto__` a key like any other.
  const shallow = (of: object): Record<string, unknown> =>
    (Array.isArray(of) ? of.slice() : { ...of }) as Record<string, unknown>;
  const root = shallow(value);
  const open = [root];
  for (let copy = open.pop(); copy; copy = open.pop()) {
    for (const key of Object.keys(copy)) {
      const item = copy[key];
      if (typeof item !== 'object' || item === null) continue;
      const own = shallow(item);
      copy[key] = own;
      open.push(own);
    }
  }
  return root as unknown as Value;
}

/**
 * What `JSON.stringify` and `JSON.parse` make of a value, or null when they can't: it is circular, or has a bigint.
 * What was none of JSON's (functions, `undefined`) is gone from it.
 */
export function asJson(value: unknown): { readonly value: JsonValue } | null {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? null : { value: JSON.parse(text) as JsonValue };
  } catch {
    return null;
  }
}
