import type { JsonObject } from '@treadle/core';
import { defined } from '@treadle/core/json';
import { asObject, asText } from '../shared/json-text.ts';
import type { WireError } from '../shared/protocol.ts';

/** The status each error type has when it is not inside a stream, over the servers that speak this wire. */
const ERROR_STATUS: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['context_length_exceeded', 400],
  ['tool_use_failed', 400],
  ['invalid_api_key', 401],
  ['authentication_error', 401],
  ['insufficient_quota', 429],
  ['rate_limit_exceeded', 429],
  ['rate_limit_error', 429],
  ['requests', 429],
  ['tokens', 429],
  ['server_error', 500],
  ['api_error', 500],
  ['internal_error', 500],
  ['internal_server_error', 500],
  ['service_unavailable', 503],
  ['overloaded_error', 529],
]);

const asStatus = (value: unknown): number | undefined => {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status <= 599 ? status : undefined;
};

const asCode = (value: unknown): string | undefined => (typeof value === 'number' ? String(value) : asText(value));

/** The messages of a `detail` list, which servers built on FastAPI answer with. */
const detailText = (detail: unknown): string | undefined => {
  if (!Array.isArray(detail)) return asText(detail);
  const messages = detail.map((item: unknown) => asText(asObject(item)?.['msg'])).filter((text) => text !== undefined);
  return messages.length === 0 ? undefined : messages.join('; ');
};

/**
 * The error of a body of Chat Completions, of the Responses API, or of a server that speaks like them:
 * `{"error":{"message","type","code"}}`, `{"error":"text"}`, `{"object":"error","message"}` or `{"detail"}`.
 */
export function readOpenAIError(body: JsonObject): WireError | undefined {
  const error = asObject(body['error']);
  const message =
    asText(error?.['message']) ??
    asText(body['error']) ??
    (error === undefined ? (asText(body['message']) ?? detailText(body['detail'])) : undefined);
  if (error === undefined && message === undefined) return undefined;
  const source = error ?? body;
  const code = asCode(source['code']) ?? asText(source['type']);
  const status =
    asStatus(source['status_code']) ??
    asStatus(source['code']) ??
    ERROR_STATUS.get(code ?? '') ??
    ERROR_STATUS.get(asText(source['type']) ?? '');
  return {
    message: message ?? code ?? 'The provider reported an error without a message.',
    ...defined({ code, status }),
  };
}
