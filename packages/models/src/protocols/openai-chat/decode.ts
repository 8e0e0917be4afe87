import type { JsonObject, JsonValue, Usage } from '@treadle/core';
import type { ModelBlock } from '@treadle/core/model';
import { defined } from '@treadle/core/json';
import { finishEvent, startEvent, type Fields, type Stop } from '../shared/events.ts';
import { asCount, asObject, asText, isJson, parseObject } from '../shared/json-text.ts';
import { addCallPart, endCalls, type Calls } from './calls.ts';
import { readOpenAIError } from '../openai/error.ts';
import { contentPartText, ReasoningDetails } from './reasoning.ts';
import type { Decoder, DecoderSink } from '../shared/protocol.ts';
import { createBlockText, type TextRun } from '../shared/text-run.ts';

/** Text or reasoning that is being received. */
interface OpenRun {
  readonly index: number;
  readonly kind: 'text' | 'thinking';
  readonly run: TextRun;
  citations: JsonValue[] | undefined;
  details: ReasoningDetails | undefined;
}

const STOP_REASONS: ReadonlyMap<string, Stop> = new Map<string, Stop>([
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
    input: prompt === null ? null : prompt - (cached ?? 0) - (written ?? 0),
    output: apart ? completion + reasoning : completion,
    cacheRead: cached,
    cacheWrite: written,
    reasoning,
  };
}

/** One response, as far as it was read. */
interface Response extends Calls {
  begun: boolean;
  over: boolean;
  refused: boolean;
  open: OpenRun | undefined;
  usage: Fields | undefined;
  rawStopReason: string | undefined;
  sources: readonly JsonValue[] | undefined;
}

const begin = (response: Response, chunk: Fields): void => {
  const model = asText(chunk['model']);
  const responseId = asText(chunk['id']);
  // A first chunk may carry nothing but moderation results; the one that names the response follows.
  if (model === undefined && responseId === undefined && !hasChoices(chunk)) return;
  response.begun = true;
  response.sink.event(startEvent({ model, responseId }));
};

const addUsage = (response: Response, value: unknown): void => {
  const fields = asObject(value);
  if (fields !== undefined) response.usage = response.usage === undefined ? fields : { ...response.usage, ...fields };
};

const blockOf = ({ kind, run, citations, details }: OpenRun, sources: Response['sources']): ModelBlock => {
  const text = run.end();
  if (kind === 'text') return { type: 'text', text, ...defined({ citations: citations ?? sources }) };
  return { type: 'thinking', text, ...(details && { opaque: { reasoning_details: details.all } }) };
};

const closeRun = (response: Response): void => {
  const { sink, open, sources } = response;
  if (open === undefined) return;
  response.open = undefined;
  sink.event({ type: 'block_end', index: open.index, block: blockOf(open, sources) });
};

const runOf = (response: Response, kind: OpenRun['kind']): OpenRun => {
  if (response.open?.kind === kind) return response.open;
  closeRun(response);
  const index = response.nextIndex++;
  const run = createBlockText(response.sink, `${kind}_delta`, index);
  const open = { index, kind, run, citations: undefined, details: undefined };
  response.open = open;
  return open;
};

const addText = (response: Response, kind: OpenRun['kind'], piece: string): void => {
  if (piece !== '') runOf(response, kind).run.add(piece);
};

const addReasoning = (response: Response, delta: Fields): void => {
  // Servers that know both names send the same text under both.
  const text = asText(delta['reasoning_content']) ?? asText(delta['reasoning']);
  const details = delta['reasoning_details'];
  if (Array.isArray(details) && details.length > 0) {
    const block = runOf(response, 'thinking');
    block.details ??= new ReasoningDetails();
    const readable = block.details.add(details);
    addText(response, 'thinking', text ?? readable);
  } else if (text !== undefined) addText(response, 'thinking', text);
};

const addContent = (response: Response, content: unknown): void => {
  if (typeof content === 'string') return addText(response, 'text', content);
  if (!Array.isArray(content)) return;
  for (const value of content) {
    const part = contentPartText(value);
    if (part !== undefined) addText(response, part.kind, part.text);
    else response.sink.unknown(asText(asObject(value)?.['type']) ?? 'part');
  }
};

const addCalls = (response: Response, delta: Fields): void => {
  const parts = delta['tool_calls'];
  if (Array.isArray(parts) && parts.length > 0) {
    closeRun(response);
    for (const part of parts) addCallPart(response, part);
  } else if (asObject(delta['function_call']) !== undefined) {
    // The older form: one call, without an id.
    closeRun(response);
    addCallPart(response, { index: 0, function: delta['function_call'] });
  }
};

const addDelta = (response: Response, delta: Fields): void => {
  const content = delta['content'];
  if (
    delta['reasoning_content'] !== undefined ||
    delta['reasoning'] !== undefined ||
    delta['reasoning_details'] !== undefined
  ) {
    addReasoning(response, delta);
  }
  if (content !== undefined && content !== null) addContent(response, content);
  const refusal = asText(delta['refusal']);
  if (refusal !== undefined) {
    response.refused = true;
    addText(response, 'text', refusal);
  }
  const annotations = delta['annotations'];
  if (Array.isArray(annotations) && response.open?.kind === 'text') {
    (response.open.citations ??= []).push(...(annotations as JsonValue[]));
  }
  if (delta['tool_calls'] !== undefined || delta['function_call'] !== undefined) addCalls(response, delta);
};

const fail = (response: Response, body: Fields): void => {
  response.over = true;
  response.sink.error(readOpenAIError(body as JsonObject) ?? { message: 'The provider reported an error.' });
};

const stopReasonOf = ({ rawStopReason, refused, calls }: Response): Stop => {
  const known = STOP_REASONS.get(rawStopReason ?? '') ?? 'other';
  if (known !== 'stop') return known;
  // Several servers say `stop` when the model called tools, or refused.
  return calls.length > 0 ? 'tool_use' : refused ? 'refusal' : 'stop';
};

const finish = (response: Response): void => {
  const { sink, rawStopReason, usage } = response;
  response.over = true;
  closeRun(response);
  endCalls(response);
  sink.event(finishEvent(stopReasonOf(response), { rawStopReason }, usage, readOpenAIChatUsage));
};

const addChoice = (response: Response, choice: Fields, message: unknown): void => {
  const delta = asObject(message);
  if (delta !== undefined) addDelta(response, delta);
  const reason = asText(choice['finish_reason']);
  if (reason === undefined) return;
  response.rawStopReason = reason;
  if (reason !== 'error') return;
  fail(
    response,
    choice['error'] === undefined ? { error: { message: 'The provider stopped with an error.' } } : choice,
  );
};

/** True when the chunk held an error, and the stream is over. */
const isError = (response: Response, chunk: Fields, name: string): boolean => {
  const group = asObject(chunk['x_groq']);
  if (group !== undefined) {
    addUsage(response, group['usage']);
    if (group['error'] !== undefined && group['error'] !== null) return (fail(response, group), true);
  }
  const error = chunk['error'];
  if ((error === undefined || error === null) && name !== 'error' && chunk['object'] !== 'error') return false;
  return (fail(response, chunk), true);
};

const readChunk = (response: Response, chunk: Fields, name: string): void => {
  if (isError(response, chunk, name)) return;
  if (!response.begun) begin(response, chunk);
  const choices = chunk['choices'];
  if (chunk['usage'] !== undefined) addUsage(response, chunk['usage']);
  if (Array.isArray(chunk['citations'])) response.sources = chunk['citations'] as JsonValue[];
  if (!Array.isArray(choices)) {
    const type = unknownType(chunk, name);
    if (type !== undefined) response.sink.unknown(type);
    return;
  }
  // One answer was asked for; a server that sends more numbers them.
  const choice = asObject(choices[0]);
  if (choice !== undefined && (choice['index'] ?? 0) === 0) addChoice(response, choice, choice['delta']);
};

const readEvent = (response: Response, name: string, data: string, whole: boolean): void => {
  if (response.over) return;
  if (data.startsWith('[DONE]')) return finish(response);
  const chunk = parseObject(data);
  if (chunk !== undefined) return readChunk(response, chunk, name);
  if (!whole || isJson(data)) return;
  response.over = true;
  response.sink.malformed('The stream has an event that is not JSON.');
};

const readWhole = (response: Response, body: Fields): boolean => {
  const choices = body['choices'];
  const choice = Array.isArray(choices) ? asObject(choices[0]) : undefined;
  const message = asObject(choice?.['message']);
  if (choice === undefined || message === undefined) return false;
  begin(response, body);
  addUsage(response, body['usage']);
  if (Array.isArray(body['citations'])) response.sources = body['citations'] as JsonValue[];
  addChoice(response, choice, message);
  if (!response.over) finish(response);
  return true;
};

/** Reads one response of Chat Completions. A body that gave a finish reason may end without `[DONE]`. */
export function createOpenAIChatDecoder(sink: DecoderSink): Decoder {
  const response: Response = {
    sink,
    nextIndex: 0,
    begun: false,
    over: false,
    refused: false,
    open: undefined,
    usage: undefined,
    rawStopReason: undefined,
    sources: undefined,
    calls: [],
  };
  return {
    frame: (name, data, whole) => readEvent(response, name, data, whole),
    end() {
      if (!response.over && response.rawStopReason !== undefined) finish(response);
    },
    whole: (body) => readWhole(response, body),
    usage: () => response.usage && readOpenAIChatUsage(response.usage),
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
