import { readFileSync } from 'node:fs';
import { type JsonValue, errorText, TreadleError } from '@treadle/core';
import { isJsonObject } from '@treadle/core/json';

/** A body as text, or in base64 where it isn't UTF-8. */
export type RecordedBody = string | { readonly base64: string };

/** A request and what came back, without its secrets. */
export interface RecordedExchange {
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: RecordedBody;
  };
  /** Absent when no response came. */
  readonly response?: {
    readonly status: number;
    /** Names in lowercase. */
    readonly headers: Readonly<Record<string, string>>;
    readonly body: RecordedBody;
    /** Bytes of each chunk of the body, in order. */
    readonly chunks: readonly number[];
    /** Milliseconds until the headers, then before each chunk, when they were taken down. */
    readonly delaysMs?: readonly number[];
  };
  /** `done`: whole. `left`: the reader went before the end. `failed`: see `error`. */
  readonly end: 'done' | 'left' | 'failed';
  readonly error?: { readonly message: string; readonly code?: string; readonly name?: string };
}

/** Recorded exchanges, in the order of their requests. */
export type Cassette = readonly RecordedExchange[];

/** The version of the lines. */
const VERSION = 1;

// A byte order mark is data.
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function packBody(bytes: Uint8Array): RecordedBody {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}

export function unpackBody(body: RecordedBody): Uint8Array {
  return typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(Buffer.from(body.base64, 'base64'));
}

/** One exchange as a line of JSON, without a line break. `index` counts the requests: answers may end in another order. */
export function lineOf(exchange: RecordedExchange, index: number): string {
  return JSON.stringify({ cassette: VERSION, index, ...exchange });
}

const isBody = (value: unknown): value is RecordedBody =>
  typeof value === 'string' || (isJsonObject(value) && typeof value['base64'] === 'string');

const isTextRecord = (value: unknown): boolean =>
  isJsonObject(value) && Object.values(value).every((entry) => typeof entry === 'string');

/** What is wrong with a parsed line, or undefined. */
function problemOf(value: unknown): string | undefined {
  if (!isJsonObject(value) || typeof value['cassette'] !== 'number') return 'it is no recorded exchange';
  if (value['cassette'] > VERSION) return `it was written by a newer version of Treadle (${value['cassette']})`;
  const { index, request, response, end } = value;
  if (typeof index !== 'number') return 'it has no index';
  if (!isJsonObject(request) || typeof request['method'] !== 'string' || typeof request['url'] !== 'string')
    return 'it has no request';
  if (!isTextRecord(request['headers'])) return 'its request has no headers';
  if (request['body'] !== undefined && !isBody(request['body'])) return "its request's body is neither text nor base64";
  if (end !== 'done' && end !== 'left' && end !== 'failed') return 'it does not say how it ended';
  if (response === undefined) return end === 'failed' ? undefined : 'it has no response';
  if (!isJsonObject(response) || typeof response['status'] !== 'number' || !isTextRecord(response['headers']))
    return 'its response has no status or no headers';
  const { body, chunks } = response;
  if (!isBody(body)) return "its response's body is neither text nor base64";
  if (!Array.isArray(chunks) || !chunks.every((size: JsonValue) => Number.isSafeInteger(size) && (size as number) > 0))
    return 'it does not say how its body was cut';
  const cut = (chunks as readonly number[]).reduce((sum, size) => sum + size, 0);
  const bytes = unpackBody(body).length;
  return cut === bytes ? undefined : `its chunks have ${cut} bytes and its body ${bytes}`;
}

/**
 * The exchanges of a cassette's text.
 *
 * @param name What to call it in an error.
 * @throws TreadleError `invalid_definition` that names the line that isn't an exchange.
 */
export function parseCassette(text: string, name = 'The cassette'): Cassette {
  const numbered: { readonly index: number; readonly exchange: RecordedExchange }[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      throw new TreadleError('invalid_definition', `${name}, line ${at + 1}: not JSON (${errorText(error)}).`);
    }
    const problem = problemOf(value);
    if (problem !== undefined) throw new TreadleError('invalid_definition', `${name}, line ${at + 1}: ${problem}.`);
    const { index, cassette: _version, ...exchange } = value as { index: number; cassette: number };
    numbered.push({ index, exchange: exchange as unknown as RecordedExchange });
  }
  return numbered.sort((a, b) => a.index - b.index).map(({ exchange }) => exchange);
}

/**
 * The exchanges of a cassette's file.
 *
 * @throws TreadleError `invalid_definition` when the file can't be read or has a line that isn't an exchange.
 */
export function readCassette(path: string): Cassette {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new TreadleError('invalid_definition', `The cassette ${path} can't be read: ${errorText(error)}`, {
      cause: error,
    });
  }
  return parseCassette(text, path);
}
