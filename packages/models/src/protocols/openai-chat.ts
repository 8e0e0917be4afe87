import { sseFraming } from '../sse/scanner.ts';
import { createOpenAIChatDecoder } from './openai-chat-decode.ts';
import { createOpenAIChatEncoder } from './openai-chat-encode.ts';
import { readOpenAIError } from './openai-error.ts';
import { OPENAI_CHAT_DEFAULTS } from './openai-chat-quirks.ts';
import type { OpenAIChatQuirks } from './openai-chat-quirks.ts';
import type { Protocol } from './protocol.ts';

/** The OpenAI Chat Completions wire and its dialects. The decoder reads all of them; the quirks are about requests. */
export function openaiChat(quirks: OpenAIChatQuirks = {}): Protocol {
  const all = { ...OPENAI_CHAT_DEFAULTS, ...quirks };
  return {
    name: 'openai-chat',
    framing: sseFraming,
    contentType: 'text/event-stream',
    createEncoder: (target) => createOpenAIChatEncoder(target, all),
    createDecoder: (sink) => createOpenAIChatDecoder(sink, all.doneIsOptional),
    readError: readOpenAIError,
  };
}
