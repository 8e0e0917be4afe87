/** What a request sends: a text, as UTF-8, or bytes. */
export type HttpBody = string | Uint8Array;

/**
 * One HTTP request. `body` is sent as it is, with its whole length as `content-length`. Its bytes are never written to
 * again by whoever made them, and mustn't be by a transport: they are part of the requests to come.
 */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: HttpBody;
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

/** A body as bytes. */
export const bytesOfBody = (body: HttpBody): Uint8Array =>
  typeof body === 'string' ? new TextEncoder().encode(body) : body;
