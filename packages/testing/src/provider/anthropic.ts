import type { JsonObject, Usage } from '@treadle/core';
import type { ModelBlock, ModelEvent } from '@treadle/core/model';
import { isJsonObject } from '@treadle/core/json';
import { usageOf } from '../turns.ts';
import { isText } from './requests.ts';
import { validateAnthropicRequest } from './validate/anthropic.ts';
import { bearerOf, eventsOf, inputOf, stopWord, type ReplyContext, type StopWords, type Wire } from './wire.ts';

const STOP: StopWords = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_use: 'tool_use',
  pause: 'pause_turn',
  refusal: 'refusal',
  content_filter: 'refusal',
  other: 'other',
};

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

const typeOfStatus = (status: number): string =>
  ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');

const frame = (data: JsonObject & { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

function usageFields(usage: Usage, output: number | null): JsonObject {
  const all = {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    output_tokens: output,
  };
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count !== null));
}

function message({ number, model, turn }: ReplyContext, usage: JsonObject | undefined): JsonObject {
  return {
    id: `msg_fake${number}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(usage && { usage }),
    ...(turn.containerId !== undefined && { container: { id: turn.containerId, expires_at: '2030-01-01T00:00:00Z' } }),
  };
}

const signatureOf = (block: { readonly signature?: string }, number: number, index: number): string =>
  block.signature ?? `signature-${number}-${index}`;

/** A finished block as the service writes it in a message. */
function wireBlock(block: ModelBlock, number: number, index: number): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text, ...(block.citations && { citations: block.citations }) };
    case 'thinking':
      return { type: 'thinking', thinking: block.text, signature: signatureOf(block, number, index) };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data };
    case 'tool_call':
      return { type: 'tool_use', id: block.providerCallId, name: block.name, input: inputOf(block) };
    case 'provider_tool_call':
    case 'provider_tool_result':
    case 'provider_block':
      return block.raw;
    default:
      throw new Error(`A reply on this wire has no ${block.type} blocks.`);
  }
}

/** What a block with deltas looks like when it starts. */
function emptyBlock(event: ModelEvent): JsonObject | undefined {
  switch (event.type) {
    case 'text_delta':
      return { type: 'text', text: '' };
    case 'thinking_delta':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'tool_call_start':
      return { type: 'tool_use', id: event.providerCallId, name: event.name, input: {} };
    case 'block_end': {
      const { block } = event;
      if (block.type === 'text') return { type: 'text', text: '' };
      if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
      const whole = wireBlock(block, 0, 0);
      return isJsonObject(whole['input']) ? { ...whole, input: {} } : whole;
    }
    default:
      return undefined;
  }
}

/** What a block still says before it stops. */
function lastDeltas(block: ModelBlock, number: number, index: number): JsonObject[] {
  if (block.type === 'thinking') return [{ type: 'signature_delta', signature: signatureOf(block, number, index) }];
  if (block.type === 'text') return (block.citations ?? []).map((citation) => ({ type: 'citations_delta', citation }));
  if (block.type === 'provider_tool_call' && isJsonObject(block.raw['input']))
    return [{ type: 'input_json_delta', partial_json: JSON.stringify(block.raw['input']) }];
  return [];
}

function encoder(context: ReplyContext): (event: ModelEvent) => string {
  const usage = usageOf(context.turn);
  let open = -1;

  const started = (event: ModelEvent & { readonly index: number }): string => {
    if (event.index === open) return '';
    const block = emptyBlock(event);
    open = event.index;
    return block ? frame({ type: 'content_block_start', index: open, content_block: block }) : '';
  };
  const delta = (index: number, value: JsonObject): string =>
    frame({ type: 'content_block_delta', index, delta: value });

  return (event) => {
    switch (event.type) {
      case 'start':
        return (
          frame({ type: 'message_start', message: message(context, usage ? usageFields(usage, 1) : undefined) }) +
          frame({ type: 'ping' })
        );
      case 'text_delta':
        return started(event) + delta(event.index, { type: 'text_delta', text: event.text });
      case 'thinking_delta':
        return started(event) + delta(event.index, { type: 'thinking_delta', thinking: event.text });
      case 'tool_call_start':
        return started(event) + delta(event.index, { type: 'input_json_delta', partial_json: '' });
      case 'tool_arguments_delta':
        return delta(event.index, { type: 'input_json_delta', partial_json: event.text });
      case 'block_end': {
        const rest = lastDeltas(event.block, context.number, event.index).map((value) => delta(event.index, value));
        return started(event) + rest.join('') + frame({ type: 'content_block_stop', index: event.index });
      }
      case 'finish':
        return (
          frame({
            type: 'message_delta',
            delta: { stop_reason: stopWord(context.turn, STOP), stop_sequence: null },
            ...(usage && { usage: usageFields(usage, usage.output) }),
          }) + frame({ type: 'message_stop' })
        );
      case 'error': {
        const { error } = event;
        const type = error.code ?? typeOfStatus(error.status ?? 500);
        return frame({ type: 'error', error: { type, message: error.message } });
      }
    }
  };
}

function whole(context: ReplyContext): JsonObject {
  const usage = usageOf(context.turn);
  const content = eventsOf(context).flatMap((event) =>
    event.type === 'block_end' ? [wireBlock(event.block, context.number, event.index)] : [],
  );
  return {
    ...message(context, usage ? usageFields(usage, usage.output) : undefined),
    content,
    stop_reason: stopWord(context.turn, STOP),
  };
}

const VERTEX = /\/publishers\/anthropic\/models\/([^/:]+):(?:streamRawPredict|rawPredict)$/;

/** Anthropic Messages, at Anthropic's own address and at Vertex AI's. */
export const anthropicWire: Wire = {
  name: 'anthropic-messages',
  path: '/v1/messages',
  otherPaths: VERTEX,
  modelOf: (path, body) =>
    decodeURIComponent(VERTEX.exec(path)?.[1] ?? (isText(body['model']) ? body['model'] : 'unknown')),
  requestIdHeader: 'request-id',
  checkHeaders: (headers, path) =>
    headers['anthropic-version'] || VERTEX.test(path) ? [] : ['anthropic-version: header is required'],
  // On Vertex AI the model is in the path, and the version in the body.
  checkBody: (body) => {
    if (!isJsonObject(body) || body['anthropic_version'] === undefined) return validateAnthropicRequest(body);
    const wrong = body['model'] === undefined ? [] : ['model: Extra inputs are not permitted'];
    return [...wrong, ...validateAnthropicRequest({ ...body, model: 'in the path' })];
  },
  apiKey: (headers) => headers['x-api-key'] ?? bearerOf(headers),
  encoder,
  whole,
  errorBody: (status, text, code, requestId) => ({
    type: 'error',
    error: { type: code ?? typeOfStatus(status), message: text },
    request_id: requestId,
  }),
  overflow: { message: 'prompt is too long: 210000 tokens > 200000 maximum' },
};
