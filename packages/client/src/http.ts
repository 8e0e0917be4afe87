import { errorOf, isPassing } from './error.ts';

export interface ClientOptions {
  /** Where the server is, such as `http://127.0.0.1:4123`. */
  readonly url: string;
  readonly token: string;
  /** Default: the platform's. */
  readonly fetch?: typeof fetch;
  /** Milliseconds between one attempt and the next, by how many have failed. Default: doubling, from 100 ms up to 5 s. */
  readonly retryDelayMs?: (failures: number) => number;
}

/** Makes requests of one server. */
export interface Http {
  /** The JSON of an answer. @throws ClientError */
  json<Value>(method: string, path: string, request?: JsonRequest): Promise<Value>;
  /** The JSON of the answer to bytes. They may be sent again: the same bytes are the same file. @throws ClientError */
  upload<Value>(path: string, bytes: Blob | Uint8Array<ArrayBuffer>): Promise<Value>;
  /** The bytes of an answer. @throws ClientError */
  bytes(path: string): Promise<Uint8Array<ArrayBuffer>>;
  /** An answer that streams. @throws ClientError */
  stream(path: string, lastId: string | null, signal: AbortSignal | undefined): Promise<ReadableStream<Uint8Array>>;
  /** Waits before the next attempt, at least `leastMs`. Rejects when the signal fires. */
  pause(failures: number, signal: AbortSignal | undefined, leastMs?: number): Promise<void>;
}

export interface JsonRequest {
  readonly body?: unknown;
  /**
   * Under which the server counts the request once, however often it is made: with it, a request that gets no answer is made
   * again until it gets one.
   */
  readonly key?: string;
  readonly signal?: AbortSignal | undefined;
}

const doubling = (failures: number): number => Math.min(100 * 2 ** failures, 5000);

export function createHttp(options: ClientOptions): Http {
  const { token, retryDelayMs = doubling } = options;
  const ask = options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request));
  const base = options.url.replace(/\/+$/, '');

  async function once(method: string, path: string, { body, key, signal }: JsonRequest): Promise<Response> {
    const response = await ask(`${base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  async function pause(failures: number, signal: AbortSignal | undefined, leastMs = 0): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(reasonOf(signal));
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
        Math.max(leastMs, retryDelayMs(failures)),
      );
      signal?.addEventListener('abort', stop, { once: true });
      if (signal?.aborted) stop();
    });
  }

  return {
    pause,
    async json<Value>(method: string, path: string, request: JsonRequest = {}): Promise<Value> {
      for (let failures = 0; ; failures += 1) {
        try {
          const response = await once(method, path, request);
          const text = await response.text();
          return (text === '' ? undefined : JSON.parse(text)) as Value;
        } catch (error) {
          if (request.key === undefined || request.signal?.aborted || !isPassing(error)) throw error;
          await pause(failures, request.signal);
        }
      }
    },
    async upload<Value>(path: string, body: Blob | Uint8Array<ArrayBuffer>): Promise<Value> {
      for (let failures = 0; ; failures += 1) {
        try {
          const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' };
          const response = await ask(`${base}${path}`, { method: 'POST', headers, body });
          if (!response.ok) throw await errorOf(response);
          return (await response.json()) as Value;
        } catch (error) {
          if (!isPassing(error)) throw error;
          await pause(failures, undefined);
        }
      }
    },
    async bytes(path) {
      return new Uint8Array(await (await once('GET', path, {})).arrayBuffer());
    },
    async stream(path, lastId, signal) {
      const response = await ask(`${base}${path}`, {
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'text/event-stream',
          ...(lastId === null ? {} : { 'last-event-id': lastId }),
        },
        ...(signal ? { signal } : {}),
      });
      if (!response.ok || !response.body) throw await errorOf(response);
      return response.body;
    },
  };
}

const reasonOf = (signal: AbortSignal | undefined): Error => {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('It was aborted.');
};
