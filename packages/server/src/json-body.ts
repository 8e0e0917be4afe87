import type { JsonObject } from '@treadle/core';
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
  const problem = shapeProblem(text, maxDepth);
  if (problem !== null) throw new RequestError('bad_request', problem);
  try {
    value = parseJson(text, maxDepth);
  } catch {
    throw new RequestError('bad_request', 'The body is not valid JSON.');
  }
  if (!isJsonObject(value)) throw new RequestError('bad_request', 'The body must be a JSON object.');
  return value;
}

/**
 * What a parser wouldn't say of a text: that it is too deep, or that an object has a key twice, of which every parser takes
 * another. One pass, before anything is built from it.
 */
function shapeProblem(text: string, maxDepth: number): string | null {
  /** The keys of each object that is open; null for arrays. */
  const open: (Set<string> | null)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : null);
      if (open.length > maxDepth) return `The body is more than ${maxDepth} levels deep.`;
    } else if (char === '}' || char === ']') open.pop();
    else if (char === '"') {
      const end = endOfString(text, at);
      const keys = open.at(-1);
      if (keys && isKey(text, end)) {
        const key = unescaped(text.slice(at, end + 1));
        if (keys.has(key)) return 'The body has an object that says the same key twice.';
        keys.add(key);
      }
      at = end;
    }
  }
  return null;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

function isKey(text: string, end: number): boolean {
  let at = end + 1;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return text[at] === ':';
}

/** Two spellings of one key are one key. What is no string at all, the parser will say. */
function unescaped(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  try {
    const key = parseJson(literal);
    return typeof key === 'string' ? key : literal;
  } catch {
    return literal;
  }
}

/** @throws RequestError `too_large`, at the first byte that is one too many. */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
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

/** A body as it comes in. A request that breaks off is a bad one. */
export async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array> {
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
