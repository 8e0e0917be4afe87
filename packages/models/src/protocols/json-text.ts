const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** `text` with each half of a broken surrogate pair replaced by U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(LONE_SURROGATE, '\uFFFD');
}

/**
 * JSON of `value` that every server accepts: a lone surrogate, which `JSON.stringify` writes as an escape that strict
 * parsers refuse, becomes U+FFFD.
 */
export function toJson(value: unknown): string {
  const json = JSON.stringify(value);
  // Only a text with such an escape, real or quoted, is worth the slower second pass.
  if (!json.includes('\\ud')) return json;
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'string' ? wellFormed(part) : part));
}

/** The object in `text`, or undefined when `text` isn't JSON or isn't an object. Never throws. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
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

/** `value` if it is a count of tokens. */
export function asCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}
