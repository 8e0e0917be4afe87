import type { AssistantMessage, JsonObject, Message, ToolResultContent, UserContent } from '@treadle/core';
import { FINISH } from './conventions.ts';

/** A part as the conventions' schema of messages has it. Bytes of images and files are left out. */
function part(block: AssistantMessage['content'][number] | UserContent | ToolResultContent): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', content: block.text };
    case 'thinking':
      return { type: 'reasoning', content: block.text };
    case 'tool_call':
      return { type: 'tool_call', id: block.callId, name: block.name, arguments: block.arguments };
    case 'image':
    case 'file':
      return block.url === undefined
        ? { type: block.type, mime_type: block.mediaType }
        : { type: 'uri', modality: block.type, mime_type: block.mediaType, uri: block.url };
    default:
      return { type: block.type };
  }
}

const parts = (blocks: readonly (UserContent | ToolResultContent)[]): JsonObject[] => blocks.map(part);

/** A message that a model is sent, or null for what never reaches one. */
export function inputMessage(message: Message): JsonObject | null {
  if (message.role === 'extension') return null;
  if (message.role === 'user') return { role: 'user', parts: parts(message.content) };
  if (message.role === 'assistant') return { role: 'assistant', parts: message.content.map(part) };
  const response = { type: 'tool_call_response', id: message.callId, response: parts(message.content) };
  return { role: 'tool', parts: [response] };
}

export const outputMessage = (message: AssistantMessage): JsonObject => ({
  role: 'assistant',
  parts: message.content.map(part),
  finish_reason: FINISH[message.stopReason],
});

export const toolResult = (content: readonly ToolResultContent[]): JsonObject[] => parts(content);
