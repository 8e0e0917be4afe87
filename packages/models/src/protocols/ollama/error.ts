import type { JsonObject } from '@treadle/core';
import { defined } from '@treadle/core/json';
import { asObject, asText } from '../shared/json-text.ts';
import type { WireError } from '../shared/protocol.ts';

const asStatus = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 400 && value <= 599 ? value : undefined;

/** The error of `{"error":"text"}`, or of `{"error":{"message","code"}}` as proxies write it. */
export function readOllamaError(body: JsonObject): WireError | undefined {
  const error = body['error'];
  if (error === undefined || error === null || error === '') return undefined;
  const inner = asObject(error);
  const code = asText(inner?.['code']) ?? asText(inner?.['type']);
  const status = asStatus(body['StatusCode']) ?? asStatus(body['status_code']) ?? asStatus(inner?.['code']);
  return {
    message: asText(error) ?? asText(inner?.['message']) ?? code ?? 'The server reported an error without a message.',
    ...defined({ code, status }),
  };
}
