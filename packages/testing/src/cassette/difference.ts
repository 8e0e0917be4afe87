import type { JsonValue } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

const LONGEST_SHOWN = 60;

const short = (value: JsonValue | undefined): string => {
  if (value === undefined) return 'nothing';
  const json = JSON.stringify(value);
  return json.length > LONGEST_SHOWN ? `${json.slice(0, LONGEST_SHOWN)}…` : json;
};

/** Two texts from a little before the place where they part. */
const parted = (recorded: string, now: string): readonly [string, string] => {
  let at = 0;
  while (at < recorded.length && recorded[at] === now[at]) at++;
  const from = Math.max(0, at - 20);
  const cut = (text: string): string => short((from > 0 ? '…' : '') + text.slice(from));
  return [cut(recorded), cut(now)];
};

/** Where a value differs from the recorded one first, in words, or undefined. The order of an object's keys doesn't matter. */
function jsonDifference(recorded: JsonValue | undefined, now: JsonValue | undefined, path: string): string | undefined {
  if (recorded === now) return undefined;
  if (typeof recorded === 'string' && typeof now === 'string') {
    const [then, today] = parted(recorded, now);
    return `${path}: recorded ${then}, now ${today}`;
  }
  if (Array.isArray(recorded) && Array.isArray(now)) {
    for (let at = 0; at < Math.max(recorded.length, now.length); at++) {
      const found = jsonDifference(recorded[at] as JsonValue, now[at] as JsonValue, `${path}[${at}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (isJsonObject(recorded) && isJsonObject(now)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
      const own = (value: typeof recorded): JsonValue | undefined =>
        Object.hasOwn(value, key) ? value[key] : undefined;
      const found = jsonDifference(own(recorded), own(now), `${path}.${key}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return `${path}: recorded ${short(recorded)}, now ${short(now)}`;
}

const parsed = (text: string): JsonValue | undefined => {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
};

/** The first difference of two bodies: as JSON where both are, else as text. */
export function bodyDifference(recorded: string, now: string): string | undefined {
  if (recorded === now) return undefined;
  const [then, today] = [parsed(recorded), parsed(now)];
  if (then !== undefined && today !== undefined) return jsonDifference(then, today, 'body');
  return jsonDifference(recorded, now, 'body');
}
