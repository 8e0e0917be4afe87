import type { JsonObject, JsonValue } from '@treadle/core';
import type { ModelBlock } from '@treadle/core/model';
import { asObject, asText } from '../shared/json-text.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Fields of a part that say something about it and are not what it is. */
const ASIDES: ReadonlySet<string> = new Set(['thought', 'thoughtSignature', 'videoMetadata', 'partMetadata']);

/** Numbers the calls a provider ran itself, and finds the call that a result belongs to. */
export interface ProviderCallIds {
  /** The id of a call: its own, or one that is made. */
  call(given: unknown): string;
  /** The id of the call a result belongs to: the one it names, or the latest. */
  result(given: unknown): string;
}

/** Ids such as `google-pc-0` where the wire gives none. */
export function createProviderCallIds(prefix: string): ProviderCallIds {
  let made = 0;
  let latest = '';
  return {
    call(given) {
      latest = asText(given) ?? `${prefix}-pc-${made++}`;
      return latest;
    },
    result: (given) => asText(given) ?? latest,
  };
}

const signatureOf = (part: Fields): { opaque?: JsonObject } => {
  const thoughtSignature = asText(part['thoughtSignature']);
  return thoughtSignature === undefined ? {} : { opaque: { thoughtSignature } };
};

const mediaBlock = (part: Fields, source: { data: string } | { url: string }, mediaType: string): ModelBlock =>
  mediaType.startsWith('image/')
    ? { type: 'image', mediaType, ...source, ...signatureOf(part) }
    : { type: 'file', mediaType, ...source, ...signatureOf(part) };

const whatever = (part: Fields): ModelBlock => ({
  type: 'provider_block',
  kind: Object.keys(part).find((key) => !ASIDES.has(key)) ?? 'unknown',
  raw: part as JsonObject,
});

/**
 * The block of a part that is neither text nor a call of ours: code the provider ran, tools of its own, images and files,
 * or something newer than this code.
 */
export function geminiBlock(part: Fields, ids: ProviderCallIds): ModelBlock {
  const raw = part as JsonObject;
  const code = asObject(part['executableCode']);
  if (code !== undefined) {
    const name = 'code_execution';
    return { type: 'provider_tool_call', callId: ids.call(code['id']), name, arguments: code as JsonValue, raw };
  }
  const outcome = asObject(part['codeExecutionResult']);
  if (outcome !== undefined) {
    const isError = outcome['outcome'] !== 'OUTCOME_OK';
    return { type: 'provider_tool_result', callId: ids.result(outcome['id']), name: 'code_execution', isError, raw };
  }
  const call = asObject(part['toolCall']);
  if (call !== undefined) {
    const name = (asText(call['toolType']) ?? 'unknown').toLowerCase();
    const args = (call['args'] ?? {}) as JsonValue;
    return { type: 'provider_tool_call', callId: ids.call(call['id']), name, arguments: args, raw };
  }
  const response = asObject(part['toolResponse']);
  if (response !== undefined) {
    const name = (asText(response['toolType']) ?? 'unknown').toLowerCase();
    const isError = asObject(response['response'])?.['error'] !== undefined;
    return { type: 'provider_tool_result', callId: ids.result(response['id']), name, isError, raw };
  }
  // Pictures a model thinks with are not its answer.
  if (part['thought'] === true) return whatever(part);
  const inline = asObject(part['inlineData']);
  const data = asText(inline?.['data']);
  const mediaType = asText(inline?.['mimeType']) ?? 'application/octet-stream';
  if (data !== undefined) return mediaBlock(part, { data }, mediaType);
  const file = asObject(part['fileData']);
  const url = asText(file?.['fileUri']);
  if (url !== undefined) return mediaBlock(part, { url }, asText(file?.['mimeType']) ?? 'application/octet-stream');
  return whatever(part);
}
