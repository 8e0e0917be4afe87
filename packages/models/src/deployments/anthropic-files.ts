import { isJsonObject } from '@treadle/core';
import type { HttpResponse, JsonObject, ModelFile, ModelFiles } from '@treadle/core';
import { excerptOf } from '../errors/classify.ts';
import type { FilesWire } from '../model.ts';

/** The files of the API are a feature that each request for them names. */
const HEADERS = {
  accept: 'application/json',
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'files-api-2025-04-14',
};

/** An id becomes part of a path, and comes from a reply: nothing in it may lead elsewhere. */
const FILE_ID = /^[A-Za-z0-9_-]{1,200}$/;
/** Bytes of what the API says about a file, or of an error. */
const MOST_TEXT_BYTES = 64 * 1024;

/** Reads files by Anthropic's Files API: first what it says about one, then its bytes. */
export function anthropicFiles(wire: FilesWire): ModelFiles {
  const get = async (path: string, signal: AbortSignal, what: string): Promise<HttpResponse> => {
    const response = await wire.get(path, HEADERS, signal);
    if (response.status === 200) return response;
    const said = await textOf(response, what).catch(() => '');
    const excerpt = excerptOf(said, wire.redact);
    throw new Error(`The provider answered ${response.status} when it was asked for ${what}. ${excerpt}`.trim());
  };
  return {
    async read(fileId, { signal, maxBytes }): Promise<ModelFile> {
      if (!FILE_ID.test(fileId)) throw new Error('This is not the id of a file of the Files API.');
      const what = `the file ${fileId}`;
      const about = parsed(await textOf(await get(`/files/${fileId}`, signal, what), what));
      const { filename, mime_type: mediaType, size_bytes: size, downloadable } = about;
      if (typeof filename !== 'string' || typeof mediaType !== 'string' || !Number.isSafeInteger(size)) {
        throw new Error(`What the provider says about ${what} lacks its name, its type or its size.`);
      }
      const bytes = size as number;
      if (downloadable === false) throw new Error(`The provider does not give ${what} out: it was uploaded.`);
      if (bytes > maxBytes) throw new Error(`It has ${bytes} bytes, and ${maxBytes} may be kept.`);
      const { body } = await get(`/files/${fileId}/content`, signal, what);
      return { name: filename, mediaType, size: bytes, body: exactly(body, bytes, what) };
    },
  };
}

async function* exactly(body: AsyncIterable<Uint8Array>, size: number, what: string): AsyncGenerator<Uint8Array> {
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
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Said below.
  }
  throw new Error('What the provider says about the file is no JSON object.');
}
