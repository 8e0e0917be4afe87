import { TreadleError, type JsonObject, type UserContent } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

/** The error for a part of a request that can't be read: `invalid_messages`, with the place in its message and its `details`. */
export const invalidAt = (path: string, what: string): TreadleError =>
  new TreadleError('invalid_messages', `${path} ${what}.`, { details: { path } });

/** A part of a request that must be an object. `path` names its place, as `messages[0].parts`. @throws TreadleError `invalid_messages` */
export function objectAt(value: unknown, path: string): JsonObject {
  if (!isJsonObject(value)) throw invalidAt(path, 'must be an object');
  return value;
}

/** A part of a request that must be an array. @throws TreadleError `invalid_messages` */
export function listAt(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidAt(path, 'must be an array');
  return value;
}

/** A part of a request that must be a text, and not empty. @throws TreadleError `invalid_messages` */
export function textAt(value: unknown, path: string): string {
  if (typeof value !== 'string' || value === '') throw invalidAt(path, 'must be a text that is not empty');
  return value;
}

/** A `data:` URL as the media type and base64 that it is; null for any other address. */
function dataUrl(url: string): { readonly mediaType: string; readonly data: string } | null {
  const match = /^data:([^;,]+);base64,([A-Za-z0-9+/=]*)$/.exec(url);
  return match ? { mediaType: match[1] ?? '', data: match[2] ?? '' } : null;
}

/** A file of a request as a block: an image where its type says so. */
export function fileBlock(mediaType: string, url: string, name?: string): UserContent {
  const source = dataUrl(url);
  const place = source ? { mediaType, data: source.data } : { mediaType, url };
  if (mediaType.startsWith('image/')) return { type: 'image', ...place };
  return { type: 'file', ...place, ...(name === undefined ? {} : { name }) };
}
