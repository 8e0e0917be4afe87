import { errorOf, isPassing } from './error.ts';

/** Options of `createClient`. */
export interface ClientOptions {
  /** Where the server is, such as `http://127.0.0.1:4123`. */
  readonly url: string;
  readonly token: string;
  /** Default: the platform's. */
  readonly fetch?: typeof fetch;
  /** Milliseconds between one attempt and the next, by how many have failed. Default: doubling, from 100 ms up to 5 s. */
  readonly retryDelayMs?: (failures: number) => number;
}

export type Http = ReturnType<typeof createHttp>;

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

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Blob | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal;
}

/** Makes requests of one server. All of them throw a ClientError for an answer that is none. */
export function createHttp(options: ClientOptions) {
  const { token, retryDelayMs = doubling } = options;
  const ask = options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request));
  const base = options.url.replace(/\/+$/, '');

  async function once(method: string, path: string, { headers, ...rest }: Asked): Promise<Response> {
    const authorization = `Bearer ${token}`;
    const response = await ask(`${base}${path}`, { method, headers: { authorization, ...headers }, ...rest });
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  /** Waits before the next attempt, at least `leastMs`. Rejects when the signal fires. */
  async function pause(failures: number, signal: AbortSignal | undefined, leastMs = 0): Promise<void> {
    const over = Promise.withResolvers<void>();
    const timer = setTimeout(over.resolve, Math.max(leastMs, retryDelayMs(failures)));
    const stop = (): void => over.reject(reasonOf(signal));
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    try {
      await over.promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  /** Asks again until there is an answer that would not be another one later. */
  async function insist<Value>(attempt: () => Promise<Value>, signal?: AbortSignal): Promise<Value> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (signal?.aborted || !isPassing(error)) throw error;
        await pause(failures, signal);
      }
    }
  }

  return {
    pause,
    /** The JSON of an answer. */
    async json<Value>(method: string, path: string, { body, key, signal }: JsonRequest = {}): Promise<Value> {
      const asked: Asked = {
        headers: {
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      };
      const attempt = async (): Promise<Value> => {
        const text = await (await once(method, path, asked)).text();
        return (text === '' ? undefined : JSON.parse(text)) as Value;
      };
      return key === undefined ? attempt() : insist(attempt, signal);
    },
    /** The JSON of the answer to bytes. They may be sent again: the same bytes are the same file. */
    async upload<Value>(path: string, body: Blob | Uint8Array<ArrayBuffer>): Promise<Value> {
      const headers = { 'content-type': 'application/octet-stream' };
      return insist(async () => (await (await once('POST', path, { headers, body })).json()) as Value);
    },
    /** The bytes of an answer. */
    async bytes(path: string): Promise<Uint8Array<ArrayBuffer>> {
      return new Uint8Array(await (await once('GET', path, {})).arrayBuffer());
    },
    /** An answer that streams. */
    async stream(path: string, lastId: string | null, signal?: AbortSignal): Promise<ReadableStream<Uint8Array>> {
      const headers = { accept: 'text/event-stream', ...(lastId !== null && { 'last-event-id': lastId }) };
      const response = await once('GET', path, { headers, ...(signal && { signal }) });
      if (!response.body) throw await errorOf(response);
      return response.body;
    },
  };
}

const reasonOf = (signal: AbortSignal | undefined): Error => {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('It was aborted.');
};
