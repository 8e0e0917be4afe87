import { TreadleError, type TreadleErrorCode } from '@treadle/core';

/** What only a server has to say, beside the codes of `TreadleError`. */
export type ServerErrorCode =
  | 'bad_request'
  /** No token, or one that isn't known. */
  | 'unauthorized'
  /** The token, the host or the origin mayn't. */
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'too_large'
  | 'unsupported_media_type'
  /** The same idempotency key with another request. */
  | 'idempotency_mismatch'
  /** An id to resume after that no stream of this session has given out. */
  | 'invalid_cursor'
  | 'too_many_requests'
  | 'too_many_connections'
  /** The server is about to stop. */
  | 'draining';

export type ProblemCode = TreadleErrorCode | ServerErrorCode;

const STATUS: Readonly<Partial<Record<string, number>>> = {
  bad_request: 400,
  invalid_cursor: 400,
  empty_prompt: 400,
  invalid_messages: 400,
  invalid_definition: 400,
  invalid_answer: 400,
  unauthorized: 401,
  invalid_token: 401,
  token_expired: 401,
  forbidden: 403,
  not_found: 404,
  session_not_found: 404,
  blob_not_found: 404,
  task_not_found: 404,
  method_not_allowed: 405,
  run_active: 409,
  nothing_to_continue: 409,
  ends_with_assistant: 409,
  session_busy: 409,
  session_exists: 409,
  not_awaiting: 409,
  results_missing: 409,
  results_unknown: 409,
  results_duplicate: 409,
  conflict: 409,
  not_compacted: 409,
  cancelled: 409,
  agent_not_found: 409,
  too_large: 413,
  blob_too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  too_many_requests: 429,
  too_many_connections: 503,
  draining: 503,
  fenced: 503,
  journal_failed: 503,
  journal_timeout: 503,
  blob_failed: 503,
};

/** The HTTP status of an error's code. What a client can do nothing about is 500. */
export const statusOf = (code: string): number => STATUS[code] ?? 500;

/** The body of an error: `application/problem+json` (RFC 9457) with our code. */
export interface Problem {
  /** `about:blank`: the code says what it is. */
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  readonly detail: string;
}

/** An error that a request is answered with. */
export class RequestError extends Error {
  readonly code: ServerErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ServerErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'RequestError';
    this.code = code;
    this.headers = headers;
  }
}

const TITLES: Readonly<Partial<Record<number, string>>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** What a client is told of anything that was thrown: of what is not meant for it, nothing but that. */
export function problemOf(thrown: unknown): Problem {
  const isOurs = thrown instanceof TreadleError || thrown instanceof RequestError;
  const code: ProblemCode = isOurs ? thrown.code : 'internal';
  const status = statusOf(code);
  const detail = isOurs ? thrown.message : 'Something failed inside the server.';
  return { type: 'about:blank', title: TITLES[status] ?? 'Error', status, code, detail };
}

/** An error as a response. */
export function problemResponse(thrown: unknown): Response {
  const problem = problemOf(thrown);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(problem.status === 503 ? { 'retry-after': '1' } : {}),
      ...(thrown instanceof RequestError ? thrown.headers : {}),
    },
  });
}
