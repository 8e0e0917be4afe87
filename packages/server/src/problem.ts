import { STATUS_CODES } from 'node:http';
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

/** Every code that a response of the server may have. */
export type ProblemCode = TreadleErrorCode | ServerErrorCode;

const CODES: Readonly<Record<number, readonly string[]>> = {
  400: ['bad_request', 'invalid_cursor', 'empty_prompt', 'invalid_messages', 'invalid_definition', 'invalid_answer'],
  401: ['unauthorized', 'invalid_token', 'token_expired'],
  403: ['forbidden'],
  404: ['not_found', 'session_not_found', 'blob_not_found', 'task_not_found'],
  405: ['method_not_allowed'],
  409: [
    'run_active',
    'nothing_to_continue',
    'ends_with_assistant',
    'session_busy',
    'session_exists',
    'not_awaiting',
    'results_missing',
    'results_unknown',
    'results_duplicate',
    'conflict',
    'not_compacted',
    'cancelled',
    'agent_not_found',
  ],
  413: ['too_large', 'blob_too_large'],
  415: ['unsupported_media_type'],
  422: ['idempotency_mismatch'],
  429: ['too_many_requests'],
  503: [
    'too_many_connections',
    'draining',
    'fenced',
    'session_yielded',
    'journal_failed',
    'journal_timeout',
    'blob_failed',
  ],
};

const STATUS = new Map(Object.entries(CODES).flatMap(([status, codes]) => codes.map((code) => [code, Number(status)])));

/** The HTTP status of an error's code. What a client can do nothing about is 500. */
export const statusOf = (code: string): number => STATUS.get(code) ?? 500;

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

const TITLES: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content',
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
