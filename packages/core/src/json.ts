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
  const shell = (of: object): object => (Array.isArray(of) ? [] : {});
  const root = shell(value);
  const open: [from: object, to: object][] = [[value, root]];
  for (let pair = open.pop(); pair; pair = open.pop()) {
    const [from, to] = pair;
    for (const [key, item] of Object.entries(from) as [string, unknown][]) {
      const copy = typeof item === 'object' && item !== null ? shell(item) : item;
      if (copy !== item) open.push([item as object, copy as object]);
      // `__proto__` is a key like any other here, and an assignment would not make it one.
      if (key === '__proto__') {
        Object.defineProperty(to, key, { value: copy, writable: true, enumerable: true, configurable: true });
      } else (to as Record<string, unknown>)[key] = copy;
    }
  }
  return root as Value;
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
