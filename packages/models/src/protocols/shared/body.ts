import type { JsonObject } from '@treadle/core';
import { toJson } from './json-text.ts';

/**
 * A JSON object of fields whose values are JSON already, in their order. Fields without a value are left out. `extra`
 * comes last and wins over a field of the same name.
 */
export function bodyOf(fields: Readonly<Record<string, string | undefined>>, extra: JsonObject = {}): string {
  const own = Object.entries(fields).filter(([name]) => !Object.hasOwn(extra, name));
  const others = Object.entries(extra).map(([name, value]) => [name, jsonOf(value)] as const);
  let body = '';
  // Added up, not joined: the messages are long.
  for (const [name, json] of [...own, ...others])
    if (json !== undefined) body += `${body === '' ? '' : ','}${JSON.stringify(name)}:${json}`;
  return `{${body}}`;
}

/** JSON of a value that may be missing. */
export const jsonOf = (value: unknown): string | undefined => (value === undefined ? undefined : toJson(value));

/** JSON of a list or an object that is left out when it is empty. */
export const filledJson = (value: object | undefined): string | undefined =>
  value === undefined || Object.values(value).every((part) => part === undefined) ? undefined : toJson(value);

/** A JSON array of elements that are JSON already; those that are empty are left out, and so is an empty array. */
export function arrayOf(elements: readonly string[]): string | undefined {
  const written = elements.filter((json) => json !== '');
  return written.length === 0 ? undefined : `[${written.join(',')}]`;
}
