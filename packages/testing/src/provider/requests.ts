import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

/** Collects what is wrong with a request, each with the place: `messages.1.content.0: …`. */
export interface Problems {
  add(path: string, message: string): void;
}

/** An object of a list, with its place. */
export interface Place {
  readonly item: JsonObject;
  readonly path: string;
}

/** The path of a field. */
export const within = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

export const isText = (value: unknown): value is string => typeof value === 'string';

/** Any JSON value in words. */
export const inWords = (value: unknown): string => (isText(value) ? value : (JSON.stringify(value) ?? 'nothing'));

/** The objects of an array with their paths; what isn't an array of objects is a problem. */
export function objectsAt(found: Problems, value: unknown, path: string): Place[] {
  if (!Array.isArray(value)) {
    found.add(path, 'must be an array');
    return [];
  }
  return value.flatMap((item: JsonValue, index) => {
    if (isJsonObject(item)) return [{ item, path: `${path}.${index}` }];
    found.add(`${path}.${index}`, 'must be an object');
    return [];
  });
}

/** The messages of a conversation whose two roles alternate. */
export function turnsAt(
  found: Problems,
  value: unknown,
  words: {
    readonly path: string;
    readonly roles: readonly [string, string];
    readonly none: string;
    readonly role: string;
  },
): (Place & { readonly role: string })[] {
  const { path: list, roles, none, role: wrong } = words;
  const places = objectsAt(found, value, list);
  if (places.length === 0) found.add(list, none);
  let before: unknown;
  return places.flatMap((place) => {
    const { role } = place.item;
    if (!isText(role) || !roles.includes(role)) {
      found.add(`${place.path}.role`, wrong);
      return [];
    }
    if (before === role) found.add(place.path, `roles must alternate between ${roles.join(' and ')}; two are ${role}`);
    before = role;
    return [{ ...place, role }];
  });
}

/** Half a surrogate pair is no Unicode text, and the services refuse a body that has one. */
function checkUnicode(found: Problems, value: unknown, path: string): void {
  if (isText(value)) {
    if (!value.isWellFormed()) found.add(path, 'the text has half of a surrogate pair');
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) checkUnicode(found, item, within(path, key));
  }
}

/** What is wrong with a request's body. */
export function problemsOf(body: unknown, check: (found: Problems, body: JsonObject) => void): string[] {
  const list: string[] = [];
  const found: Problems = {
    add: (path, message) => void list.push(path === '' ? message : `${path}: ${message}`),
  };
  if (!isJsonObject(body)) return ['The body must be a JSON object.'];
  check(found, body);
  checkUnicode(found, body, '');
  return list;
}
