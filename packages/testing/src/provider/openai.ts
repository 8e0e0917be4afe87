import type { JsonObject, JsonValue, Usage } from '@treadle/core';
import type { ModelEvent } from '@treadle/core/model';
import { stopReasonOf, usageOf } from '../turns.ts';
import { validateOpenAIChatRequest } from './validate/openai.ts';
import { eventsOf, only, stopWord, type ReplyContext, type StopWords, type Wire } from './wire.ts';

const STOP: StopWords = {
  stop: 'stop',
  length: 'length',
  tool_use: 'tool_calls',
  pause: 'stop',
  refusal: 'stop',
  content_filter: 'content_filter',
  other: 'other',
};

function usageFields(usage: Usage): JsonObject {
  const prompt = (usage.input ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
  const completion = usage.output ?? 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(usage.cacheRead !== null && { prompt_tokens_details: { cached_tokens: usage.cacheRead, audio_tokens: 0 } }),
    ...(usage.reasoning !== null && { completion_tokens_details: { reasoning_tokens: usage.reasoning } }),
  };
}

const common = (context: ReplyContext, object: string): JsonObject => ({
  id: `chatcmpl-fake${context.number}`,
  object,
  created: context.created,
  model: context.model,
  system_fingerprint: 'fp_fake',
});

export function errorObject(message: string, type: string, code: string | undefined): JsonObject {
  return { error: { message, type, param: null, code: code ?? null } };
}

export const typeOfStatus = (status: number): string =>
  status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error';

function encoder(context: ReplyContext): (event: ModelEvent) => string {
  const usage = usageOf(context.turn);
  const head = common(context, 'chat.completion.chunk');
  const spare = context.includeUsage ? { usage: null } : {};
  // A refusal streams in a field of its own.
  const textField = stopReasonOf(context.turn) === 'refusal' ? 'refusal' : 'content';
  let calls = -1;

  const frame = (value: JsonValue): string => `data: ${JSON.stringify(value)}\n\n`;
  const chunk = (delta: JsonObject, finish: string | null = null): string =>
    frame({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...spare });

  return (event) => {
    switch (event.type) {
      case 'start':
        return chunk({ role: 'assistant', content: '', refusal: null });
      case 'text_delta':
        return chunk({ [textField]: event.text });
      case 'thinking_delta':
        return chunk({ reasoning_content: event.text });
      case 'tool_call_start': {
        const call = { name: event.name, arguments: '' };
        return chunk({
          tool_calls: [{ index: ++calls, id: event.providerCallId, type: 'function', function: call }],
        });
      }
      case 'tool_arguments_delta':
        return chunk({ tool_calls: [{ index: calls, function: { arguments: event.text } }] });
      case 'block_end':
        return '';
      case 'finish': {
        const counted = context.includeUsage && usage;
        const last = counted ? frame({ ...head, choices: [], usage: usageFields(usage) }) : '';
        return `${chunk({}, stopWord(context.turn, STOP))}${last}data: [DONE]\n\n`;
      }
      case 'error': {
        const { error } = event;
        return frame(errorObject(error.message, typeOfStatus(error.status ?? 500), error.code));
      }
    }
  };
}

function whole(context: ReplyContext): JsonObject {
  const usage = usageOf(context.turn);
  const refused = stopReasonOf(context.turn) === 'refusal';
  const calls: JsonObject[] = [];
  let text = '';
  let reasoning = '';
  for (const event of eventsOf(context)) {
    if (event.type === 'text_delta') text += event.text;
    if (event.type === 'thinking_delta') reasoning += event.text;
    if (event.type !== 'block_end' || event.block.type !== 'tool_call') continue;
    const { providerCallId: id, name, argumentsText } = event.block;
    calls.push({ id, type: 'function', function: { name, arguments: argumentsText } });
  }
  const message: JsonObject = {
    role: 'assistant',
    content: refused || text === '' ? null : text,
    refusal: refused ? text : null,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    ...common(context, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: stopWord(context.turn, STOP) }],
    ...(usage && { usage: usageFields(usage) }),
  };
}

/** OpenAI Chat Completions. Thinking goes out as `reasoning_content`, as the servers do that show it. */
export const openAIChatWire: Wire = {
  name: 'openai-chat',
  path: '/v1/chat/completions',
  requestIdHeader: 'x-request-id',
  checkBody: validateOpenAIChatRequest,
  unspeakable: only('text', 'thinking', 'tool_call'),
  encoder,
  whole,
  errorBody: (status, message, code) => errorObject(message, typeOfStatus(status), code),
  overflow: {
    message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    code: 'context_length_exceeded',
  },
};
