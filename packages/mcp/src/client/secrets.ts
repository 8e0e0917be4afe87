import { parseJson } from '@treadle/core/json';
import type { JsonValue, ToolResult } from '@treadle/core';

/** Shorter values are words, and hiding them would hide what a server says. */
const SHORTEST = 8;

/** What stands in a value of a header: `Bearer abc` has `abc`, too. */
export const secretsOf = (values: Iterable<string>): readonly string[] =>
  [...values].flatMap((value) => [value, ...value.split(' ').slice(1)]).filter((value) => value.length >= SHORTEST);

/** A text without the secrets: a server may say back what it was sent. */
export const hide = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text);

/** A result without them. */
export function hideInResult(result: ToolResult, secrets: readonly string[]): ToolResult {
  if (secrets.length === 0) return result;
  const { content, details } = result;
  return {
    ...result,
    content:
      typeof content === 'string'
        ? hide(content, secrets)
        : content.map((block) => (block.type === 'text' ? { ...block, text: hide(block.text, secrets) } : block)),
    ...(details === undefined ? {} : { details: hideInJson(details, secrets) }),
  };
}

const hideInJson = (value: JsonValue, secrets: readonly string[]): JsonValue =>
  parseJson(
    JSON.stringify(value, (_, item: unknown) => (typeof item === 'string' ? hide(item, secrets) : item)),
  ) as JsonValue;
