import type { AssistantContent, AssistantMessage, JsonObject, JsonValue, ToolResultContent } from '@treadle/core';

import { messageUsage } from './usage.ts';
import { wireInput, wireName } from './tools.ts';

/** A block of a reply, in the shape of the Messages API. */
export function wireBlock(block: AssistantContent, folder: string): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text, citations: block.citations ?? null };
    case 'thinking':
      return { type: 'thinking', thinking: block.text, signature: block.signature ?? '' };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data };
    case 'tool_call':
      return {
        type: 'tool_use',
        id: block.callId,
        name: wireName(block.name),
        input: wireInput(block.name, block.arguments, folder),
      };
    case 'provider_tool_call':
    case 'provider_tool_result':
    case 'provider_block':
      return block.raw;
    case 'image':
    case 'file':
      return { type: 'text', text: `[${describe(block)}]`, citations: null };
  }
}

const describe = (block: { readonly type: string; readonly mediaType: string; readonly name?: string }): string =>
  `${block.type === 'image' ? 'image' : `file ${block.name ?? ''}`.trim()}, ${block.mediaType}`;

/** The message that one block of a reply is sent in: all of a reply's have its id. */
export const wireMessage = (
  message: AssistantMessage,
  block: JsonObject,
  isLast: boolean,
  stopReason: string | null,
) => ({
  id: message.responseId ?? message.id,
  type: 'message',
  role: 'assistant',
  model: message.model,
  content: [block],
  stop_reason: isLast ? stopReason : null,
  stop_sequence: null,
  stop_details: null,
  usage: messageUsage(message.usage),
  container: null,
  context_management: null,
  diagnostics: null,
});

/** What a call returned, in the shape of the Messages API. */
export function wireResult(content: readonly ToolResultContent[]): JsonValue {
  if (content.every(({ type }) => type === 'text'))
    return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  return content.map((block): JsonObject => {
    if (block.type === 'text') return { type: 'text', text: block.text };
    if (block.type === 'file') return { type: 'text', text: `[${describe(block)}]` };
    if (block.data === undefined)
      return block.url === undefined
        ? { type: 'text', text: `[${describe(block)}]` }
        : { type: 'image', source: { type: 'url', url: block.url } };
    return { type: 'image', source: { type: 'base64', media_type: block.mediaType, data: block.data } };
  });
}
