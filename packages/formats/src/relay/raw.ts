import type { JsonObject, JsonValue } from '@treadle/core';
import type { StreamFormat } from '@treadle/server';
import { relayFormat, type RelayItem, type RelayOptions, type Speaker } from './encoder.ts';

/**
 * The raw format of browser-tool relays: events in the shape of Anthropic's streams (`message_start`, `content_block_delta`
 * …), whichever provider was asked. Results of tools are left out unless `history` is set; what that stream has no event for
 * is an event of the relay's own name.
 */
export const relayRawFormat = (options: RelayOptions = {}): StreamFormat =>
  relayFormat('raw', options, (item, speaker) =>
    eventsOf(item, speaker, options.history ?? false).map((event) => ({ data: JSON.stringify(event) })),
  );

function eventsOf(item: RelayItem, { agent, parent }: Speaker, history: boolean): JsonObject[] {
  const who: JsonObject = parent === null ? {} : { agent, parent_agent: parent };
  switch (item.type) {
    case 'message_start':
      return [{ type: 'message_start', message: { id: item.messageId, role: 'assistant', content: [] }, ...who }];
    case 'message_end': {
      const { stopReason, usage } = item.message;
      const counts = { input_tokens: usage.input, output_tokens: usage.output };
      return [
        { type: 'message_delta', delta: { stop_reason: stopReason }, usage: counts, ...who },
        { type: 'message_stop', ...who },
      ];
    }
    case 'text':
    case 'thinking': {
      const { type, index } = item;
      if (item.step === 'start')
        return [{ type: 'content_block_start', index, content_block: { type, [type]: '' }, ...who }];
      if (item.step === 'end') return [{ type: 'content_block_stop', index, ...who }];
      return [{ type: 'content_block_delta', index, delta: { type: `${type}_delta`, [type]: item.text }, ...who }];
    }
    case 'tool_call':
      return block({ type: 'tool_use', id: item.id, name: item.name, input: item.input }, who);
    case 'server_tool_call':
      return block({ type: 'server_tool_use', id: item.id, name: item.name, input: item.input }, who);
    case 'tool_result':
      return history
        ? block({ type: 'tool_result', tool_use_id: item.id, content: item.content as unknown as JsonValue }, who)
        : [];
    case 'server_tool_result':
      return history ? block(item.raw, who) : [];
    case 'citations':
      return [];
    case 'meta_init':
    case 'meta_files':
    case 'meta_final':
      return [{ type: item.type, ...item.data }];
    case 'awaiting_frontend_tools':
      return [{ type: item.type, tools: item.tools }];
    case 'discarded':
      return [{ type: item.type, ...who }];
    case 'error':
      return [{ type: item.type, error: { message: item.message }, ...who }];
  }
}

/** A block that is told as a whole. */
const block = (content: JsonObject, who: JsonObject): JsonObject[] => [
  { type: 'content_block_start', content_block: content, ...who },
  { type: 'content_block_stop', ...who },
];
