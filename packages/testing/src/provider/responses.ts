import type { JsonObject, StopReason, Usage } from '@treadle/core';
import type { ModelBlock, ModelEvent } from '@treadle/core/model';
import { stopReasonOf, usageOf } from '../turns.ts';
import { errorObject, typeOfStatus } from './openai.ts';
import { validateOpenAIResponsesRequest } from './validate/responses.ts';
import { bearerOf, eventsOf, type ReplyContext, type Wire } from './wire.ts';

/** Why a response is not complete, by what stopped the turn. The others complete. */
const INCOMPLETE: Readonly<Partial<Record<StopReason, string>>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
  other: 'other',
};

function usageFields(usage: Usage): JsonObject {
  const input = (usage.input ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
  const output = usage.output ?? 0;
  const written = usage.cacheWrite !== null && usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {};
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? 0, ...written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: input + output,
  };
}

function response(context: ReplyContext, fields: JsonObject): JsonObject {
  return {
    id: `resp_fake${context.number}`,
    object: 'response',
    created_at: context.created,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model: context.model,
    output: [],
    usage: null,
    ...fields,
  };
}

/** How the response ends: its status, and why it is not complete if it isn't. */
function ending({ turn }: ReplyContext): JsonObject & { readonly status: string } {
  const stop = stopReasonOf(turn);
  const reason = INCOMPLETE[stop];
  if (reason === undefined) return { status: 'completed' };
  return { status: 'incomplete', incomplete_details: { reason: turn.rawStopReason ?? reason } };
}

/** Writes the output items of one response. */
interface Writer {
  /** Events for what `event` adds to the output. */
  write(event: ModelEvent): string;
  readonly output: readonly JsonObject[];
}

function createWriter(context: ReplyContext): Writer {
  const { number, turn } = context;
  const refusal = stopReasonOf(turn) === 'refusal';
  const output: JsonObject[] = [];
  let sequence = 0;
  let places = 0;
  /** The item being written: the block it is of, its place in the output and what it is so far. */
  let open: { readonly index: number; readonly at: number; readonly item: JsonObject } | undefined;

  const frame = (type: string, fields: JsonObject): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`;
  const id = (prefix: string, index: number): string => `${prefix}_fake${number}x${index}`;
  const place = (): JsonObject => ({ item_id: open?.item['id'] ?? null, output_index: open?.at ?? 0 });
  const encrypted = (signature: string | undefined, index: number): JsonObject => ({
    encrypted_content: signature ?? `encrypted-${number}-${index}`,
  });

  const begin = (index: number, item: JsonObject, ...parts: readonly string[]): string => {
    if (open?.index === index) return '';
    open = { index, at: places++, item };
    return frame('response.output_item.added', { output_index: open.at, item }) + parts.join('');
  };
  const end = (item: JsonObject): string => {
    const at = open?.at ?? places++;
    output.push(item);
    open = undefined;
    return frame('response.output_item.done', { output_index: at, item });
  };

  const emptyPart = (): JsonObject =>
    refusal ? { type: 'refusal', refusal: '' } : { type: 'output_text', annotations: [], logprobs: [], text: '' };
  const message = (index: number): JsonObject => ({ id: id('msg', index), type: 'message', role: 'assistant' });

  const beginMessage = (index: number): string => {
    const started = begin(index, { ...message(index), status: 'in_progress', content: [] });
    return started === ''
      ? ''
      : started + frame('response.content_part.added', { ...place(), content_index: 0, part: emptyPart() });
  };
  const beginReasoning = (index: number): string => {
    const started = begin(index, { id: id('rs', index), type: 'reasoning', summary: [] });
    if (started === '') return '';
    const part = { type: 'summary_text', text: '' };
    return started + frame('response.reasoning_summary_part.added', { ...place(), summary_index: 0, part });
  };

  const endMessage = (block: Extract<ModelBlock, { type: 'text' }>, index: number): string => {
    const started = beginMessage(index);
    const annotations = block.citations ?? [];
    const part: JsonObject = refusal
      ? { type: 'refusal', refusal: block.text }
      : { type: 'output_text', annotations, logprobs: [], text: block.text };
    const cited = annotations.map((annotation, annotation_index) =>
      frame('response.output_text.annotation.added', { ...place(), content_index: 0, annotation_index, annotation }),
    );
    const done = refusal
      ? frame('response.refusal.done', { ...place(), content_index: 0, refusal: block.text })
      : frame('response.output_text.done', { ...place(), content_index: 0, text: block.text, logprobs: [] });
    const partDone = frame('response.content_part.done', { ...place(), content_index: 0, part });
    const item = { ...message(index), status: 'completed', content: [part] };
    return started + cited.join('') + done + partDone + end(item);
  };

  const endReasoning = (block: Extract<ModelBlock, { type: 'thinking' }>, index: number): string => {
    const started = beginReasoning(index);
    const part = { type: 'summary_text', text: block.text };
    const done =
      frame('response.reasoning_summary_text.done', { ...place(), summary_index: 0, text: block.text }) +
      frame('response.reasoning_summary_part.done', { ...place(), summary_index: 0, part });
    const item = { id: id('rs', index), type: 'reasoning', ...encrypted(block.signature, index), summary: [part] };
    return started + done + end(item);
  };

  const call = (event: { providerCallId: string; name: string }, index: number): JsonObject => ({
    id: id('fc', index),
    type: 'function_call',
    status: 'in_progress',
    arguments: '',
    call_id: event.providerCallId,
    name: event.name,
  });

  const endBlock = (block: ModelBlock, index: number): string => {
    switch (block.type) {
      case 'text':
        return endMessage(block, index);
      case 'thinking':
        return endReasoning(block, index);
      case 'redacted_thinking': {
        const item = { id: id('rs', index), type: 'reasoning', summary: [] };
        return begin(index, item) + end({ ...item, encrypted_content: block.data });
      }
      case 'tool_call': {
        const started = begin(index, call(block, index));
        const done = frame('response.function_call_arguments.done', { ...place(), arguments: block.argumentsText });
        return started + done + end({ ...call(block, index), status: 'completed', arguments: block.argumentsText });
      }
      case 'provider_tool_call':
      case 'provider_tool_result':
      case 'provider_block':
        return begin(index, block.raw) + end(block.raw);
      default:
        throw new Error(`A reply on this wire has no ${block.type} blocks.`);
    }
  };

  const write = (event: ModelEvent): string => {
    switch (event.type) {
      case 'start':
        return (
          frame('response.created', { response: response(context, {}) }) +
          frame('response.in_progress', { response: response(context, {}) })
        );
      case 'text_delta': {
        const type = refusal ? 'response.refusal.delta' : 'response.output_text.delta';
        const started = beginMessage(event.index);
        return started + frame(type, { ...place(), content_index: 0, delta: event.text, obfuscation: 'x'.repeat(8) });
      }
      case 'thinking_delta': {
        const started = beginReasoning(event.index);
        const type = 'response.reasoning_summary_text.delta';
        return started + frame(type, { ...place(), summary_index: 0, delta: event.text });
      }
      case 'tool_call_start':
        return begin(event.index, call(event, event.index));
      case 'tool_arguments_delta':
        return frame('response.function_call_arguments.delta', { ...place(), delta: event.text });
      case 'block_end':
        return endBlock(event.block, event.index);
      case 'finish': {
        const ended = ending(context);
        const usage = usageOf(turn);
        const whole = response(context, { ...ended, output, usage: usage ? usageFields(usage) : null });
        return frame(`response.${ended.status}`, { response: whole });
      }
      case 'error': {
        const { message, code, status } = event.error;
        return frame('error', { code: code ?? typeOfStatus(status ?? 500), message, param: null });
      }
    }
  };
  return { write, output };
}

function whole(context: ReplyContext): JsonObject {
  const writer = createWriter(context);
  for (const event of eventsOf(context)) writer.write(event);
  const usage = usageOf(context.turn);
  return response(context, {
    ...ending(context),
    output: writer.output,
    usage: usage ? usageFields(usage) : null,
  });
}

/** OpenAI Responses, also at the addresses where Azure OpenAI speaks it. Thinking goes out as summary and ciphertext. */
export const openAIResponsesWire: Wire = {
  name: 'openai-responses',
  path: '/v1/responses',
  otherPaths: /^\/openai\/(?:v1|deployments\/[^/]+)\/responses$/,
  requestIdHeader: 'x-request-id',
  checkBody: validateOpenAIResponsesRequest,
  apiKey: (headers) => bearerOf(headers) ?? headers['api-key'],
  encoder: (context) => createWriter(context).write,
  whole,
  errorBody: (status, message, code) => errorObject(message, typeOfStatus(status), code),
  overflow: {
    message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    code: 'context_length_exceeded',
  },
};
