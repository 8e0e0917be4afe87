import type { JsonObject, JsonValue, Usage } from '@treadle/core';
import type { ModelBlock } from '@treadle/core/model';
import { defined } from '@treadle/core/json';
import { finishEvent, startEvent, withCounts, type Fields, type Stop } from '../shared/events.ts';
import { asCount, asObject, asText, parsedOrText, parseObject, without } from '../shared/json-text.ts';
import type { Decoder, DecoderSink, WireError } from '../shared/protocol.ts';
import { createBlockText, type TextRun } from '../shared/text-run.ts';

/** A block that is being received. `run` is its text: prose, reasoning, or the JSON of a tool's input. */
interface OpenBlock {
  readonly index: number;
  readonly kind: 'text' | 'thinking' | 'tool_use' | 'provider_call' | 'raw';
  /** The block as it began. Deltas of kinds we don't know are merged into it. */
  readonly start: Record<string, unknown>;
  readonly run: TextRun;
  signature: string;
  citations: JsonValue[] | undefined;
}

const STOP_REASONS: ReadonlyMap<string, Stop> = new Map<string, Stop>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_use'],
  ['pause_turn', 'pause'],
  ['compaction', 'pause'],
  ['refusal', 'refusal'],
]);

/** The status each error type has when it is not inside a stream. Source: the API's list of errors. */
const ERROR_STATUS: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

/** The error of `{"type":"error","error":{"type","message"}}`. */
export function readAnthropicError(body: JsonObject): WireError | undefined {
  const error = asObject(body['error']);
  if (error === undefined) return undefined;
  const code = asText(error['type']);
  const status = code === undefined ? undefined : ERROR_STATUS.get(code);
  return {
    message: asText(error['message']) ?? code ?? 'The provider reported an error without a message.',
    ...defined({ code, status }),
  };
}

const readUsage = (raw: Fields): Usage => ({
  ...defined({ cacheWrite1h: asCount(asObject(raw['cache_creation'])?.['ephemeral_1h_input_tokens']) || undefined }),
  input: asCount(raw['input_tokens']),
  output: asCount(raw['output_tokens']),
  cacheRead: asCount(raw['cache_read_input_tokens']),
  cacheWrite: asCount(raw['cache_creation_input_tokens']),
  reasoning: asCount(asObject(raw['output_tokens_details'])?.['thinking_tokens']),
});

const kindOf = (type: string): OpenBlock['kind'] => {
  if (type === 'text' || type === 'thinking' || type === 'tool_use') return type;
  return type === 'server_tool_use' || type === 'mcp_tool_use' ? 'provider_call' : 'raw';
};

/** The fields of `start` that are not in `known`: kept with the block and sent back with it. */
const otherFields = (start: Fields, known: readonly string[]): { opaque?: JsonObject } => {
  const opaque = without(start, known);
  return Object.keys(opaque).length === 0 ? {} : { opaque };
};

/** Adds a delta of a kind we don't know to the raw block: strings and arrays grow, anything else is replaced. */
const mergeRaw = (raw: Record<string, unknown>, delta: Fields): void => {
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'type') continue;
    const before = raw[key];
    if (typeof before === 'string' && typeof value === 'string') raw[key] = before + value;
    else if (Array.isArray(before) && Array.isArray(value))
      raw[key] = [...(before as unknown[]), ...(value as unknown[])];
    else raw[key] = value;
  }
};

/** Blocks that are kept as they are although they are known. */
const KEPT_BLOCKS: ReadonlySet<string> = new Set(['redacted_thinking', 'compaction', 'container_upload', 'fallback']);

const isUnknownBlock = (type: string): boolean => !KEPT_BLOCKS.has(type) && !type.endsWith('_result');

/** What a raw block means: the result of a tool the provider ran, redacted reasoning, or something newer than this code. */
const finishRaw = (raw: Record<string, unknown>, toolNames: ReadonlyMap<string, string>): ModelBlock => {
  const type = asText(raw['type']) ?? 'unknown';
  if (type === 'redacted_thinking') {
    return { type, data: asText(raw['data']) ?? '', ...otherFields(raw, ['type', 'data']) };
  }
  const callId = asText(raw['tool_use_id']);
  if (callId === undefined || !type.endsWith('_result'))
    return { type: 'provider_block', kind: type, raw: raw as JsonObject };
  const contentType = asText(asObject(raw['content'])?.['type']);
  return {
    type: 'provider_tool_result',
    callId,
    name: toolNames.get(callId) ?? type.replace(/_tool_result$/, ''),
    isError: raw['is_error'] === true || contentType?.endsWith('_error') === true,
    raw: raw as JsonObject,
  };
};

/** The deltas that show the text of each kind of block. */
const DELTAS = {
  text: 'text_delta',
  thinking: 'thinking_delta',
  tool_use: 'tool_arguments_delta',
  provider_call: undefined,
  raw: undefined,
} as const;

/** The field that carries the piece of each kind of delta. */
const PIECE_FIELDS: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['input_json_delta', 'partial_json'],
  ['thinking_delta', 'thinking'],
]);

/** Reads one response of the Messages API. */
export function createAnthropicDecoder(sink: DecoderSink): Decoder {
  let open = new Map<unknown, OpenBlock>();
  let toolNames = new Map<string, string>();
  let nextIndex = 0;
  let begun = false;
  let over = false;
  let usage: Fields | undefined;
  let rawStopReason: string | undefined;
  let containerId: string | undefined;

  const fail = (message: string): void => {
    over = true;
    sink.malformed(message);
  };

  const begin = (message: Fields): void => {
    usage = withCounts(usage, message['usage']);
    // Some gateways send the beginning twice. With nothing in between it means nothing; otherwise the provider began its
    // answer again, and what came before is void.
    if (begun && nextIndex === 0) return;
    begun = true;
    open = new Map();
    toolNames = new Map();
    nextIndex = 0;
    rawStopReason = undefined;
    containerId = asText(asObject(message['container'])?.['id']);
    sink.event(startEvent({ model: message['model'], responseId: message['id'], containerId }));
  };

  const addDelta = (block: OpenBlock, delta: Fields): void => {
    const type = delta['type'];
    const field = PIECE_FIELDS.get(type);
    if (field !== undefined) block.run.add(delta[field]);
    else if (type === 'signature_delta') block.signature += asText(delta['signature']) ?? '';
    else if (type === 'citations_delta') (block.citations ??= []).push(delta['citation'] as JsonValue);
    else if (block.kind === 'raw') mergeRaw(block.start, delta);
    else sink.unknown(asText(type) ?? 'delta');
  };

  const finishBlock = (block: OpenBlock): ModelBlock => {
    const { start, run } = block;
    // Before the text is read: the input of a tool may be whole at the start, and half a character may be held back.
    if ((block.kind === 'tool_use' || block.kind === 'provider_call') && run.whole() === '') {
      run.add(JSON.stringify(start['input'] ?? {}));
    }
    const text = run.end();
    switch (block.kind) {
      case 'text':
        return { type: 'text', text, ...defined({ citations: block.citations }) };
      case 'thinking':
        return {
          type: 'thinking',
          text,
          ...(block.signature === '' ? {} : { signature: block.signature }),
          ...otherFields(start, ['type', 'thinking', 'signature']),
        };
      case 'tool_use':
        return {
          type: 'tool_call',
          providerCallId: asText(start['id']) ?? '',
          name: asText(start['name']) ?? '',
          argumentsText: text,
          ...otherFields(start, ['type', 'id', 'name', 'input']),
        };
      case 'provider_call': {
        const input = parsedOrText(text);
        return {
          type: 'provider_tool_call',
          callId: asText(start['id']) ?? '',
          name: asText(start['name']) ?? '',
          arguments: input,
          raw: { ...start, input },
        };
      }
      case 'raw':
        return finishRaw(start, toolNames);
    }
  };

  const endBlock = (wireIndex: unknown, block: OpenBlock): void => {
    open.delete(wireIndex);
    sink.event({ type: 'block_end', index: block.index, block: finishBlock(block) });
  };

  const startBlock = (wireIndex: unknown, start: Fields): void => {
    const unclosed = open.get(wireIndex);
    if (unclosed !== undefined) endBlock(wireIndex, unclosed);
    const type = asText(start['type']) ?? '';
    const kind = kindOf(type);
    if (kind === 'raw' && isUnknownBlock(type)) sink.unknown(type);
    const index = nextIndex++;
    const block: OpenBlock = {
      index,
      kind,
      start: { ...start },
      run: createBlockText(sink, DELTAS[kind], index),
      signature: '',
      citations: undefined,
    };
    open.set(wireIndex, block);
    const id = asText(start['id']) ?? '';
    const name = asText(start['name']) ?? '';
    if (kind === 'tool_use') sink.event({ type: 'tool_call_start', index, providerCallId: id, name });
    else if (kind === 'provider_call') toolNames.set(id, name);
    else if (kind === 'text') {
      block.run.add(start['text']);
      if (Array.isArray(start['citations'])) block.citations = [...(start['citations'] as JsonValue[])];
    } else if (kind === 'thinking') {
      block.run.add(start['thinking']);
      block.signature = asText(start['signature']) ?? '';
    }
  };

  const finish = (): void => {
    over = true;
    for (const [wireIndex, block] of open) endBlock(wireIndex, block);
    const stopReason = STOP_REASONS.get(rawStopReason ?? '') ?? 'other';
    sink.event(finishEvent(stopReason, { rawStopReason, containerId }, usage, readUsage));
  };

  const messageDelta = (event: Fields): void => {
    usage = withCounts(usage, event['usage']);
    const delta = asObject(event['delta']);
    rawStopReason = asText(delta?.['stop_reason']) ?? rawStopReason;
    containerId = asText(asObject(delta?.['container'])?.['id']) ?? containerId;
  };

  const handle = (type: unknown, event: Fields): void => {
    switch (type) {
      case 'content_block_delta': {
        const block = open.get(event['index']);
        const delta = asObject(event['delta']);
        if (block !== undefined && delta !== undefined) addDelta(block, delta);
        return;
      }
      case 'content_block_start':
        return startBlock(event['index'], asObject(event['content_block']) ?? {});
      case 'content_block_stop': {
        const block = open.get(event['index']);
        if (block !== undefined) endBlock(event['index'], block);
        return;
      }
      case 'message_start':
        return begin(asObject(event['message']) ?? {});
      case 'message_delta':
        return messageDelta(event);
      case 'message_stop':
        return finish();
      case 'error':
        over = true;
        return sink.error(readAnthropicError(event as JsonObject) ?? { message: 'The provider reported an error.' });
      default:
        // `ping`, and whatever is newer than this code.
        sink.unknown(asText(type) ?? 'event');
    }
  };

  return {
    frame(name, data, whole) {
      if (over) return;
      const event = parseObject(data);
      if (event !== undefined) return handle(event['type'] ?? name, event);
      // JSON that isn't an object says nothing; text that isn't JSON, unless the connection cut it, is not this wire.
      if (whole && parsedOrText(data) === data) fail('The stream has an event that is not JSON.');
    },
    end() {
      // Only `message_stop` ends this wire.
    },
    usage: () => usage && readUsage(usage),
    whole(body) {
      if (body['type'] !== 'message' || !Array.isArray(body['content'])) return false;
      begin(body);
      for (const [index, block] of (body['content'] as unknown[]).entries()) {
        startBlock(index, asObject(block) ?? {});
        handle('content_block_stop', { index });
      }
      messageDelta({ delta: body });
      finish();
      return true;
    },
  };
}
