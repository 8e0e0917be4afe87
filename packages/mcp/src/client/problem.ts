import { errorText } from '@treadle/core';

/** What kept a server from answering. */
export type McpProblemCode =
  /** It could not be started or reached, or is still starting. */
  | 'unreachable'
  /** It wants a login: `treadle mcp login`. */
  | 'needs_login'
  /** It ended, or its connection broke, while it worked on a request. */
  | 'disconnected'
  | 'timeout'
  | 'cancelled'
  /** It answered with an error of the protocol. */
  | 'refused'
  /** Its answer is not what it promised, such as structured content that its own schema refuses. */
  | 'bad_answer';

/** Why a server gave no result, in words for a model or a person. */
export class McpProblem extends Error {
  readonly code: McpProblemCode;

  constructor(code: McpProblemCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'McpProblem';
    this.code = code;
  }
}

/** The SDK marks its errors with codes and names; its classes may be there twice. */
const codeOf = (thrown: unknown): unknown => (thrown as { readonly code?: unknown } | null | undefined)?.code;
const statusOf = (thrown: unknown): unknown =>
  (thrown as { readonly data?: { readonly status?: unknown } } | null | undefined)?.data?.status;

/** The HTTP status behind an error of the SDK; undefined for none. */
export function httpStatus(thrown: unknown): number | undefined {
  const status = statusOf(thrown);
  return typeof status === 'number' ? status : undefined;
}

/** True when a transport has shown the user a login, and waits for it. */
export function isUnauthorized(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (error.name === 'UnauthorizedError' || error.constructor.name === 'UnauthorizedError') return true;
  }
  return false;
}

const isLogin = (thrown: unknown): boolean =>
  isUnauthorized(thrown) || codeOf(thrown) === 'CLIENT_HTTP_AUTHENTICATION' || httpStatus(thrown) === 401;

/** True when a legacy server has forgotten our session: it was restarted, and the request did not reach anything. */
export function isForgotten(thrown: unknown): boolean {
  const status = httpStatus(thrown);
  // Some servers say 400 where the protocol says 404.
  return status === 404 || (status === 400 && /\bsession\b/i.test(errorText(thrown)));
}

/** Says why a server could not be connected to. */
export function connectProblem(server: string, thrown: unknown): McpProblem {
  if (thrown instanceof McpProblem) return thrown;
  if (isLogin(thrown)) {
    return new McpProblem('needs_login', `The MCP server ${server} wants a login. Run: treadle mcp login ${server}`);
  }
  return new McpProblem('unreachable', `The MCP server ${server} can't be reached: ${errorText(thrown)}`, thrown);
}

const UNKNOWN = 'Whether the call took effect is unknown. Check the state of things before you repeat it.';

/** Says why a request failed that was sent. */
export function requestProblem(server: string, thrown: unknown): McpProblem {
  if (thrown instanceof McpProblem) return thrown;
  if (isLogin(thrown)) return connectProblem(server, thrown);
  const code = codeOf(thrown);
  if (typeof code === 'number') {
    return new McpProblem('refused', `The MCP server ${server} refused it: ${errorText(thrown)} (${code})`, thrown);
  }
  if (code === 'REQUEST_TIMEOUT') {
    return new McpProblem('timeout', `The MCP server ${server} did not answer in time. ${UNKNOWN}`, thrown);
  }
  if (code === 'INVALID_RESULT' || code === 'UNSUPPORTED_RESULT_TYPE') {
    return new McpProblem('bad_answer', `The MCP server ${server} answered outside the protocol: ${errorText(thrown)}`);
  }
  const text = `The MCP server ${server} ended, or its connection broke, during the call (${errorText(thrown)}). ${UNKNOWN}`;
  return new McpProblem('disconnected', text, thrown);
}
