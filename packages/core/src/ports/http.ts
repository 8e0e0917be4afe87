/** What a request sends: a text, as UTF-8, or bytes, in one piece or in several that follow one another. */
export type HttpBody = string | Uint8Array | readonly Uint8Array[];

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

/** A body as one piece of bytes, for a transport that takes no more, and for whoever reads what is sent. */
export function bytesOfBody(body: HttpBody): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  const [first] = body;
  if (first !== undefined && body.length === 1) return first;
  const bytes = new Uint8Array(body.reduce((total, { length }) => total + length, 0));
  let at = 0;
  for (const piece of body) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
