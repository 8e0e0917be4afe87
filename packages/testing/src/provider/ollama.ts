import type { JsonObject, Usage } from '@treadle/core';
import type { ModelEvent, ModelToolCall } from '@treadle/core/model';
import { type Turn, usageOf } from '../turns.ts';
import { validateOllamaRequest } from './validate/ollama.ts';
import { eventsOf, inputOf, only, stopWord, type ReplyContext, type StopWords, type Wire } from './wire.ts';

/** This wire has two words of its own, and calls of tools are no reason. */
const STOP: StopWords = {
  stop: 'stop',
  length: 'length',
  tool_use: 'stop',
  pause: 'stop',
  refusal: 'stop',
  content_filter: 'stop',
  other: 'load',
};

const callOf = (block: ModelToolCall): JsonObject => ({
  ...(block.providerCallId !== '' && { id: block.providerCallId }),
  function: { name: block.name, arguments: inputOf(block) },
});

const ending = (turn: Turn, usage: Usage | null): JsonObject => ({
  done: true,
  done_reason: stopWord(turn, STOP),
  total_duration: 3,
  load_duration: 1,
  ...(usage && { prompt_eval_count: usage.input, eval_count: usage.output, eval_duration: 1 }),
});

const common = (context: ReplyContext): JsonObject => ({
  model: context.model,
  created_at: new Date(context.created * 1000).toISOString(),
});

function encoder(context: ReplyContext): (event: ModelEvent) => string {
  const head = common(context);
  const line = (value: JsonObject): string => `${JSON.stringify(value)}\n`;
  const said = (message: JsonObject): string =>
    line({ ...head, message: { role: 'assistant', content: '', ...message }, done: false });

  return (event) => {
    switch (event.type) {
      case 'text_delta':
        return said({ content: event.text });
      case 'thinking_delta':
        return said({ thinking: event.text });
      case 'block_end':
        return event.block.type === 'tool_call' ? said({ tool_calls: [callOf(event.block)] }) : '';
      case 'finish':
        return line({
          ...head,
          message: { role: 'assistant', content: '' },
          ...ending(context.turn, usageOf(context.turn)),
        });
      case 'error':
        return line({ error: event.error.message });
      default:
        // The answer begins with its first words, and calls come whole.
        return '';
    }
  };
}

function whole(context: ReplyContext): JsonObject {
  let content = '';
  let thinking = '';
  const calls: JsonObject[] = [];
  for (const event of eventsOf(context)) {
    if (event.type === 'text_delta') content += event.text;
    if (event.type === 'thinking_delta') thinking += event.text;
    if (event.type === 'block_end' && event.block.type === 'tool_call') calls.push(callOf(event.block));
  }
  return {
    ...common(context),
    message: {
      role: 'assistant',
      content,
      ...(thinking !== '' && { thinking }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    ...ending(context.turn, usageOf(context.turn)),
  };
}

/** Ollama's own chat API, in lines of JSON. */
export const ollamaWire: Wire = {
  name: 'ollama-chat',
  path: '/api/chat',
  requestIdHeader: 'x-request-id',
  contentType: 'application/x-ndjson',
  asksForStream: (_path, body) => body['stream'] !== false,
  checkBody: validateOllamaRequest,
  unspeakable: only('text', 'thinking', 'tool_call'),
  encoder,
  whole,
  errorBody: (_status, message) => ({ error: message }),
  overflow: { message: 'the input length exceeds the context length' },
};
