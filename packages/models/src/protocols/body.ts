import type { JsonObject } from '@treadle/core';
import { gathered } from './growing-text.ts';
import type { Piece } from './growing-text.ts';
import { toJson } from './json-text.ts';

/** Writes one JSON object field by field, from texts that are JSON already, some of them as bytes. */
export interface BodyWriter {
  /** Adds a field, unless its text is undefined or the extra fields have one of that name. */
  field(name: string, json: string | readonly Piece[] | undefined): void;
  /** The object, with the extra fields last, as bytes that nobody writes to again. Long pieces are not copied. */
  end(): readonly Uint8Array[];
}

/** A body whose fields come in the order they are added. `extra` wins over a field of the same name. */
export function createBody(extra: JsonObject | undefined): BodyWriter {
  const pieces: Piece[] = [];
  /** What follows the last of the pieces. */
  let text = '{';
  let empty = true;
  const add = (name: string, json: string | readonly Piece[]): void => {
    text += `${empty ? '' : ','}${JSON.stringify(name)}:`;
    empty = false;
    if (typeof json === 'string') {
      text += json;
      return;
    }
    for (const piece of json) {
      if (typeof piece === 'string') text += piece;
      else {
        pieces.push(text, piece);
        text = '';
      }
    }
  };
  return {
    field(name, json) {
      if (json === undefined || (extra !== undefined && Object.hasOwn(extra, name))) return;
      add(name, json);
    },
    end() {
      for (const [name, value] of Object.entries(extra ?? {})) if (value !== undefined) add(name, toJson(value));
      pieces.push(`${text}}`);
      return gathered(pieces);
    },
  };
}
