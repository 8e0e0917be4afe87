import { errorText, type ModelError, type ModelErrorKind } from '@treadle/core';
import { CredentialsError } from '../auth/credentials.ts';
import { defined } from '@treadle/core/json';
import type { WireError } from '../protocols/shared/protocol.ts';
import type { Redact } from './redact.ts';

/** Characters of a response body that an error keeps. */
const EXCERPT_LENGTH = 500;

/** Characters of an error's message. */
const MESSAGE_LENGTH = 2000;

/** What providers say when a request is too long for the model, in lowercase. */
const OVERFLOW_PHRASES: readonly string[] = [
  'prompt is too long',
  'input is too long',
  'exceeds the context window',
  'exceeds the maximum',
  'maximum prompt length',
  'reduce the length of the messages',
  'maximum context length',
  'exceeds the limit of',
  'exceeds the available context size',
  'greater than the context length',
  'exceeds the context length',
  'exceeded max context length',
  'context window exceeds limit',
  'exceeded model token limit',
  'context length exceeded',
  'context_length_exceeded',
  'model_context_window_exceeded',
  'too many tokens',
  'token limit exceeded',
];

const isOverflow = (text: string): boolean => {
  const lower = text.toLowerCase();
  return OVERFLOW_PHRASES.some((phrase) => lower.includes(phrase));
};

/** Rate limits that waiting doesn't lift. */
const PERMANENT_LIMITS: ReadonlySet<string> = new Set(['insufficient_quota', 'billing_hard_limit_reached']);

/** Codes of a key that isn't right, from providers that answer it with another status than 401. */
const AUTH_CODES: ReadonlySet<string> = new Set(['API_KEY_INVALID']);

const kindOfStatus = (status: number): ModelErrorKind => {
  if (status === 429) return 'rate_limited';
  if (status === 401 || status === 403) return 'auth';
  if (status === 408) return 'network';
  return status >= 400 ? 'api' : 'other';
};

const mayRetry = (status: number, code: string | undefined): boolean => {
  if (status === 429) return code === undefined || !PERMANENT_LIMITS.has(code);
  return status === 408 || status === 409 || status >= 500;
};

/** `text` cleaned of secrets, then cut. In that order: half a secret would not be recognised. */
export function excerptOf(text: string, redact: Redact, length: number = EXCERPT_LENGTH): string {
  const clean = redact(text.replace(/\s+/g, ' ').trim());
  return clean.length > length ? `${clean.slice(0, length)}…` : clean;
}

/** Milliseconds a response asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date. */
export function retryAfter(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (exact >= 0 && Number.isFinite(exact)) return exact;
  const value = headers['retry-after']?.trim();
  if (value === undefined || value === '') return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds < 0 ? undefined : Math.round(seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const REQUEST_ID_HEADERS: readonly string[] = [
  'request-id',
  'x-request-id',
  'x-amzn-requestid',
  'apim-request-id',
  'cf-ray',
];

/** Characters of a request's id. */
const REQUEST_ID_LENGTH = 200;

/** The provider's id of a request, from whichever header it uses. A server may put anything there, also what it was sent. */
export function requestIdOf(headers: Readonly<Record<string, string>>, redact: Redact): string | undefined {
  for (const name of REQUEST_ID_HEADERS) {
    const value = headers[name];
    if (value !== undefined && value !== '') return excerptOf(value, redact, REQUEST_ID_LENGTH);
  }
  return undefined;
}

/** What is known of a failure besides its words. */
export interface FailureFacts {
  readonly redact: Redact;
  readonly headers?: Readonly<Record<string, string>>;
  readonly now: number;
  /** The response's body, when the failure is its status. */
  readonly body?: string;
}

/** A failure the provider reported, by its status or inside the stream. `status` is that of the response, or what it would have been. */
export function reportedError(error: WireError, status: number | undefined, facts: FailureFacts): ModelError {
  const { redact, headers = {}, body } = facts;
  const emptyRefusal = body === '' && (status === 400 || status === 413);
  const badKey = error.code !== undefined && AUTH_CODES.has(error.code);
  const denied = badKey || status === 401 || status === 403;
  const overflow =
    !denied && error.throttled !== true && (emptyRefusal || isOverflow(`${error.code ?? ''} ${error.message}`));
  return {
    kind: overflow ? 'context_overflow' : badKey ? 'auth' : status === undefined ? 'api' : kindOfStatus(status),
    message: excerptOf(error.message, redact, MESSAGE_LENGTH),
    // An error inside a stream without a type we know is most often the server giving up.
    retryable: !overflow && (status === undefined || mayRetry(status, error.code)),
    ...defined({
      status,
      code: error.code === undefined ? undefined : redact(error.code),
      requestId: requestIdOf(headers, redact),
      retryAfterMs: retryAfter(headers, facts.now) ?? error.retryAfterMs,
      excerpt: body === undefined || body === '' ? undefined : excerptOf(body, redact),
    }),
  };
}

const codeOf = (thrown: unknown): string | undefined => {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 4; error = error.cause, depth++) {
    const code: unknown = (error as { code?: unknown }).code;
    if (typeof code === 'string') return code;
  }
  return undefined;
};

/** Failures to reach a host at all. */
const isNetworkCode = (code: string | undefined): boolean =>
  code !== undefined && /^(?:ECONN|EAI_|ENOTFOUND|ETIMEDOUT|EHOST|ENET|EPIPE|UND_ERR)/.test(code);

/** Failures of a certificate, which trying again doesn't change. */
const isCertificateCode = (code: string | undefined): boolean =>
  code !== undefined && /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET)|ALTNAME/.test(code);

/** A failure of the connection: refused, reset, timed out, or a certificate that can't be trusted; or of getting credentials. */
export function connectionError(thrown: unknown, redact: Redact): ModelError {
  const code = codeOf(thrown);
  // A definition that can't work, such as a proxy this Node doesn't support.
  const ours = code === 'invalid_definition';
  const credentials = thrown instanceof CredentialsError;
  // The server would answer the same way again.
  const unreadable = code === 'TREADLE_CONTENT_ENCODING';
  // A service of tokens that can't be reached is no refusal.
  const denied = credentials && !isNetworkCode(code);
  // `fetch` hides what went wrong in the cause.
  const cause =
    !credentials && thrown instanceof Error && thrown.cause instanceof Error ? `: ${errorText(thrown.cause)}` : '';
  return {
    kind: ours || unreadable ? 'other' : denied ? 'auth' : 'network',
    message: excerptOf(errorText(thrown) + cause, redact, MESSAGE_LENGTH),
    retryable: !ours && !unreadable && !denied && !isCertificateCode(code),
    ...defined({ code }),
  };
}

/** The error of a stream that its consumer cancelled. */
export const CANCELLED: ModelError = Object.freeze({
  kind: 'cancelled',
  message: 'The request was cancelled.',
  retryable: false,
});
