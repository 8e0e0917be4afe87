import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

/** Collects what is wrong with a request, each with the place: `messages.1.content.0: …`. */
export interface Problems {
  readonly list: string[];
  add(path: string, message: string): void;
}

export function problems(): Problems {
  const list: string[] = [];
  return { list, add: (path, message) => void list.push(path === '' ? message : `${path}: ${message}`) };
}

export const isText = (value: unknown): value is string => typeof value === 'string';

/** Any JSON value in words. */
export const inWords = (value: unknown): string => (isText(value) ? value : (JSON.stringify(value) ?? 'nothing'));

/** Whether the value is one of these words. */
export const isOneOf = (value: unknown, ...words: string[]): boolean => isText(value) && words.includes(value);

/** The objects of an array with their paths; what isn't an array of objects is a problem. */
export function objectsAt(found: Problems, value: unknown, path: string): { item: JsonObject; path: string }[] {
  if (!Array.isArray(value)) {
    found.add(path, 'must be an array');
    return [];
  }
  const items: { item: JsonObject; path: string }[] = [];
  value.forEach((item: JsonValue, index) => {
    if (isJsonObject(item)) items.push({ item, path: `${path}.${index}` });
    else found.add(`${path}.${index}`, 'must be an object');
  });
  return items;
}

/** Text that a provider takes: present and not only whitespace. */
export function checkText(found: Problems, value: unknown, path: string): void {
  if (!isText(value)) found.add(path, 'must be a string');
  else if (value.trim() === '') found.add(path, 'text content blocks must contain non-whitespace text');
}

export function checkName(found: Problems, value: unknown, path: string, longest: 64 | 128): void {
  const legal = longest === 64 ? /^[a-zA-Z0-9_-]{1,64}$/ : /^[a-zA-Z0-9_-]{1,128}$/;
  if (!isText(value) || !legal.test(value)) found.add(path, `must match ${legal.source}`);
}

export function checkWholeNumber(found: Problems, value: unknown, path: string): void {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) found.add(path, 'must be a positive integer');
}

export function checkRange(found: Problems, value: unknown, path: string, low: number, high: number): void {
  if (typeof value !== 'number' || value < low || value > high) found.add(path, `must be from ${low} to ${high}`);
}

/** A JSON Schema of tool arguments. */
export function checkSchema(found: Problems, value: unknown, path: string): void {
  if (!isJsonObject(value)) found.add(path, 'must be an object');
  else if (value['type'] !== 'object') found.add(`${path}.type`, 'must be "object"');
}

/** Names seen before are a problem. */
export function checkUnique(found: Problems, seen: Set<string>, value: unknown, path: string, what: string): void {
  if (!isText(value)) return;
  if (seen.has(value)) found.add(path, `${what} must be unique: ${value} is there already`);
  seen.add(value);
}

/** Half a surrogate pair is no Unicode text, and both services refuse a body that has one. */
export function checkUnicode(found: Problems, value: unknown, path = ''): void {
  if (typeof value === 'string') {
    if (/\p{Surrogate}/u.test(value)) found.add(path, 'the text has half of a surrogate pair');
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => checkUnicode(found, item, path === '' ? `${index}` : `${path}.${index}`));
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) checkUnicode(found, item, path === '' ? key : `${path}.${key}`);
  }
}
