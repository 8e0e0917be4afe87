import type { JsonObject } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';
import { inWords, isText, objectsAt, within, type Problems } from './requests.ts';

/** Looks at a value, and adds what is wrong with it. */
export type Check = (found: Problems, value: unknown, path: string) => void;

/** A value of which something holds. */
export const anyThat =
  (holds: (value: unknown) => boolean, message: string): Check =>
  (found, value, path) => {
    if (!holds(value)) found.add(path, message);
  };

/** A text of which something holds. */
export const textThat = (holds: (text: string) => boolean, message: string): Check =>
  anyThat((value) => isText(value) && holds(value), message);

export const ANYTHING: Check = () => {};
export const STRING = anyThat(isText, 'must be a string');
export const FILLED = textThat((text) => text !== '', 'must be a non-empty string');
export const OBJECT = anyThat(isJsonObject, 'must be an object');
export const NUMBER = anyThat((value) => typeof value === 'number', 'must be a number');
export const WHOLE_NUMBER = anyThat(
  (value) => Number.isInteger(value) && Number(value) >= 1,
  'must be a positive integer',
);
export const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A text that matches a pattern. */
export const matching = (pattern: RegExp): Check =>
  textThat((text) => pattern.test(text), `must match ${pattern.source}`);

export const NAME_64 = matching(/^[a-zA-Z0-9_-]{1,64}$/);
export const NAME_128 = matching(/^[a-zA-Z0-9_-]{1,128}$/);

export const between = (low: number, high: number): Check =>
  anyThat((value) => typeof value === 'number' && value >= low && value <= high, `must be from ${low} to ${high}`);

export const oneOf = (words: readonly string[], message = `must be one of ${words.join(', ')}`): Check =>
  textThat((text) => words.includes(text), message);

/** A list of texts of which something holds, at most so many of them. */
export const texts = (holds: (text: string) => boolean, message: string, most = Infinity): Check =>
  anyThat(
    (value) => Array.isArray(value) && value.length <= most && value.every((text) => isText(text) && holds(text)),
    message,
  );

/** Text that a provider takes: present and not only whitespace. */
export const SPOKEN: Check = (found, value, path) => {
  if (!isText(value)) found.add(path, 'must be a string');
  else if (value.trim() === '') found.add(path, 'text content blocks must contain non-whitespace text');
};

/** The text of a JSON object. */
export const OBJECT_TEXT = textThat((text) => {
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}, 'must be the text of a JSON object');

/** A value that may be left out. */
export const optional =
  (check: Check): Check =>
  (found, value, path) => {
    if (value !== undefined) check(found, value, path);
  };

/** An object with these fields, and others. */
export const record =
  (fields: Readonly<Record<string, Check>>): Check =>
  (found, value, path) => {
    if (!isJsonObject(value)) return found.add(path, 'must be an object');
    for (const [key, check] of Object.entries(fields)) check(found, value[key], within(path, key));
  };

/** A JSON Schema of tool arguments. */
export const SCHEMA = record({ type: anyThat((type) => type === 'object', 'must be "object"') });

/** Several checks of one object. */
export const all =
  (...checks: readonly ((found: Problems, value: JsonObject, path: string) => void)[]): Check =>
  (found, value, path) => {
    if (!isJsonObject(value)) return found.add(path, 'must be an object');
    for (const check of checks) check(found, value, path);
  };

/** An object whose `type` says what else it has. */
export const byType =
  (checks: Readonly<Record<string, Check>>, otherwise: (type: string) => string): Check =>
  (found, value, path) => {
    if (!isJsonObject(value)) return found.add(path, 'must be an object');
    const { type } = value;
    const check = isText(type) && Object.hasOwn(checks, type) ? checks[type] : undefined;
    if (check === undefined) found.add(`${path}.type`, otherwise(inWords(type)));
    else check(found, value, path);
  };

/** A list of objects. */
export const listOf =
  (check: Check, empty?: string): Check =>
  (found, value, path) => {
    if (empty !== undefined && Array.isArray(value) && value.length === 0) found.add(path, empty);
    for (const place of objectsAt(found, value, path)) check(found, place.item, place.path);
  };

/** A text that wasn't seen before. */
export const unique =
  (seen: Set<string>, what: string): Check =>
  (found, value, path) => {
    if (!isText(value)) return;
    if (seen.has(value)) found.add(path, `${what} must be unique: ${value} is there already`);
    seen.add(value);
  };
