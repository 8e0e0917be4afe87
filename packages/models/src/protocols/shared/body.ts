import type { HttpBody, JsonObject } from '@treadle/core';
import { gathered } from './growing-text.ts';
import type { Piece } from './growing-text.ts';
import { toJson } from './json-text.ts';

/** Writes one JSON object field by field, from texts that are JSON already, some of them as bytes. */
export interface BodyWriter {
  /** Adds a field, unless its text is undefined or the extra fields have one of that name. The name is written as it is. */
  field(name: string, json: string | readonly Piece[] | undefined): void;
  /**
   * The object, with the extra fields last: as text where no piece was bytes, or else as bytes that nobody writes to
   * again. Long pieces are not copied.
   */
  end(): HttpBody;
}

/** A body whose fields come in the order they are added. `extra` wins over a field of the same name. */
export function createBody(extra: JsonObject | undefined): BodyWriter {
  return new ObjectBody(extra);
}

/** A class: every request has one, and its methods are made once. */
class ObjectBody implements BodyWriter {
  readonly #extra: JsonObject | undefined;
  #pieces: Piece[] | undefined;
  /** What follows the last of the pieces. */
  #text = '';

  constructor(extra: JsonObject | undefined) {
    this.#extra = extra;
  }
  field(name: string, json: string | readonly Piece[] | undefined): void {
    if (json === undefined || (this.#extra !== undefined && Object.hasOwn(this.#extra, name))) return;
    this.#add(`"${name}":`, json);
  }
  end(): HttpBody {
    for (const name in this.#extra) {
      const value = this.#extra[name];
      if (value !== undefined) this.#add(`${JSON.stringify(name)}:`, toJson(value));
    }
    this.#text += this.#isEmpty() ? '{}' : '}';
    if (this.#pieces === undefined) return this.#text;
    this.#pieces.push(this.#text);
    return gathered(this.#pieces);
  }
  #isEmpty(): boolean {
    return this.#text === '' && this.#pieces === undefined;
  }
  #add(start: string, json: string | readonly Piece[]): void {
    this.#text += (this.#isEmpty() ? '{' : ',') + start;
    if (typeof json === 'string') {
      this.#text += json;
      return;
    }
    for (const piece of json) {
      if (typeof piece === 'string') this.#text += piece;
      else {
        (this.#pieces ??= []).push(this.#text, piece);
        this.#text = '';
      }
    }
  }
}
