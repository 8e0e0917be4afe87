import type { JsonObject, JsonValue } from '@treadle/core';
import type { ModelBlock } from '@treadle/core/model';
import type { Fields } from '../shared/events.ts';
import { asObject, asText, parsedOrText } from '../shared/json-text.ts';
import type { TextRun } from '../shared/text-run.ts';

/** What a block of this wire is. `server_call` and `server_result` are of tools the service runs itself. */
export type BlockKind = 'text' | 'thinking' | 'redacted' | 'tool' | 'server_call' | 'server_result' | 'image' | 'raw';

/** A block that is being received. */
export interface OpenBlock {
  readonly index: number;
  readonly kind: BlockKind;
  /** What it began with, such as the id and the name of a call. */
  readonly start: Fields;
  /** Its text: prose, reasoning, or the JSON of a tool's input. */
  readonly run: TextRun;
  signature: string;
  /** Base64 texts of redacted reasoning or of an image. */
  readonly pieces: string[];
  /** Citations, parts of a result, or deltas of a kind we don't know. */
  readonly parts: JsonValue[];
}

/** Base64 of the joined bytes of several base64 texts. One text stays as it is. */
function joinBase64(pieces: readonly string[]): string {
  if (pieces.length < 2) return pieces[0] ?? '';
  try {
    return btoa(pieces.map((piece) => atob(piece)).join(''));
  } catch {
    return pieces.join('');
  }
}

const serverCall = (start: Fields, text: string): ModelBlock => {
  const input = text === '' ? {} : parsedOrText(text);
  return {
    type: 'provider_tool_call',
    callId: asText(start['toolUseId']) ?? '',
    name: asText(start['name']) ?? '',
    arguments: input,
    raw: { toolUse: { ...(start as JsonObject), input } },
  };
};

const serverResult = (block: OpenBlock, toolNames: ReadonlyMap<string, string>): ModelBlock => {
  const { start, parts } = block;
  const callId = asText(start['toolUseId']) ?? '';
  return {
    type: 'provider_tool_result',
    callId,
    name: toolNames.get(callId) ?? asText(start['type']) ?? '',
    isError: start['status'] === 'error',
    raw: { toolResult: { ...(start as JsonObject), content: parts } },
  };
};

/** The finished block. `toolNames`: the service's own tools by the ids of their calls. */
export function finishedBlock(block: OpenBlock, toolNames: ReadonlyMap<string, string>): ModelBlock {
  const { kind, start, run, signature, pieces, parts } = block;
  switch (kind) {
    case 'text':
      return { type: 'text', text: run.whole(), ...(parts.length === 0 ? {} : { citations: parts }) };
    case 'thinking':
      return { type: 'thinking', text: run.whole(), ...(signature === '' ? {} : { signature }) };
    case 'redacted':
      return { type: 'redacted_thinking', data: joinBase64(pieces) };
    case 'tool':
      return {
        type: 'tool_call',
        providerCallId: asText(start['toolUseId']) ?? '',
        name: asText(start['name']) ?? '',
        argumentsText: run.whole(),
      };
    case 'server_call':
      return serverCall(start, run.whole());
    case 'server_result':
      return serverResult(block, toolNames);
    case 'image':
      return { type: 'image', mediaType: `image/${asText(start['format']) ?? 'png'}`, data: joinBase64(pieces) };
    case 'raw':
      return {
        type: 'provider_block',
        kind: Object.keys(start)[0] ?? 'unknown',
        raw: { start: start as JsonObject, deltas: parts },
      };
  }
}

/** What a delta adds to. */
export function kindOfDelta(delta: Fields): BlockKind {
  if (typeof delta['text'] === 'string') return 'text';
  if (delta['toolUse'] !== undefined) return 'tool';
  const reasoning = asObject(delta['reasoningContent']);
  if (reasoning !== undefined) return reasoning['redactedContent'] === undefined ? 'thinking' : 'redacted';
  if (delta['citation'] !== undefined) return 'text';
  if (delta['toolResult'] !== undefined) return 'server_result';
  return delta['image'] === undefined ? 'raw' : 'image';
}
