import type { JsonObject } from '@treadle/core';
import { joined } from './growing-text.ts';
import type { Piece } from './growing-text.ts';
import { toJson } from './json-text.ts';

/** Writes one JSON object field by field, from texts that are JSON already, some of them as bytes. */
export interface BodyWriter {
  /** Adds a field, unless its JSON is undefined or the extra fields have one of that name. The name is written as it is. */
  field(name: string, json: string | readonly Piece[] | undefined): void;
  /** The object, with the extra fields last. */
  end(): Uint8Array;
}

/** A body whose fields come in the order they are added. `extra` wins over a field of the same name. */
export function createBody(extra: JsonObject = {}): BodyWriter {
  const pieces: Piece[] = [];
  /** What follows the last of the pieces. */
  let text = '{';
  let separator = '';

  const add = (name: string, json: string | readonly Piece[]): void => {
    text += `${separator}${name}:`;
    separator = ',';
    for (const piece of typeof json === 'string' ? [json] : json) {
      if (typeof piece === 'string') text += piece;
      else {
        pieces.push(text, piece);
        text = '';
      }
    }
  };

  return {
    field(name, json) {
      if (json !== undefined && !Object.hasOwn(extra, name)) add(`"${name}"`, json);
    },
    end() {
      for (const [name, value] of Object.entries(extra)) {
        if (value !== undefined) add(JSON.stringify(name), toJson(value));
      }
      return joined([...pieces, `${text}}`]);
    },
  };
}
