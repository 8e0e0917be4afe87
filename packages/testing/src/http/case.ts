import assert from 'node:assert/strict';
import type { Cases } from '../contract/case.ts';
import type { Clock, Http } from '@treadle/core';
import type { HttpRequest, HttpResponse } from '@treadle/core/ports';

/** What a case sets. The limits and the clock are the transport's own. */
export interface HttpCaseOptions {
  /** Milliseconds until a response's headers. */
  readonly firstByteTimeoutMs?: number;
  /** Milliseconds without a byte of the body, counted only while somebody waits for one. */
  readonly idleTimeoutMs?: number;
  readonly clock?: Clock;
}

/** Makes a transport for one case. */
export type CreateHttp = (options: HttpCaseOptions) => Http;

export type HttpCases = Cases<CreateHttp>;

export const post = (url: string, fields: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/json' },
  body: '{}',
  ...fields,
});

export async function textOf({ body }: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export const ask = async (http: Http, url: string, fields?: Partial<HttpRequest>): Promise<string> =>
  textOf(await http(post(url, fields)));

/** What a promise rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & { readonly code?: unknown }> {
  const outcome = await promise.then(
    () => 'It did not fail.',
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof Error, String(outcome));
  return outcome;
}

/** The next chunk of a body as text; undefined at its end. */
export async function nextText(chunks: AsyncIterator<Uint8Array>): Promise<string | undefined> {
  const next = await chunks.next();
  return next.done === true ? undefined : Buffer.from(next.value).toString();
}
