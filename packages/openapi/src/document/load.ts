import { readFile, stat } from 'node:fs/promises';
import { TreadleError, type Http } from '@treadle/core';
import { guardedHttp, HttpProblem } from '@treadle/http';

/** Settings of {@link loadOpenApi}. */
export interface LoadOpenApiOptions {
  /** Bytes at most. Default 32 MB. */
  readonly maxBytes?: number;
  /** Hosts, addresses and ranges that may be asked although they are not public. */
  readonly allow?: readonly string[];
  /** Another transport instead of `guardedHttp`. */
  readonly http?: Http;
}

/**
 * The text of a document: of a file, or of an `http:` or `https:` address, which is asked through `guardedHttp`. Nothing in
 * the text is looked at.
 *
 * @throws TreadleError `invalid_definition` when it can't be had, or is too big.
 */
export async function loadOpenApi(source: string, options: LoadOpenApiOptions = {}): Promise<string> {
  const { maxBytes = 32 * 1024 * 1024 } = options;
  try {
    return /^https?:/i.test(source) ? await fetched(source, maxBytes, options) : await fileText(source, maxBytes);
  } catch (error) {
    if (!(error instanceof Error) || error instanceof TreadleError) throw error;
    const why = error instanceof HttpProblem || 'code' in error ? error.message : 'it could not be read.';
    throw refused(source, why, error);
  }
}

const refused = (source: string, why: string, cause?: unknown): TreadleError =>
  new TreadleError('invalid_definition', `The OpenAPI document ${source.split('?')[0]}: ${why}`, { cause });

async function fileText(path: string, maxBytes: number): Promise<string> {
  const facts = await stat(path);
  if (!facts.isFile()) throw refused(path, 'is no file.');
  if (facts.size > maxBytes) throw refused(path, `is larger than ${maxBytes} bytes.`);
  return readFile(path, 'utf8');
}

async function fetched(url: string, maxBytes: number, { allow = [], http }: LoadOpenApiOptions): Promise<string> {
  const ask = http ?? guardedHttp({ allow, maxBodyBytes: maxBytes, totalTimeoutMs: 60_000 });
  const accept = 'application/json, application/yaml, text/yaml, */*;q=0.5';
  const response = await ask({ method: 'GET', url, headers: { accept } });
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) throw refused(url, `is larger than ${maxBytes} bytes.`);
  }
  if (response.status !== 200) throw refused(url, `was answered with the status ${response.status}.`);
  return Buffer.concat(chunks).toString('utf8');
}
