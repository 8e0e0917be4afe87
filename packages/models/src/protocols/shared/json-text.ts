import type { JsonObject, JsonValue } from '@treadle/core';
import { isDeepText, MAX_ENVELOPE_DEPTH, parseJson } from '@treadle/core/json';

/**
 * JSON of `value` that every server accepts: a lone surrogate, which `JSON.stringify` writes as an escape that strict
 * parsers refuse, becomes U+FFFD.
 */
export function toJson(value: unknown): string {
  const json = JSON.stringify(value);
  // Only a text with such an escape, real or quoted, is worth the slower second pass.
  if (!json.includes('\\ud')) return json;
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'string' ? part.toWellFormed() : part));
}

/**
 * The object in `text`, or undefined when `text` isn't JSON or isn't an object. Never throws. What is nested deeper than
 * anything may be is null: a call with such arguments is then refused by the loop, and its reply stands.
 */
export const parseObject = (text: string): Readonly<Record<string, unknown>> | undefined => asObject(parseFrame(text));

/** The JSON that a provider sent, or undefined when it isn't any. Never throws. */
export function parseFrame(text: string): unknown {
  try {
    // oxlint-disable-next-line eslint/no-restricted-properties -- the limit follows
    const value: unknown = JSON.parse(text);
    return isDeepText(text, MAX_ENVELOPE_DEPTH) ? withoutDepths(value, MAX_ENVELOPE_DEPTH) : value;
  } catch {
    return undefined;
  }
}

/** Puts null in the place of objects and arrays that are more than `most` levels deep. Doesn't recurse. */
function withoutDepths(value: unknown, most: number): unknown {
  const isContainer = (item: unknown): item is Record<string, unknown> => typeof item === 'object' && item !== null;
  let level = [value].filter(isContainer);
  for (let depth = 1; depth < most; depth += 1) {
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  for (const container of level) {
    for (const [key, item] of Object.entries(container)) if (isContainer(item)) container[key] = null;
  }
  return value;
}

/** True for JSON, whatever it is. */
export const isJson = (text: string): boolean => parseFrame(text) !== undefined;

/** The JSON in a text that a model wrote for a tool of its provider, or the text. */
export function parsedOrText(text: string): JsonValue {
  try {
    return parseJson(text) as JsonValue;
  } catch {
    return text;
  }
}

/** `value` as an object of unknown fields, or undefined. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** `value` if it is a string with something in it. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A count of tokens as it was reported, which may be any number: `checkUsage` says whether it can be true. */
export const asCount = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** An object without these fields. */
export const without = (fields: Readonly<Record<string, unknown>>, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name))) as JsonObject;
