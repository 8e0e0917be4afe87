import { TreadleError } from './errors.ts';
import { jsonText } from './json-text.ts';

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
  // Spreading keeps `__proto__` a key like any other.
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
 * Levels of objects and arrays that foreign JSON may have. A deeper value is refused where it enters, so code behind that
 * point may recurse: `JSON.stringify` itself overflows the stack at about 4,000 levels.
 */
export const MAX_JSON_DEPTH = 512;

/** Levels that a message, an event or a response may add around a value of {@link MAX_JSON_DEPTH} levels. */
const ENVELOPE_DEPTH = 64;

/** Levels of a log's events and of a provider's frames: a value with what is around it. */
export const MAX_ENVELOPE_DEPTH = MAX_JSON_DEPTH + ENVELOPE_DEPTH;

/** What a refusal says. */
export const TOO_DEEP = `nested deeper than ${MAX_JSON_DEPTH} levels`;

/** True when a JSON text has more levels than `most`. One pass; it builds nothing, and what isn't JSON may be anything. */
export function isDeepText(text: string, most: number = MAX_JSON_DEPTH): boolean {
  // Each level takes two characters.
  if (text.length <= 2 * most) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth += 1;
      if (depth > most) return true;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The place of the quote that ends the string which begins at `start`; the text's length when none does. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = end;
    while (text.charCodeAt(escapes - 1) === BACKSLASH) escapes -= 1;
    if ((end - escapes) % 2 === 0) return end;
  }
  return text.length;
}

/** True when a value has more levels than `most`, or has no end because it contains itself. Doesn't recurse. */
export function isDeep(value: unknown, most: number = MAX_JSON_DEPTH): boolean {
  let level = containersIn([value]);
  for (let depth = 1; level.size > 0; depth += 1) {
    if (depth > most) return true;
    const next = new Set<object>();
    for (const container of level) for (const item of containersIn(Object.values(container))) next.add(item);
    level = next;
  }
  return false;
}

/** Characters of all texts in a JSON value, keys included. */
export function charactersIn(value: JsonValue): number {
  let characters = 0;
  const open: (JsonValue | undefined)[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') characters += next.length;
    else if (typeof next === 'object' && next !== null) {
      for (const [key, item] of Object.entries(next)) {
        characters += key.length;
        if (item !== undefined) open.push(item);
      }
    }
  }
  return characters;
}

/** Each once: a value that is referred to many times must not be looked at many times. */
const containersIn = (values: readonly unknown[]): Set<object> =>
  new Set(values.filter((value): value is object => typeof value === 'object' && value !== null));

/**
 * `JSON.parse` with the limit on nesting.
 *
 * @throws SyntaxError when the text isn't JSON.
 * @throws TreadleError `json_too_deep` when it has more levels than `most`.
 *
 * @example
 * ```ts
 * import { parseJson } from '@treadle/core/json';
 *
 * console.log(parseJson('{"a":[1]}')); // { a: [ 1 ] }
 * ```
 */
export function parseJson(text: string, most: number = MAX_JSON_DEPTH): unknown {
  if (isDeepText(text, most)) throw new TreadleError('json_too_deep', `The JSON is nested deeper than ${most} levels.`);
  // oxlint-disable-next-line eslint/no-restricted-properties -- the limit is above
  return JSON.parse(text);
}

/**
 * A JavaScript value as JSON data, or null when it can't be: it contains itself or a bigint, or has more levels than
 * {@link MAX_JSON_DEPTH}. Functions and `undefined` are left out, as `JSON.stringify` does.
 */
export function asJson(value: unknown): { readonly value: JsonValue } | null {
  try {
    const text = jsonText(value);
    return text === undefined ? null : { value: parseJson(text) as JsonValue };
  } catch {
    return null;
  }
}

/**
 * Metadata as a log keeps it: what goes in must be what comes out.
 *
 * @throws TreadleError `invalid_definition` when it isn't a JSON object.
 */
export function checkMetadata(of: 'run' | 'session', metadata: unknown): JsonObject {
  const json = asJson(metadata)?.value;
  if (json !== undefined && isJsonObject(json)) return json;
  throw new TreadleError('invalid_definition', `The metadata of a ${of} must be a JSON object, not ${TOO_DEEP}.`);
}

/** An object without its fields that are undefined, for options that may be left out and can't be undefined. */
export function defined<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name] } & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
} {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as ReturnType<typeof defined<Fields>>;
}
