import { TreadleError } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { secretSpellings } from './spellings.ts';

/** Takes secrets out of texts. Each is replaced by the same placeholder wherever it stands: `[secret:NAME]`. */
export interface Redactor {
  redact(text: string): string;
  /** The same value where there is nothing in it to redact. */
  redactJson<Value extends JsonValue>(value: Value): Value;
  /** Puts the values of these secrets back in the place of their placeholders; those of others stay. */
  reveal(text: string, names: readonly string[]): string;
  /** For a text that comes in pieces: a secret that is cut in two is found too. */
  stream(): RedactorStream;
}

/** What a piece lets out is redacted; what may be the beginning of a secret is held back until more has come. */
export interface RedactorStream {
  push(piece: string): string;
  /** What was held back, redacted. The stream can be used anew. */
  end(): string;
}

/** A secret that is shorter is found in words that have nothing to do with it. */
const SHORTEST = 8;
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** What stands in the place of a secret. */
export const placeholder = (name: string): string => `[secret:${name}]`;

/**
 * Makes a redactor for secrets by name. A secret is found as it is, and in each of its `secretSpellings`.
 *
 * @throws TreadleError `invalid_definition` for a name or a value that can't work. The value is not in the message.
 * @example
 * ```ts
 * import { createRedactor } from '@treadle/core/features';
 *
 * const redactor = createRedactor({ DEPLOY_KEY: 'k3y.with.dots' });
 * console.log(redactor.redact('curl -H "Key: k3y.with.dots"')); // curl -H "Key: [secret:DEPLOY_KEY]"
 * ```
 */
export function createRedactor(secrets: Readonly<Record<string, string>>): Redactor {
  const names = new Map<string, string>();
  for (const [name, value] of Object.entries(secrets)) {
    if (!NAME.test(name))
      refuse(
        `The name of a secret must be 1 to 64 letters, digits, "_", "." or "-", and it is ${JSON.stringify(name)}.`,
      );
    if (value.length < SHORTEST) refuse(`The secret ${name} must have at least ${SHORTEST} characters.`);
    for (const form of secretSpellings(value)) if (!names.has(form)) names.set(form, placeholder(name));
  }
  // The longest first: where one secret begins another, it is the other that is there.
  const forms = [...names.keys()].toSorted((a, b) => b.length - a.length);
  const pattern = new RegExp(forms.length === 0 ? '(?!)' : forms.map(escaped).join('|'), 'g');
  const redact = (text: string): string => text.replace(pattern, (form) => names.get(form) ?? form);
  return {
    redact,
    redactJson: (value) => redactJson(value, redact),
    reveal: (text, allowed) =>
      allowed.reduce((shown, name) => {
        const value = secrets[name];
        return value === undefined ? shown : shown.replaceAll(placeholder(name), () => value);
      }, text),
    stream: () => redactorStream(forms, pattern, names),
  };
}

function refuse(message: string): never {
  throw new TreadleError('invalid_definition', message);
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);

function redactJson<Value extends JsonValue>(value: Value, redact: (text: string) => string): Value {
  let changed = false;
  const take = (text: string): string => {
    const clean = redact(text);
    if (clean !== text) changed = true;
    return clean;
  };
  const text = JSON.stringify(value, (_, item: unknown) => {
    if (typeof item === 'string') return take(item);
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    // Keys too: a model may put anything anywhere.
    const keys = Object.keys(item);
    if (keys.every((key) => take(key) === key)) return item;
    return Object.fromEntries(Object.entries(item).map(([key, inner]) => [take(key), inner as unknown]));
  });
  return changed ? (JSON.parse(text) as Value) : value;
}

function redactorStream(forms: readonly string[], pattern: RegExp, names: ReadonlyMap<string, string>): RedactorStream {
  const longest = forms[0]?.length ?? 0;
  const byFirst = Map.groupBy(forms, (form) => form.charAt(0));
  let held = '';

  /** Where a secret may have begun that isn't whole yet, from `start` on; the text's end when nowhere. */
  function openFrom(text: string, start: number): number {
    for (let at = Math.max(start, text.length - longest + 1); at < text.length; at += 1) {
      const candidates = byFirst.get(text.charAt(at));
      if (candidates === undefined) continue;
      const tail = text.slice(at);
      if (candidates.some((form) => form.length > tail.length && form.startsWith(tail))) return at;
    }
    return text.length;
  }

  function push(piece: string): string {
    const text = held + piece;
    let out = '';
    let start = 0;
    for (;;) {
      pattern.lastIndex = start;
      const found = pattern.exec(text);
      const open = openFrom(text, start);
      // What isn't whole yet may be a longer secret around the one that is.
      if (!found || open <= found.index) {
        held = text.slice(open);
        return out + text.slice(start, open);
      }
      out += text.slice(start, found.index) + (names.get(found[0]) ?? '');
      start = found.index + found[0].length;
    }
  }

  return {
    push,
    end() {
      const rest = held.replace(pattern, (form) => names.get(form) ?? form);
      held = '';
      return rest;
    },
  };
}
