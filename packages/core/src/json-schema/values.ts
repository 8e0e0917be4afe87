import type { JsonObject } from '../json.ts';

/** The JSON type of a value; `other` for what JSON can't say. */
export type Kind = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object' | 'other';

export function kindOf(value: unknown): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isFinite(value) ? 'number' : 'other';
  const type = typeof value;
  return type === 'string' || type === 'boolean' || type === 'object' ? type : 'other';
}

const SHOWN_CHARACTERS = 40;

/** A value in a few words, for a message to a model. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `string ${quote(value)}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'number') return Number.isFinite(value) ? `number ${value}` : String(value);
  return typeof value === 'boolean' ? `boolean ${value}` : `a value of type ${typeof value}`;
}

/** A string as JSON, cut when long. */
function quote(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text);
}

/** Some values as JSON, in a list that stays readable. */
export function listOf(values: readonly unknown[]): string {
  const shown = values.slice(0, 20).map((value) => {
    if (typeof value === 'string') return quote(value);
    const text = JSON.stringify(value) ?? String(value);
    return text.length > 80 ? `${text.slice(0, 80)}…` : text;
  });
  return shown.join(', ') + (values.length > shown.length ? `, … (${values.length} in all)` : '');
}

/** The own properties that count: JSON has no `undefined`, so such a property is absent. */
export function has(value: JsonObject, key: string): boolean {
  return Object.hasOwn(value, key) && value[key] !== undefined;
}

/** Equality of JSON values. Goes no deeper than the shallower of the two. */
export function equals(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => equals(item, b[index]));
  }
  const left = a as JsonObject;
  const right = b as JsonObject;
  const keys = Object.keys(left).filter((key) => left[key] !== undefined);
  const others = Object.keys(right).filter((key) => right[key] !== undefined);
  return keys.length === others.length && keys.every((key) => has(right, key) && equals(left[key], right[key]));
}

const CANONICAL_DEPTH = 300;

/** A text that is the same for equal JSON values and for no others; undefined when nested too deep. */
export function canonical(value: unknown, depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  if (depth >= CANONICAL_DEPTH) return undefined;
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) {
      const part = canonical(item, depth + 1);
      if (part === undefined) return undefined;
      parts.push(part);
    }
    return `[${parts.join(',')}]`;
  }
  const object = value as JsonObject;
  for (const key of Object.keys(object).sort()) {
    if (object[key] === undefined) continue;
    const part = canonical(object[key], depth + 1);
    if (part === undefined) return undefined;
    parts.push(`${JSON.stringify(key)}:${part}`);
  }
  return `{${parts.join(',')}}`;
}

/** Length in code points, as JSON Schema counts. */
export const codePoints = (text: string): number => Array.from(text).length;
