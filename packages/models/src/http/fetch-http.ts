import type { Http } from '@treadle/core';
import { codingsOf, refusedEncoding } from './content-encoding.ts';
import { checkedHeadersOf, timedHttp } from './timed-http.ts';
import type { HttpTimeouts } from './timeouts.ts';

/** What {@link fetchHttp} needs of a `fetch`; the platform's own and every common replacement have it. */
export type FetchLike = (
  url: string,
  init: {
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body?: string | Uint8Array<ArrayBuffer>;
    readonly signal: AbortSignal;
    readonly redirect: 'manual';
  },
) => Promise<{
  readonly status: number;
  readonly headers: { forEach(visit: (value: string, name: string) => void): void };
  readonly body: {
    getReader(): {
      read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    };
  } | null;
}>;

type FetchBody = Awaited<ReturnType<FetchLike>>['body'];

/** Codings that every `fetch` undoes. */
const DECODED: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br']);

async function* chunksOf(body: FetchBody): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (next.value !== undefined) yield next.value;
  }
}

/**
 * Any `fetch` as an {@link Http}. Without one it is the platform's own, looked up at each request, so that a mock may
 * replace it. Redirects are not followed.
 *
 * The connections are those of `fetch`, which it opens, keeps and drops by rules of its own.
 *
 * @throws Rejects with what `fetch` throws, with `TREADLE_FIRST_BYTE_TIMEOUT` or `TREADLE_CONTENT_ENCODING`, or with the
 * signal's reason; the body fails with `TREADLE_IDLE_TIMEOUT` when nothing comes.
 *
 * @example
 * ```ts
 * import { anthropic } from '@treadle/models/anthropic';
 * import { fetchHttp } from '@treadle/models/fetch';
 *
 * const model = anthropic('claude-sonnet-5-5', { apiKey: 'your-key', http: fetchHttp() });
 * ```
 */
export function fetchHttp(
  fetch: FetchLike = (url, init) => globalThis.fetch(url, init),
  options: HttpTimeouts = {},
): Http {
  return timedHttp(
    {
      async send({ request, signal }) {
        const response = await fetch(request.url, {
          method: request.method,
          headers: checkedHeadersOf(request),
          ...(request.body === undefined ? {} : { body: request.body as string | Uint8Array<ArrayBuffer> }),
          signal,
          redirect: 'manual',
        });
        const headers: Record<string, string> = {};
        response.headers.forEach((value, name) => (headers[name.toLowerCase()] = value));
        const encoding = headers['content-encoding'];
        if (!codingsOf(encoding).every((coding) => DECODED.has(coding))) throw refusedEncoding(encoding);
        return { status: response.status, headers, body: chunksOf(response.body) };
      },
    },
    options,
  );
}
