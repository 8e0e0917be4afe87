import { wellFormed } from './json-text.ts';

const SURROGATE = /[\uD800-\uDFFF]/;

/** Text that arrives in pieces. */
export interface TextRun {
  /** Adds a piece and returns what may be shown now. */
  add(piece: string): string;
  /** What was held back, when nothing follows. */
  rest(): string;
  /** All of it. */
  whole(): string;
}

/**
 * Collects pieces of text so that no piece it hands out has half a surrogate pair: a half at the end of a piece is
 * held back until the other half comes, and a half that stays alone becomes U+FFFD.
 */
export function createTextRun(): TextRun {
  return new WellFormedRun();
}

/** A class: there is one for every block of every response, and its methods are made once. */
class WellFormedRun implements TextRun {
  #text = '';
  #held = '';

  add(piece: string): string {
    let shown = this.#held === '' ? piece : this.#held + piece;
    this.#held = '';
    const last = shown.charCodeAt(shown.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      this.#held = shown.slice(-1);
      shown = shown.slice(0, -1);
    }
    // A text without any code unit in the surrogate range, which is nearly every one, is left as it is.
    if (SURROGATE.test(shown)) shown = wellFormed(shown);
    this.#text += shown;
    return shown;
  }
  rest(): string {
    if (this.#held === '') return '';
    this.#held = '';
    this.#text += '\uFFFD';
    return '\uFFFD';
  }
  whole(): string {
    return this.#text;
  }
}
