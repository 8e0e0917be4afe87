import type { JsonObject, JsonValue } from './json.ts';

/** A digest of values, to tell whether two are the same without keeping them. Not for secrets or against attackers. */
export interface Digest {
  text(text: string): void;
  json(value: JsonValue | undefined): void;
  value(): string;
}

const PRIME_A = 0x01000193;
const PRIME_B = 0x85ebca6b;

/** What is still to be looked at. A stack of its own: how deep a value is nested is for a model to say. */
const open: (JsonValue | undefined)[] = [];

/** Two lanes of 32 bits that are fed each code unit: chance collisions are out of the question for a run's turns. */
class Lanes implements Digest {
  #a = 0x811c9dc5 | 0;
  #b = 0x9e3779b9 | 0;

  #unit(code: number): void {
    const b = this.#b;
    this.#a = Math.imul(this.#a ^ code, PRIME_A);
    this.#b = Math.imul((b ^ code) + ((b << 13) | (b >>> 19)), PRIME_B);
  }

  text(words: string): void {
    // The length first, so that the end of one text is not taken for the beginning of the next.
    this.#unit(words.length);
    for (let index = 0; index < words.length; index++) this.#unit(words.charCodeAt(index));
  }

  json(value: JsonValue | undefined): void {
    // A getter may throw, or look at a digest itself: nothing of one is left for another.
    const below = open.length;
    open.push(value);
    try {
      this.#eachAbove(below);
    } finally {
      open.length = below;
    }
  }

  #eachAbove(below: number): void {
    while (open.length > below) {
      const next = open.pop();
      if (typeof next === 'string') {
        this.#unit(1);
        this.text(next);
      } else if (typeof next !== 'object' || next === null) {
        this.#unit(2);
        this.text(String(next));
      } else if (isList(next)) {
        this.#unit(3);
        this.#unit(next.length);
        for (let index = 0; index < next.length; index++) open.push(next[index]);
      } else this.#object(next);
    }
  }

  #object(value: JsonObject): void {
    this.#unit(4);
    for (const key of Object.keys(value)) {
      this.text(key);
      open.push(value[key]);
    }
    this.#unit(5);
  }

  value(): string {
    return `${(this.#a >>> 0).toString(36)}.${(this.#b >>> 0).toString(36)}`;
  }
}

export const createDigest = (): Digest => new Lanes();

const isList = (value: object): value is readonly JsonValue[] => Array.isArray(value);
