import type { JsonObject } from '@treadle/core';
import { toJson } from './json-text.ts';

/** Writes one JSON object field by field, from texts that are JSON already. */
export interface BodyWriter {
  /** Adds a field, unless its text is undefined or the extra fields have one of that name. */
  field(name: string, json: string | undefined): void;
  /** The object, with the extra fields last. */
  end(): string;
}

/** A body whose fields come in the order they are added. `extra` wins over a field of the same name. */
export function createBody(extra: JsonObject | undefined): BodyWriter {
  let text = '{';
  const add = (name: string, json: string): void => {
    text += `${text === '{' ? '' : ','}${JSON.stringify(name)}:${json}`;
  };
  return {
    field(name, json) {
      if (json === undefined || (extra !== undefined && Object.hasOwn(extra, name))) return;
      add(name, json);
    },
    end() {
      for (const [name, value] of Object.entries(extra ?? {})) if (value !== undefined) add(name, toJson(value));
      return `${text}}`;
    },
  };
}
