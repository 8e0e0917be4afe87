import { errorText, TreadleError, type Http } from '@treadle/core';
import type { HttpRequest, HttpResponse } from '@treadle/core/ports';
import { createHash } from 'node:crypto';

/** Signs requests: `awsSignature({ service: 's3' })` of `@treadle/models` does. */
export interface S3Credentials {
  /** Returns the headers to add to a request. */
  authorize(
    request: Pick<HttpRequest, 'method' | 'url' | 'headers'> & { readonly body: string | Uint8Array },
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
}

/** The bucket, and how it is reached. */
export interface Bucket {
  /** Without a slash at its end. */
  readonly url: string;
  readonly credentials: S3Credentials;
  readonly http: Http;
}

interface Call {
  readonly method: 'GET' | 'PUT' | 'HEAD' | 'DELETE';
  /** Of the object; empty for the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** An object as a listing has it. */
export interface Listed {
  readonly key: string;
  readonly size: number;
  /** Milliseconds since 1970, by the server's clock. */
  readonly modifiedAt: number;
}

const ATTEMPTS = 3;
const NOTHING = new Uint8Array();

/** One request, tried again where the server or the connection fails. A missing object is an answer, every other refusal an error. */
export async function ask(bucket: Bucket, call: Call, attempts = ATTEMPTS): Promise<HttpResponse> {
  for (let attempt = 1; ; attempt += 1) {
    const last = attempt === attempts;
    try {
      const response = await send(bucket, call);
      if (response.status < 300 || response.status === 404) return response;
      const text = await textOf(response);
      if (response.status < 500 || last) throw failed(call, `${response.status} ${codeIn(text)}`);
    } catch (error) {
      if (error instanceof TreadleError || last) throw error instanceof TreadleError ? error : failed(call, error);
    }
  }
}

async function send({ url, credentials, http }: Bucket, { method, key, query, headers, body }: Call) {
  const address = `${url}/${key}${query ? `?${new URLSearchParams(query).toString()}` : ''}`;
  const content = body ?? NOTHING;
  const digest = createHash('sha256').update(content).digest('hex');
  const own = { ...headers, 'x-amz-content-sha256': digest };
  const signal = new AbortController().signal;
  const signed = await credentials.authorize({ method, url: address, headers: own, body: content }, signal);
  return http({ method, url: address, headers: { ...own, ...signed }, ...(body && { body }) });
}

const failed = ({ method, key }: Call, why: unknown): TreadleError =>
  new TreadleError('blob_failed', `The S3 bucket refused ${method} ${key}: ${errorText(why)}.`, { cause: why });

const codeIn = (xml: string): string => /<Code>(\w+)<\/Code>/.exec(xml)?.[1] ?? 'without a code';

/** The whole of an answer, which frees its connection. */
export async function textOf({ body }: HttpResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of body) text += decoder.decode(piece, { stream: true });
  return text;
}

/** The objects whose keys begin with a prefix, in pages, with the time of the server. */
export async function* list(
  bucket: Bucket,
  prefix: string,
): AsyncGenerator<{ readonly objects: readonly Listed[]; readonly now: number }> {
  let token: string | undefined;
  do {
    const query = { 'list-type': '2', prefix, ...(token === undefined ? {} : { 'continuation-token': token }) };
    const response = await ask(bucket, { method: 'GET', key: '', query });
    const text = await textOf(response);
    if (response.status === 404) throw failed({ method: 'GET', key: prefix }, 'there is no such bucket');
    const objects = [...text.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, entry = '']) => ({
      key: valueIn(entry, 'Key'),
      size: Number(valueIn(entry, 'Size')),
      modifiedAt: Date.parse(valueIn(entry, 'LastModified')),
    }));
    yield { objects, now: Date.parse(response.headers['date'] ?? '') };
    token = valueIn(text, 'IsTruncated') === 'true' ? valueIn(text, 'NextContinuationToken') : undefined;
  } while (token !== undefined && token !== '');
}

/** The text of an element. Keys and tokens may have entities. */
function valueIn(xml: string, name: string): string {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '';
  return text.replaceAll(/&(amp|lt|gt|quot|apos|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&#39;': "'",
};

/** The platform's `fetch`. */
export const fetchOnce: Http = async ({ method, url, headers, body, signal }) => {
  const response = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: body as string | Uint8Array<ArrayBuffer> }),
    ...(signal && { signal }),
  });
  const none: AsyncIterable<Uint8Array> = new ReadableStream({ start: (controller) => controller.close() });
  return { status: response.status, headers: Object.fromEntries(response.headers), body: response.body ?? none };
};
