import type { JsonObject } from '@treadle/core';
import { asObject, asText } from '../shared/json-text.ts';
import { readOpenAIError } from '../openai/error.ts';
import type { WireError } from '../shared/protocol.ts';

/** Codes of failed responses that Chat Completions doesn't have, with the status they would have had. Source: the API reference. */
const ERROR_STATUS: ReadonlyMap<string, number> = new Map([
  ['invalid_prompt', 400],
  ['bio_policy', 400],
  ['cyber_policy', 400],
  ['invalid_image', 400],
  ['invalid_image_format', 400],
  ['invalid_base64_image', 400],
  ['invalid_image_url', 400],
  ['invalid_image_mode', 400],
  ['image_too_large', 400],
  ['image_too_small', 400],
  ['image_parse_error', 400],
  ['image_content_policy_violation', 400],
  ['image_file_too_large', 400],
  ['unsupported_image_media_type', 400],
  ['empty_image_file', 400],
  ['failed_to_download_image', 400],
  ['image_file_not_found', 400],
  ['invalid_encrypted_content', 400],
  ['model_not_found', 404],
  ['vector_store_timeout', 504],
]);

/**
 * The error of a body, `{"error":{"message","type","code"}}` and its relatives, of an `error` event, which may have the
 * fields of the error beside its type, or of a failed response.
 */
export function readOpenAIResponsesError(body: JsonObject): WireError | undefined {
  // An event says `"type":"error"`, which is no code.
  const flat = body['type'] === 'error' && asObject(body['error']) === undefined;
  const { type: _type, ...fields } = body;
  const error = readOpenAIError(flat ? { error: fields } : body);
  if (error === undefined || error.status !== undefined) return error;
  const status =
    ERROR_STATUS.get(error.code ?? '') ?? ERROR_STATUS.get(asText(asObject(body['error'])?.['type']) ?? '');
  return status === undefined ? error : { ...error, status };
}
