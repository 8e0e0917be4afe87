import type { JsonObject, JsonValue, StopReason, Usage } from '@treadle/core';
import { UNKNOWN_USAGE } from '@treadle/core';
import { createDeltaTemplate } from './delta-template.ts';
import { asCount, asObject, asText, parseObject } from './json-text.ts';
import { createCallAssembler } from './openai-chat-calls.ts';
import { readOpenAIError } from './openai-error.ts';
import { contentPartText, createReasoningDetails } from './openai-chat-reasoning.ts';
import type { ReasoningDetails } from './openai-chat-reasoning.ts';
import type { Decoder, DecoderSink } from './protocol.ts';
import { createTextRun } from './text-run.ts';
import type { TextRun } from './text-run.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Text or reasoning that is being received. */
interface OpenRun {
  readonly index: number;
  readonly kind: 'text' | 'thinking';
  readonly run: TextRun;
  citations: JsonValue[] | undefined;
  details: ReasoningDetails | undefined;
}

const STOP_REASONS: ReadonlyMap<string, Exclude<StopReason, 'error' | 'aborted'>> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['model_length', 'length'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
  ['content_filter', 'content_filter'],
  ['refusal', 'refusal'],
]);

/** Counts in Treadle's terms, from wherever each server puts them. */
function readOpenAIChatUsage(raw: Fields): Usage {
  const details = asObject(raw['prompt_tokens_details']);
  const prompt = asCount(raw['prompt_tokens']);
  const completion = asCount(raw['completion_tokens']);
  const total = asCount(raw['total_tokens']);
  const cached =
    asCount(details?.['cached_tokens']) ?? asCount(raw['prompt_cache_hit_tokens']) ?? asCount(raw['cached_tokens']);
  const written = asCount(details?.['cache_write_tokens']);
  const reasoning =
    asCount(asObject(raw['completion_tokens_details'])?.['reasoning_tokens']) ?? asCount(raw['reasoning_tokens']);
  // Some servers leave reasoning out of the completion; then the total tells.
  const apart =
    reasoning !== null && prompt !== null && completion !== null && total === prompt + completion + reasoning;
  return {
    input: prompt === null ? null : Math.max(0, prompt - (cached ?? 0) - (written ?? 0)),
    output: apart ? completion + reasoning : completion,
    cacheRead: cached,
    cacheWrite: written,
    reasoning,
  };
}

/** The one field of a delta that says something, when there is just one; a role says nothing new. */
const onlyField = (delta: Fields): string | undefined => {
  let only: string | undefined;
  for (const key in delta) {
    const value = delta[key];
    if (key === 'role' || value === null || value === '') continue;
    if (only !== undefined) return undefined;
    only = key;
  }
  return only;
};

const choiceOf = (chunk: Fields | undefined): Fields | undefined => {
  const choices = chunk?.['choices'];
  return Array.isArray(choices) && choices.length === 1 ? asObject(choices[0]) : undefined;
};

const readField =
  (field: string) =>
  (data: string): unknown =>
    asObject(choiceOf(parseObject(data))?.['delta'])?.[field];

/** The arguments of a part that continues a call and does nothing else. */
const continuedArguments = (delta: Fields | undefined): unknown => {
  const parts = delta?.['tool_calls'];
  const part = Array.isArray(parts) && parts.length === 1 ? asObject(parts[0]) : undefined;
  const fn = asObject(part?.['function']);
  const fresh = asText(part?.['id']) !== undefined || asText(fn?.['name']) !== undefined;
  return part === undefined || typeof part['index'] !== 'number' || fresh ? undefined : fn?.['arguments'];
};

const readArguments = (data: string): unknown => continuedArguments(asObject(choiceOf(parseObject(data))?.['delta']));

/**
 * Reads one response of Chat Completions.
 *
 * @param doneIsOptional Whether a body may end without `[DONE]` once it gave a finish reason.
 */
export function createOpenAIChatDecoder(sink: DecoderSink, doneIsOptional: boolean): Decoder {
  let nextIndex = 0;
  let begun = false;
  let over = false;
  let refused = false;
  let open: OpenRun | undefined;
  let usage: Record<string, unknown> | undefined;
  let rawStopReason: string | undefined;
  let sources: readonly JsonValue[] | undefined;
  const calls = createCallAssembler(sink, () => nextIndex++);
  const template = createDeltaTemplate({ strings: ['obfuscation'] });

  const begin = (chunk: Fields): void => {
    const model = asText(chunk['model']);
    const responseId = asText(chunk['id']);
    // A first chunk may carry nothing but moderation results; the one that names the response follows.
    if (model === undefined && responseId === undefined && !hasChoices(chunk)) return;
    begun = true;
    sink.event({
      type: 'start',
      ...(model === undefined ? {} : { model }),
      ...(responseId === undefined ? {} : { responseId }),
    });
  };

  const addUsage = (value: unknown): void => {
    const fields = asObject(value);
    if (fields === undefined) return;
    usage ??= {};
    for (const [key, count] of Object.entries(fields)) usage[key] = count;
  };

  const showText = (block: OpenRun, text: string): void => {
    if (text === '') return;
    if (block.kind === 'text') sink.event({ type: 'text_delta', index: block.index, text });
    else sink.event({ type: 'thinking_delta', index: block.index, text });
  };

  const closeRun = (): void => {
    const block = open;
    if (block === undefined) return;
    open = undefined;
    showText(block, block.run.rest());
    const text = block.run.whole();
    if (block.kind === 'text') {
      const citations = block.citations ?? sources;
      sink.event({
        type: 'block_end',
        index: block.index,
        block: { type: 'text', text, ...(citations === undefined ? {} : { citations }) },
      });
      return;
    }
    sink.event({
      type: 'block_end',
      index: block.index,
      block: {
        type: 'thinking',
        text,
        ...(block.details === undefined ? {} : { opaque: { reasoning_details: block.details.all() } }),
      },
    });
  };

  const runOf = (kind: OpenRun['kind']): OpenRun => {
    if (open?.kind === kind) return open;
    closeRun();
    open = { index: nextIndex++, kind, run: createTextRun(), citations: undefined, details: undefined };
    return open;
  };

  const addText = (kind: OpenRun['kind'], piece: string): void => {
    if (piece === '') return;
    const block = runOf(kind);
    showText(block, block.run.add(piece));
  };

  const addReasoning = (delta: Fields): void => {
    // Servers that know both names send the same text under both.
    const text = asText(delta['reasoning_content']) ?? asText(delta['reasoning']);
    const details = delta['reasoning_details'];
    if (Array.isArray(details) && details.length > 0) {
      const block = runOf('thinking');
      block.details ??= createReasoningDetails();
      const readable = block.details.add(details);
      addText('thinking', text ?? readable);
    } else if (text !== undefined) addText('thinking', text);
  };

  const addContent = (content: unknown): void => {
    if (typeof content === 'string') return addText('text', content);
    if (!Array.isArray(content)) return;
    for (const value of content) {
      const part = contentPartText(value);
      if (part !== undefined) addText(part.kind, part.text);
      else sink.unknown(asText(asObject(value)?.['type']) ?? 'part');
    }
  };

  const addCalls = (delta: Fields): void => {
    const parts = delta['tool_calls'];
    if (Array.isArray(parts) && parts.length > 0) {
      closeRun();
      for (const part of parts) calls.add(part);
    } else if (asObject(delta['function_call']) !== undefined) {
      // The older form: one call, without an id.
      closeRun();
      calls.add({ index: 0, function: delta['function_call'] });
    }
  };

  /** Learns the form of an event that only added a piece of text, reasoning or arguments. */
  const learn = (chunk: Fields, data: string): void => {
    const choice = choiceOf(chunk);
    const delta = asObject(choice?.['delta']);
    if (delta === undefined || asText(choice?.['finish_reason']) !== undefined) return;
    const field = onlyField(delta);
    const piece = field === 'tool_calls' ? continuedArguments(delta) : field === undefined ? undefined : delta[field];
    if (field === undefined || typeof piece !== 'string') return;
    if (field === 'content') template.learn(data, piece, readField(field), (text) => addText('text', text));
    else if (field === 'reasoning_content' || field === 'reasoning') {
      template.learn(data, piece, readField(field), (text) => addText('thinking', text));
    } else if (field === 'tool_calls') {
      const add = calls.sameCall();
      if (add !== undefined) template.learn(data, piece, readArguments, add);
    }
  };

  const addDelta = (delta: Fields): void => {
    const content = delta['content'];
    if (
      delta['reasoning_content'] !== undefined ||
      delta['reasoning'] !== undefined ||
      delta['reasoning_details'] !== undefined
    ) {
      addReasoning(delta);
    }
    if (content !== undefined && content !== null) addContent(content);
    const refusal = asText(delta['refusal']);
    if (refusal !== undefined) {
      refused = true;
      addText('text', refusal);
    }
    if (Array.isArray(delta['annotations']) && open?.kind === 'text') {
      (open.citations ??= []).push(...(delta['annotations'] as JsonValue[]));
    }
    if (delta['tool_calls'] !== undefined || delta['function_call'] !== undefined) addCalls(delta);
  };

  const fail = (body: Fields): void => {
    over = true;
    sink.error(readOpenAIError(body as JsonObject) ?? { message: 'The provider reported an error.' });
  };

  const finish = (): void => {
    over = true;
    closeRun();
    const called = calls.count() > 0;
    calls.end();
    const known = STOP_REASONS.get(rawStopReason ?? '') ?? 'other';
    // Several servers say `stop` when the model called tools, or refused.
    const stopReason = known !== 'stop' ? known : called ? 'tool_use' : refused ? 'refusal' : 'stop';
    sink.event({
      type: 'finish',
      stopReason,
      ...(rawStopReason === undefined ? {} : { rawStopReason }),
      usage: usage === undefined ? UNKNOWN_USAGE : readOpenAIChatUsage(usage),
      ...(usage === undefined ? {} : { rawUsage: usage as JsonObject }),
    });
  };

  const addChoice = (choice: Fields, message: unknown): void => {
    const delta = asObject(message);
    if (delta !== undefined) addDelta(delta);
    const reason = asText(choice['finish_reason']);
    if (reason === undefined) return;
    rawStopReason = reason;
    if (reason === 'error')
      fail(choice['error'] === undefined ? { error: { message: 'The provider stopped with an error.' } } : choice);
  };

  /** True when the chunk held an error, and the stream is over. */
  const isError = (chunk: Fields, name: string): boolean => {
    const group = asObject(chunk['x_groq']);
    if (group !== undefined) {
      addUsage(group['usage']);
      if (group['error'] !== undefined && group['error'] !== null) return (fail(group), true);
    }
    const error = chunk['error'];
    if ((error === undefined || error === null) && name !== 'error' && chunk['object'] !== 'error') return false;
    return (fail(chunk), true);
  };

  const handle = (chunk: Fields, name: string): void => {
    if (isError(chunk, name)) return;
    if (!begun) begin(chunk);
    const choices = chunk['choices'];
    if (chunk['usage'] !== undefined) addUsage(chunk['usage']);
    if (Array.isArray(chunk['citations'])) sources = chunk['citations'] as JsonValue[];
    if (!Array.isArray(choices)) {
      const type = unknownType(chunk, name);
      if (type !== undefined) sink.unknown(type);
      return;
    }
    // One answer was asked for; a server that sends more numbers them.
    const choice = asObject(choices[0]);
    if (choice !== undefined && (choice['index'] ?? 0) === 0) addChoice(choice, choice['delta']);
  };

  return {
    frame(name, data, whole) {
      if (over || template.apply(data)) return;
      if (data.startsWith('[DONE]')) return finish();
      const chunk = parseObject(data);
      if (chunk !== undefined) {
        handle(chunk, name);
        if (template.isLearning()) learn(chunk, data);
        return;
      }
      if (!whole || isJson(data)) return;
      over = true;
      sink.malformed('The stream has an event that is not JSON.');
    },
    end() {
      if (!over && doneIsOptional && rawStopReason !== undefined) finish();
    },
    whole(body) {
      const choices = body['choices'];
      const choice = Array.isArray(choices) ? asObject(choices[0]) : undefined;
      const message = asObject(choice?.['message']);
      if (choice === undefined || message === undefined) return false;
      begin(body);
      addUsage(body['usage']);
      if (Array.isArray(body['citations'])) sources = body['citations'] as JsonValue[];
      addChoice(choice, message);
      if (!over) finish();
      return true;
    },
  };
}

/** What an event without choices calls itself, where that isn't what every chunk does. */
function unknownType(chunk: Fields, name: string): string | undefined {
  const type = asText(chunk['object']) ?? asText(chunk['type']) ?? name;
  return type === '' || type === 'chat.completion.chunk' ? undefined : type;
}

function hasChoices(chunk: Fields): boolean {
  return Array.isArray(chunk['choices']) && chunk['choices'].length > 0;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
