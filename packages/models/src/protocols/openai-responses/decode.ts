import type { JsonObject, JsonValue, Usage } from '@treadle/core';
import type { ModelRequest } from '@treadle/core/model';
import { finishEvent, startEvent, type Fields, type Stop } from '../shared/events.ts';
import { asCount, asObject, asText, isJson, parseObject } from '../shared/json-text.ts';
import { readOpenAIResponsesError } from './error.ts';
import { createItems, type Items } from './items.ts';
import { executor } from './provider.ts';
import { partKind, type PartKind } from './parts.ts';
import type { OpenAIResponsesQuirks } from './quirks.ts';
import type { Decoder, DecoderSink } from '../shared/protocol.ts';

const INCOMPLETE_REASONS: ReadonlyMap<string, Stop> = new Map<string, Stop>([
  ['max_output_tokens', 'length'],
  ['max_tokens', 'length'],
  ['content_filter', 'content_filter'],
]);

/** Counts in Treadle's terms: what was read from a cache and written to it is part of `input_tokens`. */
export function readOpenAIResponsesUsage(raw: Fields): Usage {
  const details = asObject(raw['input_tokens_details']);
  const all = asCount(raw['input_tokens']);
  const cacheRead = asCount(details?.['cached_tokens']);
  const cacheWrite = asCount(details?.['cache_write_tokens']);
  return {
    input: all === null ? null : all - (cacheRead ?? 0) - (cacheWrite ?? 0),
    output: asCount(raw['output_tokens']),
    cacheRead,
    cacheWrite,
    reasoning: asCount(asObject(raw['output_tokens_details'])?.['reasoning_tokens']),
  };
}

interface ReadablePart {
  readonly kind: PartKind;
  /** The field that counts the parts of their kind. */
  readonly position: 'content_index' | 'summary_index';
}

/** Parts that are text, by the beginning of their events' names. The last two are older names. */
const READABLE: ReadonlyMap<string, ReadablePart> = new Map<string, ReadablePart>([
  ['response.output_text', { kind: 'output_text', position: 'content_index' }],
  ['response.refusal', { kind: 'refusal', position: 'content_index' }],
  ['response.reasoning_summary_text', { kind: 'summary_text', position: 'summary_index' }],
  ['response.reasoning_text', { kind: 'reasoning_text', position: 'content_index' }],
  ['response.reasoning', { kind: 'reasoning_text', position: 'content_index' }],
  ['response.reasoning_summary', { kind: 'summary_text', position: 'summary_index' }],
]);

/** The part that an event is about whose name ends like this. */
const readablePart = (type: unknown, ending: '.delta' | '.done'): ReadablePart | undefined =>
  typeof type === 'string' && type.endsWith(ending) ? READABLE.get(type.slice(0, -ending.length)) : undefined;

/** Events whose delta is a piece of a call. */
const INPUT_DELTAS: ReadonlySet<unknown> = new Set([
  'response.function_call_arguments.delta',
  'response.custom_tool_call_input.delta',
]);

/** Events that say nothing to us and may be large: a picture so far, the request repeated. */
const SKIPPED: ReadonlySet<string> = new Set([
  'response.in_progress',
  'response.queued',
  'response.image_generation_call.partial_image',
  'response.code_interpreter_call_code.delta',
  'response.apply_patch_call_operation_diff.delta',
  'response.shell_call_command.delta',
  'response.mcp_call_arguments.delta',
]);

/** Other events that say nothing to us: what they are about comes whole with the end of its item. */
const SAYS_NOTHING =
  /^response\.(?:(?:content_part|reasoning_summary_part)\.added$|(?:function_call_arguments|custom_tool_call_input)\.done$|(?:[a-z]+_)*call(?:_[a-z_]+)?\.|mcp_list_tools\.|audio\.)/;

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** A delta is its text, or an object with it. */
const pieceOf = (delta: unknown): string => asText(delta) ?? asText(asObject(delta)?.['text']) ?? '';

/** Reads one response of the Responses API. */
export function createOpenAIResponsesDecoder(
  sink: DecoderSink,
  quirks: Required<OpenAIResponsesQuirks>,
  request: ModelRequest,
): Decoder {
  let begun = false;
  let over = false;
  let touched = false;
  const newItems = (): Items =>
    createItems(
      sink,
      quirks,
      (name) => (quirks.strictTools ? request.tools.find((tool) => tool.name === name)?.inputSchema : undefined),
      (item) => executor(request, item),
    );
  let items = newItems();

  const begin = (response: Fields): void => {
    // Said twice with nothing in between it means nothing; otherwise the answer began again, and what came is void.
    if (begun && !touched) return;
    begun = true;
    touched = false;
    items = newItems();
    sink.event(startEvent({ model: response['model'], responseId: response['id'] }));
  };

  const fail = (body: JsonObject): void => {
    over = true;
    sink.error(readOpenAIResponsesError(body) ?? { message: 'The provider reported an error.' });
  };

  /** Why a response that isn't complete ended, in our word and the provider's. */
  const stopOf = (response: Fields, status: string): { stopReason: Stop; rawStopReason: string } => {
    const reason = asText(asObject(response['incomplete_details'])?.['reason']);
    const rawStopReason = reason ?? status;
    if (status !== 'completed') return { stopReason: INCOMPLETE_REASONS.get(rawStopReason) ?? 'other', rawStopReason };
    if (items.callCount() > 0) return { stopReason: 'tool_use', rawStopReason };
    return { stopReason: items.hasRefusal() ? 'refusal' : items.isWaiting() ? 'other' : 'stop', rawStopReason };
  };

  const finish = (response: Fields, implied: string): void => {
    const status = asText(response['status']) ?? implied;
    if (status === 'failed' || status === 'cancelled') {
      const error = asObject(response['error']) ?? { message: `The response ended with the status ${status}.` };
      return fail({ error } as JsonObject);
    }
    if (!begun) begin(response);
    over = true;
    items.end(response['output'], status !== 'completed');
    const usage = asObject(response['usage']);
    const { stopReason, rawStopReason } = stopOf(response, status);
    sink.event(finishEvent(stopReason, { rawStopReason }, usage, readOpenAIResponsesUsage));
  };

  /** The end of a part, which holds the part. */
  const endPart = (event: Fields, position: string): void => {
    const part = asObject(event['part']);
    const kind = partKind(part?.['type']);
    const parts = items.about(event)?.parts;
    if (part === undefined || kind === undefined || parts === undefined) return;
    const at = count(event[position]);
    parts.complete(kind, at, kind === 'refusal' ? part['refusal'] : part['text']);
    if (kind === 'output_text') parts.citeAll(at, part['annotations']);
  };

  const aboutItem = (type: unknown, event: Fields): void => {
    const text = readablePart(type, '.delta');
    if (text !== undefined || INPUT_DELTAS.has(type)) {
      const item = items.about(event);
      const piece = pieceOf(event['delta']);
      if (piece === '') return;
      if (text === undefined) item?.addInput(piece);
      else item?.addText(text.kind, count(event[text.position]), piece);
      return;
    }
    const ended = readablePart(type, '.done');
    if (ended !== undefined) {
      const whole = event[ended.kind === 'refusal' ? 'refusal' : 'text'];
      items.about(event)?.parts.complete(ended.kind, count(event[ended.position]), whole);
      return;
    }
    switch (type) {
      case 'response.output_item.added':
        return items.open(event);
      case 'response.output_item.done':
        return items.close(event);
      case 'response.content_part.done':
        return endPart(event, 'content_index');
      case 'response.reasoning_summary_part.done':
        return endPart(event, 'summary_index');
      case 'response.output_text.annotation.added':
        return items.about(event)?.parts.cite(count(event['content_index']), event['annotation'] as JsonValue);
      default:
        if (typeof type !== 'string' || !(SKIPPED.has(type) || SAYS_NOTHING.test(type)))
          sink.unknown(asText(type) ?? 'event');
    }
  };

  const handle = (type: unknown, event: Fields): void => {
    switch (type) {
      case 'response.created':
        return begin(asObject(event['response']) ?? {});
      case 'response.completed':
      case 'response.done':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return finish(asObject(event['response']) ?? {}, type.replace(/^response\./, '').replace('done', 'completed'));
      case 'error':
        return fail(event as JsonObject);
      default:
        // A server that doesn't introduce its response has begun it all the same.
        if (!begun) begin({});
        touched = true;
        aboutItem(type, event);
    }
  };

  return {
    frame(name, data, whole) {
      if (over || SKIPPED.has(name)) return;
      const event = parseObject(data);
      if (event !== undefined) {
        const type = event['type'] ?? name;
        // Without a type it can only be an error: `{"error": …}` as gateways send it.
        return handle(type === '' && asObject(event['error']) !== undefined ? 'error' : type, event);
      }
      if (!whole || data.startsWith('[DONE]') || isJson(data)) return;
      over = true;
      sink.malformed('The stream has an event that is not JSON.');
    },
    end() {
      // Only the end of the response ends this wire.
    },
    whole(body) {
      if (!Array.isArray(body['output']) || (body['object'] ?? 'response') !== 'response') return false;
      begin(body);
      finish(body, 'completed');
      return true;
    },
  };
}
