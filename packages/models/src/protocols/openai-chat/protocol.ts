import type { ModelRequest } from '@treadle/core/model';
import { sseFraming } from '../../sse/scanner.ts';
import { createOpenAIChatDecoder } from './decode.ts';
import { createOpenAIChatEncoder } from './encode.ts';
import { readOpenAIError } from '../openai/error.ts';
import { OPENAI_CHAT_DEFAULTS, type OpenAIChatQuirks } from './quirks.ts';
import { withoutAddedNulls } from '../openai/strict.ts';
import type { DecoderSink, Protocol } from '../shared/protocol.ts';

/** A sink whose tool calls lose the nulls that stand for properties the model left out of a strict tool's arguments. */
const unstrict = (sink: DecoderSink, request: ModelRequest): DecoderSink => ({
  event(event) {
    if (event.type !== 'block_end' || event.block.type !== 'tool_call') return sink.event(event);
    const { block } = event;
    const tool = request.tools.find(({ name }) => name === block.name);
    if (tool === undefined) return sink.event(event);
    const argumentsText = withoutAddedNulls(block.argumentsText, tool.inputSchema);
    sink.event({ ...event, block: { ...block, argumentsText } });
  },
  error: (error) => sink.error(error),
  malformed: (message) => sink.malformed(message),
  unknown: (type) => sink.unknown(type),
});

/** The OpenAI Chat Completions wire and its dialects. The decoder reads all of them; most quirks are about requests. */
export function openaiChat(quirks: OpenAIChatQuirks = {}): Protocol {
  const all = { ...OPENAI_CHAT_DEFAULTS, ...quirks };
  return {
    name: 'openai-chat',
    framing: sseFraming,
    contentType: 'text/event-stream',
    structuredOutput: () => (all.responseFormat.startsWith('json_schema') ? 'always' : undefined),
    createEncoder: (target) => createOpenAIChatEncoder(target, all),
    createDecoder: (sink, request) => createOpenAIChatDecoder(all.strictTools ? unstrict(sink, request) : sink),
    readError: readOpenAIError,
  };
}
