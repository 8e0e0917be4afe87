import type { JsonObject } from '@treadle/core';
import { defined } from '@treadle/core/json';
import { asObject, asText } from '../shared/json-text.ts';
import type { WireError } from '../shared/protocol.ts';

/** The HTTP status of each code of Google's services. Source: google.rpc.Code. */
const CODE_STATUS: ReadonlyMap<string, number> = new Map([
  ['CANCELLED', 499],
  ['UNKNOWN', 500],
  ['INVALID_ARGUMENT', 400],
  ['DEADLINE_EXCEEDED', 504],
  ['NOT_FOUND', 404],
  ['ALREADY_EXISTS', 409],
  ['PERMISSION_DENIED', 403],
  ['UNAUTHENTICATED', 401],
  ['RESOURCE_EXHAUSTED', 429],
  ['FAILED_PRECONDITION', 400],
  ['ABORTED', 409],
  ['OUT_OF_RANGE', 400],
  ['UNIMPLEMENTED', 501],
  ['INTERNAL', 500],
  ['UNAVAILABLE', 503],
  ['DATA_LOSS', 500],
]);

type Fields = Readonly<Record<string, unknown>>;

const detailsOf = (error: Fields): readonly Fields[] => {
  const details = error['details'];
  if (!Array.isArray(details)) return [];
  return details.map((detail: unknown) => asObject(detail)).filter((detail) => detail !== undefined);
};

/** Milliseconds of a duration such as `31.5s`. */
const durationMs = (text: unknown): number | undefined => {
  const found = typeof text === 'string' ? /^(\d{1,9}(?:\.\d+)?)s$/.exec(text) : null;
  return found === null ? undefined : Math.round(Number(found[1]) * 1000);
};

const errorOf = (body: Fields): Fields | undefined => {
  const own = asObject(body['error']);
  if (own !== undefined) return own;
  const list = body['responses'];
  if (!Array.isArray(list)) return undefined;
  for (const item of list as readonly unknown[]) {
    const error = asObject(asObject(item)?.['error']);
    if (error !== undefined) return error;
  }
  return undefined;
};

/** The error of `{"error":{"code","message","status","details"}}`, alone or in a list of responses. */
export function readGeminiError(body: JsonObject): WireError | undefined {
  const error = errorOf(body);
  if (error === undefined) return undefined;
  const details = detailsOf(error);
  // A bad key is an invalid argument to this wire; only the details say what it really is.
  const reason = details.map((detail) => asText(detail['reason'])).find((text) => text === 'API_KEY_INVALID');
  const word = asText(error['status']);
  const number = typeof error['code'] === 'number' ? error['code'] : undefined;
  const code = reason ?? word ?? (number === undefined ? undefined : String(number));
  const status = number ?? CODE_STATUS.get(word ?? '');
  const wait = details.map((detail) => durationMs(detail['retryDelay'])).find((ms) => ms !== undefined);
  return {
    message: asText(error['message']) ?? code ?? 'The provider reported an error without a message.',
    ...(status === undefined || status < 400 || status > 599 ? {} : { status }),
    ...defined({ code, retryAfterMs: wait }),
  };
}
