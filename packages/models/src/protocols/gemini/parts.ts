import type { JsonObject, JsonValue } from '@treadle/core';
import type { ModelBlock } from '@treadle/core/model';
import { asObject, asText } from '../shared/json-text.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Fields of a part that say something about it and are not what it is. */
const ASIDES: ReadonlySet<string> = new Set(['thought', 'thoughtSignature', 'videoMetadata', 'partMetadata']);

/** Numbers the calls a provider ran itself, such as `google-pc-0`, and finds the call that a result belongs to. */
export class ProviderCallIds {
  readonly #prefix: string;
  #made = 0;
  #latest = '';

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The id of a call: its own, or one that is made. */
  call(given: unknown): string {
    this.#latest = asText(given) ?? `${this.#prefix}-pc-${this.#made++}`;
    return this.#latest;
  }

  /** The id of the call a result belongs to: the one it names, or the latest. */
  result(given: unknown): string {
    return asText(given) ?? this.#latest;
  }
}

const toolTypeOf = (fields: Fields): string => (asText(fields['toolType']) ?? 'unknown').toLowerCase();

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
  const call = code ?? asObject(part['toolCall']);
  if (call !== undefined) {
    const name = code === undefined ? toolTypeOf(call) : 'code_execution';
    const args = (code ?? call['args'] ?? {}) as JsonValue;
    return { type: 'provider_tool_call', callId: ids.call(call['id']), name, arguments: args, raw };
  }
  const outcome = asObject(part['codeExecutionResult']);
  const result = outcome ?? asObject(part['toolResponse']);
  if (result !== undefined) {
    const name = outcome === undefined ? toolTypeOf(result) : 'code_execution';
    const isError = outcome
      ? outcome['outcome'] !== 'OUTCOME_OK'
      : asObject(result['response'])?.['error'] !== undefined;
    return { type: 'provider_tool_result', callId: ids.result(result['id']), name, isError, raw };
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
