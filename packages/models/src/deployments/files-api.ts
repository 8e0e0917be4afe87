import { isJsonObject } from '@treadle/core/json';
import type { JsonObject } from '@treadle/core';
import type { HttpResponse } from '@treadle/core/ports';
import { parseFrame } from '../protocols/shared/json-text.ts';
import { excerptOf } from '../errors/classify.ts';
import type { FilesWire } from '../model.ts';

/** An id becomes part of a path, and comes from a reply: nothing in it may lead elsewhere. */
export const isFileId = (id: string): boolean => /^[A-Za-z0-9_-]{1,200}$/.test(id);

/** Bytes of what an API says about a file, or of an error. */
const MOST_TEXT_BYTES = 64 * 1024;

/** Asks for something of a Files API. `what` names it in errors. Rejects for any answer but 200, with what it says. */
export async function getFile(
  wire: FilesWire,
  path: string,
  headers: Readonly<Record<string, string>>,
  { signal, what }: { readonly signal: AbortSignal; readonly what: string },
): Promise<HttpResponse> {
  const response = await wire.get(path, headers, signal);
  if (response.status === 200) return response;
  const said = await textOf(response, what).catch(() => '');
  const excerpt = excerptOf(said, wire.redact);
  throw new Error(`The provider answered ${response.status} when it was asked for ${what}. ${excerpt}`.trim());
}

/** What an API says about a file. Rejects for what is no JSON object. */
export const aboutFile = async (response: HttpResponse, what: string): Promise<JsonObject> =>
  parsed(await textOf(response, what));

/** A file's bytes; throws when they are not as many as was said. */
export async function* exactly(
  body: AsyncIterable<Uint8Array>,
  size: number,
  what: string,
): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const piece of body) {
    read += piece.length;
    if (read > size) break;
    yield piece;
  }
  if (read !== size) throw new Error(`The provider said that ${what} has ${size} bytes, and it has not.`);
}

async function textOf({ body }: HttpResponse, what: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > MOST_TEXT_BYTES) throw new Error(`What the provider says about ${what} is too long to be true.`);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

function parsed(text: string): JsonObject {
  const value = parseFrame(text);
  if (isJsonObject(value)) return value;
  throw new Error('What the provider says about the file is no JSON object.');
}
