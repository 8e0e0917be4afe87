import type { JsonObject } from '@treadle/core';
import { defined } from '@treadle/core/json';
import { asObject, asText } from '../shared/json-text.ts';
import type { WireError } from '../shared/protocol.ts';

/**
 * The status each exception has when it is not inside a stream. Source: the errors of ConverseStream and the common
 * errors in Amazon's API reference. `modelStreamErrorException` is missing: the reference says to try again, which its
 * status, 424, doesn't.
 */
const ERROR_STATUS: ReadonlyMap<string, number> = new Map([
  ['validationexception', 400],
  ['servicequotaexceededexception', 400],
  ['unrecognizedclientexception', 401],
  ['incompletesignatureexception', 401],
  ['invalidsignatureexception', 401],
  ['expiredtokenexception', 401],
  ['accessdeniedexception', 403],
  ['resourcenotfoundexception', 404],
  ['modeltimeoutexception', 408],
  ['conflictexception', 409],
  ['modelerrorexception', 424],
  ['throttlingexception', 429],
  ['modelnotreadyexception', 429],
  ['internalserverexception', 500],
  ['internalfailure', 500],
  ['serviceunavailableexception', 503],
]);

/** `com.amazon.coral.service#ThrottlingException` and `ThrottlingException:http://…` are a `ThrottlingException`. */
const plainType = (type: string): string => type.replace(/^.*#/, '').replace(/:.*$/s, '');

const asStatus = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 400 && value <= 599 ? value : undefined;

/** `Too many tokens, please wait before trying again.` is said of tokens per minute or per day, not of a prompt. */
const THROTTLED = /^too many (?:tokens|requests)\b.*\bwait\b/i;

/** The error of an exception's type and its JSON. */
export function bedrockError(type: string, body: Readonly<Record<string, unknown>>): WireError {
  const code = plainType(type);
  const status = asStatus(body['originalStatusCode']) ?? ERROR_STATUS.get(code.toLowerCase());
  const message = asText(body['message']) ?? asText(body['Message']) ?? asText(body['originalMessage']);
  return {
    message: message ?? (code === '' ? 'The service reported an error without a message.' : code),
    ...defined({ code: code || undefined, status }),
    ...(status === 429 || THROTTLED.test(message ?? '') ? { throttled: true } : {}),
  };
}

/**
 * The error of `{"message"}`, with or without a `__type`, or of the `{"error":{"message"}}` that gateways answer with;
 * undefined for an answer.
 */
export function readBedrockError(body: JsonObject): WireError | undefined {
  const source = asObject(body['error']) ?? body;
  const type = asText(source['__type']) ?? asText(source['code']) ?? '';
  const message = asText(source['message']) ?? asText(source['Message']);
  return type === '' && message === undefined ? undefined : bedrockError(type, source);
}
