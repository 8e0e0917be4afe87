import type { JsonValue } from '../json.ts';

/** A digest of values, to tell whether two are the same without keeping them. Not for secrets or against attackers. */
export interface Digest {
  text(text: string): void;
  json(value: JsonValue | undefined): void;
  value(): string;
}

const PRIME_A = 0x01000193;
const PRIME_B = 0x85ebca6b;

/** Two lanes of 32 bits that are fed each code unit: chance collisions are out of the question for a run's turns. */
export function createDigest(): Digest {
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  const unit = (code: number): void => {
    a = Math.imul(a ^ code, PRIME_A);
    b = Math.imul((b ^ code) + ((b << 13) | (b >>> 19)), PRIME_B);
  };
  const text = (words: string): void => {
    // The length first, so that the end of one text is not taken for the beginning of the next.
    unit(words.length);
    // Every character of every result comes through here: lanes of the loop's own cost less than those of the digest.
    let c = a;
    let d = b;
    for (let index = 0; index < words.length; index++) {
      const code = words.charCodeAt(index);
      c = Math.imul(c ^ code, PRIME_A);
      d = Math.imul((d ^ code) + ((d << 13) | (d >>> 19)), PRIME_B);
    }
    a = c;
    b = d;
  };
  return {
    text,
    json(value) {
      // A stack of its own: how deep a value is nested is for a model to say.
      const open: (JsonValue | undefined)[] = [value];
      while (open.length > 0) {
        const next = open.pop();
        if (typeof next !== 'object' || next === null) {
          const isText = typeof next === 'string';
          unit(isText ? 1 : 2);
          text(isText ? next : String(next));
        } else if (isList(next)) {
          unit(3);
          unit(next.length);
          for (let index = 0; index < next.length; index++) open.push(next[index]);
        } else {
          unit(4);
          for (const key of Object.keys(next)) {
            text(key);
            open.push(next[key]);
          }
          unit(5);
        }
      }
    },
    value: () => `${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`,
  };
}

const isList = (value: object): value is readonly JsonValue[] => Array.isArray(value);
