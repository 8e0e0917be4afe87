/** One HTTP request. `body` is sent as it is. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** A response whose body streams. Header names are lowercase. Ending the iteration early closes the connection. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  /**
   * Milliseconds without a byte after which the transport gives the body up. Whoever reads it may hold what says nothing,
   * such as a ping, to the same limit.
   */
  readonly idleTimeoutMs?: number;
}

/** The HTTP port: one request, a streamed response, a signal. Rejects on connection failure or abort. */
export type Http = (request: HttpRequest) => Promise<HttpResponse>;
