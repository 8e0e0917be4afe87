import type { JsonObject, JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

/** Characters of an argument, and of a result, that clients are shown. */
const SHOWN_ARGUMENT = 200;
const SHOWN_RESULT = 4000;

/** Eight hexadecimal digits that stand for a text: the same text, the same digits (FNV-1a). */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

/** The file that a call left, by the details of its result. */
export function updatedContentOf(details: JsonValue | undefined): string | null {
  const updated = isJsonObject(details) ? details['updatedContent'] : undefined;
  return typeof updated === 'string' ? updated : null;
}

/** A call in short. Of a file only its beginning and its length are told: the file itself comes as code. */
export function callSummary(name: string, input: JsonValue | undefined): JsonObject {
  if (!isJsonObject(input)) return {};
  const { content } = input;
  if (name !== 'create_file' || typeof content !== 'string') return shortened(input) as JsonObject;
  const { content: _, ...rest } = input;
  const short = shortened(rest) as JsonObject;
  return { ...short, contentLength: content.length, preview: content.slice(0, SHOWN_ARGUMENT) };
}

/** A result in short: what its tool has put into `details.summary`, else its text. */
export function resultSummary(text: string, details: JsonValue | undefined): JsonObject {
  const summary = isJsonObject(details) ? details['summary'] : undefined;
  if (isJsonObject(summary)) return summary;
  return { text: text.length > SHOWN_RESULT ? `${text.slice(0, SHOWN_RESULT)}…` : text };
}

function shortened(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.length > SHOWN_ARGUMENT ? `${value.slice(0, SHOWN_ARGUMENT)}…` : value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => shortened(item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortened(item ?? null)]));
}

/**
 * The page in an answer: from `<!doctype` or `<html` to `</html>`, else what is in a fenced block of HTML.
 * Null when there is none.
 */
export function extractHtml(text: string): string | null {
  const lower = text.toLowerCase();
  const doctype = lower.indexOf('<!doctype html');
  const element = lower.indexOf('<html');
  const start = doctype >= 0 && (element < 0 || doctype < element) ? doctype : element;
  if (start >= 0) {
    const end = lower.lastIndexOf('</html>');
    if (end > start) return text.slice(start, end + '</html>'.length);
    // Cut off before its end: what stands behind a closing fence isn't part of it.
    const fence = text.indexOf('\n```', start);
    return text.slice(start, fence < 0 ? undefined : fence).trimEnd();
  }
  const open = /```(?:html|svg|xml)[^\n]*\n/.exec(lower);
  if (!open) return null;
  const from = open.index + open[0].length;
  const close = text.indexOf('```', from);
  const block = text.slice(from, close < 0 ? undefined : close).trim();
  return block === '' ? null : block;
}
