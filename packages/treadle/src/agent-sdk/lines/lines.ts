import { isJsonObject, parseJson } from '@treadle/core/json';
import { errorText, type JsonObject, type JsonValue } from '@treadle/core';

import type { InputStream, Printer } from '../../cli/io.ts';

/** The longest line that is read: a request with a few images in it is shorter. */
const MAX_LINE = 64 * 1024 * 1024;

/** Clients give up on a longer line: 1 MiB, less what an encoding may add. */
const MAX_WRITTEN = 1_000_000;

/** A line that ends the conversation, for nobody knows what it was to say. */
export class BadLine extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BadLine';
  }
}

/**
 * The JSON objects of a stream, one from each line.
 *
 * @throws BadLine for a line that is no JSON object, that is too long, or that the stream ends in.
 */
export async function* readLines(stream: InputStream): AsyncGenerator<JsonObject> {
  const decoder = new TextDecoder('utf-8');
  let pieces: string[] = [];
  let length = 0;
  let number = 0;
  const take = (piece: string): void => {
    length += piece.length;
    if (length > MAX_LINE) throw new BadLine(`Line ${number + 1} is longer than ${MAX_LINE} characters.`);
    if (piece !== '') pieces.push(piece);
  };
  const end = (): string => {
    const line = pieces.join('');
    pieces = [];
    length = 0;
    number += 1;
    return line;
  };
  for await (const chunk of stream) {
    let text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
      take(text.slice(0, at));
      text = text.slice(at + 1);
      const value = objectOf(end(), number);
      if (value !== null) yield value;
    }
    take(text);
  }
  // The last line needs no end.
  const value = objectOf(end(), number);
  if (value !== null) yield value;
}

/** Null for a line that is empty. */
function objectOf(line: string, number: number): JsonObject | null {
  if (line.trim() === '') return null;
  let value: unknown;
  try {
    value = parseJson(line);
  } catch (error) {
    throw new BadLine(`Line ${number} is no JSON: ${errorText(error)}`);
  }
  if (isJsonObject(value)) return value;
  throw new BadLine(`Line ${number} is no JSON object.`);
}

/** Writes whole JSON lines. What would make a line too long is cut in the middle. */
export const lineWriter =
  (out: Printer) =>
  (message: JsonObject): void => {
    let line = JSON.stringify(message);
    for (let most = 200_000; Buffer.byteLength(line) > MAX_WRITTEN; most = Math.floor(most / 2)) {
      line = JSON.stringify(shortened(message, most));
    }
    out.print(`${line}\n`);
  };

/** A value whose texts have so many characters at most. */
function shortened(value: JsonValue, most: number): JsonValue {
  if (typeof value === 'string') {
    if (value.length <= most) return value;
    const half = Math.floor(most / 2);
    return `${value.slice(0, half)}\n[… ${value.length - 2 * half} characters …]\n${value.slice(-half)}`;
  }
  if (Array.isArray(value)) {
    const list = (value as readonly JsonValue[]).map((item) => shortened(item, most));
    return list.length > most ? list.slice(0, most) : list;
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item = null]) => [name, shortened(item, most)]));
}
