import { bytesOfBody, systemClock } from '@treadle/core';
import type { Http, HttpBody, HttpResponse } from '@treadle/core';
import { DEFAULT_FIRST_BYTE_TIMEOUT_MS, DEFAULT_IDLE_TIMEOUT_MS, transportError, watchIdle } from './timeouts.ts';
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
      cancel(reason?: unknown): Promise<void>;
    };
  } | null;
}>;

type FetchResponse = Awaited<ReturnType<FetchLike>>;

const DONE: IteratorResult<Uint8Array> = { done: true, value: undefined };

const streamBody = (
  response: FetchResponse,
  watch: (onIdle: (error: Error) => void) => ReturnType<typeof watchIdle>,
  close: (error?: Error) => void,
): AsyncIterable<Uint8Array> => {
  const reader = response.body?.getReader();
  let over = reader === undefined;
  const idle = watch((error) => close(error));
  const finish = (error?: Error): void => {
    over = true;
    idle.stop();
    close(error);
  };
  const iterator: AsyncIterator<Uint8Array> = {
    next() {
      if (over || reader === undefined) return Promise.resolve(DONE);
      idle.wait();
      return reader.read().then(
        ({ done, value }) => {
          idle.rest();
          if (!done && value !== undefined) return { done: false, value };
          finish();
          return DONE;
        },
        (error: unknown) => {
          finish();
          throw error;
        },
      );
    },
    return() {
      const early = !over;
      if (early) finish(transportError('ABORT_ERR', 'The reader went before the end.'));
      return Promise.resolve(DONE);
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
};

/** A body in one piece: `fetch` takes no list. */
const wholeBody = (body: HttpBody): string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' ? body : (bytesOfBody(body) as Uint8Array<ArrayBuffer>);

/**
 * Any `fetch` as an {@link Http}. Redirects are not followed.
 *
 * @example
 * ```ts
 * import { anthropic, fetchHttp } from '@treadle/models';
 *
 * const model = anthropic('claude-sonnet-4-5', { apiKey: 'your-key', http: fetchHttp(fetch) });
 * ```
 */
export function fetchHttp(fetch: FetchLike, options: HttpTimeouts = {}): Http {
  const clock = options.clock ?? systemClock;
  const firstByteTimeoutMs = options.firstByteTimeoutMs ?? DEFAULT_FIRST_BYTE_TIMEOUT_MS;
  const idleTimeoutMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
  return async (request): Promise<HttpResponse> => {
    request.signal?.throwIfAborted();
    const own = new AbortController();
    const onAbort = (): void => own.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', onAbort);
    const close = (error?: Error): void => {
      request.signal?.removeEventListener('abort', onAbort);
      if (error !== undefined) own.abort(error);
    };
    const cancel = clock.after(firstByteTimeoutMs, () => {
      close(transportError('TREADLE_FIRST_BYTE_TIMEOUT', `No response within ${firstByteTimeoutMs} ms.`));
    });
    try {
      const response = await fetch(request.url, {
        method: request.method,
        headers: { ...request.headers },
        ...(request.body === undefined ? {} : { body: wholeBody(request.body) }),
        signal: own.signal,
        redirect: 'manual',
      });
      const headers: Record<string, string> = {};
      response.headers.forEach((value, name) => (headers[name.toLowerCase()] = value));
      const watch = (onIdle: (error: Error) => void): ReturnType<typeof watchIdle> =>
        watchIdle(clock, idleTimeoutMs, () => {
          onIdle(
            transportError('TREADLE_IDLE_TIMEOUT', `No data for ${idleTimeoutMs} ms in the middle of the response.`),
          );
        });
      return { status: response.status, headers, body: streamBody(response, watch, close), idleTimeoutMs };
    } catch (error) {
      close();
      throw error;
    } finally {
      cancel();
    }
  };
}
