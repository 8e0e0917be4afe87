import type { JsonObject, JsonValue } from '@treadle/core';
import { asObject, asText } from '../shared/json-text.ts';

const GROWING: readonly string[] = ['text', 'summary', 'data', 'signature'];

/**
 * Collects `reasoning_details`, which must go back to their provider as they were: parts with the same index and type are
 * one detail whose texts grow.
 */
export class ReasoningDetails {
  readonly all: Record<string, JsonValue | undefined>[] = [];

  /** Adds the details of one delta and returns the readable text in them. */
  add(details: readonly unknown[]): string {
    const parts = details.map(asObject).filter((part) => part !== undefined);
    for (const part of parts) this.#addOne(part);
    return parts.map((part) => asText(part['text']) ?? asText(part['summary']) ?? '').join('');
  }

  #addOne(part: Readonly<Record<string, unknown>>): void {
    const last = this.all.at(-1);
    const same =
      last?.['type'] === part['type'] &&
      last?.['index'] === part['index'] &&
      (part['id'] === undefined || part['id'] === null || last?.['id'] === part['id']);
    if (last === undefined || !same) return void this.all.push({ ...(part as JsonObject) });
    for (const [key, field] of Object.entries(part)) {
      const before = last[key];
      if (GROWING.includes(key) && typeof before === 'string' && typeof field === 'string') last[key] = before + field;
      else if (field !== null || before === undefined) last[key] = field as JsonValue;
    }
  }
}

/** The readable text of one part of a `content` list: prose, or `{"type":"thinking","thinking":[…]}`. */
export function contentPartText(
  value: unknown,
): { readonly kind: 'text' | 'thinking'; readonly text: string } | undefined {
  const part = asObject(value);
  if (part === undefined) return undefined;
  if (part['type'] === 'text') return { kind: 'text', text: asText(part['text']) ?? '' };
  if (part['type'] !== 'thinking') return undefined;
  const inner = part['thinking'];
  if (!Array.isArray(inner)) return { kind: 'thinking', text: asText(inner) ?? '' };
  return { kind: 'thinking', text: inner.map((piece: unknown) => asText(asObject(piece)?.['text']) ?? '').join('') };
}
