/** Why a request was refused or failed. Stable: programs may branch on it. */
export type HttpProblemCode =
  /** No absolute URL, or one with a user name or password in it. */
  | 'bad_url'
  /** A scheme other than `http:` and `https:`. */
  | 'bad_scheme'
  /** The host is, or its name leads to, an address that is not public and not allowed. Nothing was connected to. */
  | 'address_refused'
  | 'name_not_found'
  /** A redirect that is not followed: too many, or one that would take a body elsewhere. */
  | 'redirect_refused'
  | 'headers_too_large'
  /** More bytes than allowed, counted after they were unpacked. */
  | 'response_too_large'
  /** Bytes that are not in the encoding they say they are in, or in one that nobody here knows. */
  | 'bad_encoding'
  /** The whole exchange took too long. */
  | 'timeout'
  /** Nothing came for too long. */
  | 'idle_timeout'
  | 'connection_failed'
  | 'aborted';

/** A request that was refused or failed. The message names the address without its query, and is safe for a model. */
export class HttpProblem extends Error {
  readonly code: HttpProblemCode;

  constructor(code: HttpProblemCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'HttpProblem';
    this.code = code;
  }
}

/** A URL as messages have it: without a query, which may hold a key, and not longer than a line. */
export function shownUrl(url: URL): string {
  const text = `${url.protocol}//${url.host}${url.pathname}`;
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
