import { TreadleError, type JsonObject } from '@treadle/core';
import { isJsonObject, parseJson } from '@treadle/core/json';
import { RequestError } from './problem.ts';

export interface BodyLimits {
  /** Bytes of a JSON body. */
  readonly maxBytes: number;
  /** Objects and arrays inside each other. */
  readonly maxDepth: number;
}

/**
 * The body of a request as a JSON object; an empty body is `{}`.
 *
 * @throws RequestError `unsupported_media_type`, `too_large`, `bad_request`.
 */
export async function readJson(request: Request, { maxBytes, maxDepth }: BodyLimits): Promise<JsonObject> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  const bytes = await readBytes(request, maxBytes);
  if (bytes.length === 0) return {};
  // A page of any origin may send text and forms without asking first; JSON it may not.
  if (type !== 'application/json') {
    throw new RequestError('unsupported_media_type', 'Send JSON, with the content type application/json.');
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new RequestError('bad_request', 'The body is not UTF-8.');
  }
  return parseObject(text, maxDepth);
}

/** @throws RequestError `bad_request` for what is no JSON object, is too deep, or says a key twice. */
function parseObject(text: string, maxDepth: number): JsonObject {
  let value: unknown;
  try {
    value = parseJson(text, maxDepth);
  } catch (error) {
    const isDeep = error instanceof TreadleError;
    const problem = isDeep ? `The body is more than ${maxDepth} levels deep.` : 'The body is not valid JSON.';
    throw new RequestError('bad_request', problem);
  }
  if (!isJsonObject(value)) throw new RequestError('bad_request', 'The body must be a JSON object.');
  // Every parser takes another of the two.
  if (saysKeyTwice(text)) throw new RequestError('bad_request', 'The body has an object that says the same key twice.');
  return value;
}

/** What matters of a JSON text: escapes, quotes, and where objects begin and end. */
const TOKEN = /\\.|["{}]/g;
const COLON = /\s*:/y;

/** Whether an object of a valid JSON text has a key twice. Two spellings of one key are one key. */
function saysKeyTwice(text: string): boolean {
  const open: Set<unknown>[] = [];
  /** Where the string begins that is being passed; null outside of strings. */
  let start: number | null = null;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (start === null) {
      if (token === '"') start = index;
      else if (token === '{') open.push(new Set());
      else open.pop();
    } else if (token === '"') {
      COLON.lastIndex = index + 1;
      const key = COLON.test(text) ? parseJson(text.slice(start, index + 1)) : null;
      start = null;
      const keys = open.at(-1);
      if (key !== null && keys?.has(key)) return true;
      if (key !== null) keys?.add(key);
    }
  }
  return false;
}

/** The body of a request. @throws RequestError `too_large`, at the first byte that is one too many. */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const announced = request.headers.get('content-length');
  if (announced !== null && Number(announced) > maxBytes) throw tooLarge(maxBytes);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of piecesOf(request)) {
    size += piece.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

export const BODY_IS_READ =
  'Something has read the body before the server could. Mount the server before it, or use `nodeHandler`, which takes what a body parser has read.';

/** A body as it comes in. A request that breaks off is a bad one. */
export async function* piecesOf({ body, bodyUsed }: Request): AsyncGenerator<Uint8Array> {
  if (bodyUsed) throw new RequestError('bad_request', BODY_IS_READ);
  try {
    if (body) yield* body;
  } catch (error) {
    throw error instanceof RequestError ? error : new RequestError('bad_request', 'The body broke off.');
  }
}

export const tooLarge = (maxBytes: number): RequestError =>
  // The rest of the body is not read, so the connection is of no further use.
  new RequestError('too_large', `The body has more than ${maxBytes} bytes, which is as many as are taken.`, {
    connection: 'close',
  });
