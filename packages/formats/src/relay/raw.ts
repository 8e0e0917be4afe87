import type { AssistantMessage, JsonObject, JsonValue } from '@treadle/core';
import type { StreamFormat } from '@treadle/server';
import { relayFormat, type RelayItem, type RelayOptions, type RelayWriter } from './encoder.ts';

/**
 * The raw format of browser-tool relays: events in the shape of Anthropic's streams (`message_start`, `content_block_delta`
 * …), whichever provider was asked. Anthropic's own client decodes each message. Results of tools are left out unless
 * `history` is set; what that stream has no event for is an event of the relay's own name, which the client passes over.
 */
export const relayRawFormat = (options: RelayOptions = {}): StreamFormat =>
  relayFormat('raw', options, () => rawWriter(options.history ?? false));

type RawEvent = JsonObject & { readonly type: string };

function rawWriter(history: boolean): RelayWriter {
  /** Blocks of each speaker's open message, and where those that stream are among them. */
  const open = new Map<string, { count: number; readonly places: Map<number, number> }>();

  const messageOf = (speaker: string) => {
    const known = open.get(speaker) ?? { count: 0, places: new Map<number, number>() };
    open.set(speaker, known);
    return known;
  };

  /** A block that is told as a whole. Its input comes as a delta, as in Anthropic's streams. */
  function whole(speaker: string, content: JsonObject, input?: JsonValue): RawEvent[] {
    const message = messageOf(speaker);
    const index = message.count;
    message.count += 1;
    const json = typeof input === 'string' ? input : JSON.stringify(input);
    return [
      { type: 'content_block_start', index, content_block: content },
      ...(input === undefined
        ? []
        : [{ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: json } }]),
      { type: 'content_block_stop', index },
    ];
  }

  function eventsOf(item: RelayItem, speaker: string): RawEvent[] {
    switch (item.type) {
      case 'message_start':
        open.set(speaker, { count: 0, places: new Map() });
        return [{ type: 'message_start', message: emptyMessage(item.messageId) }];
      case 'message_end':
        return messageEnd(item.message);
      case 'text':
      case 'thinking': {
        const message = messageOf(speaker);
        if (item.step === 'start') message.places.set(item.index, message.count++);
        const index = message.places.get(item.index) ?? 0;
        if (item.step === 'end') return [{ type: 'content_block_stop', index }];
        if (item.step === 'delta')
          return [
            { type: 'content_block_delta', index, delta: { type: `${item.type}_delta`, [item.type]: item.text } },
          ];
        const block =
          item.type === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' };
        return [{ type: 'content_block_start', index, content_block: block }];
      }
      case 'tool_call':
        return whole(speaker, { type: 'tool_use', id: item.id, name: item.name, input: {} }, item.input);
      case 'server_tool_call':
        return whole(speaker, { type: 'server_tool_use', id: item.id, name: item.name, input: {} }, item.input);
      case 'tool_result':
        return history
          ? [{ type: 'tool_result', tool_use_id: item.id, content: item.content as unknown as JsonValue }]
          : [];
      case 'server_tool_result':
        return history ? whole(speaker, item.raw) : [];
      case 'citations':
        return [];
      case 'meta_init':
      case 'meta_files':
      case 'meta_final':
        return [{ type: item.type, ...item.data }];
      case 'awaiting_frontend_tools':
      case 'awaiting_approvals':
        return [{ type: item.type, tools: item.tools }];
      case 'discarded':
        return [{ type: item.type }];
      case 'error':
        return [{ type: 'error', error: { type: 'api_error', message: item.message } }];
    }
  }

  return (item, { agent, parent }) => {
    const who: JsonObject = parent === null ? {} : { agent, parent_agent: parent };
    return eventsOf(item, agent).map((event) => ({
      event: event.type,
      data: JSON.stringify({ ...event, ...who }),
    }));
  };
}

const emptyMessage = (id: string): JsonObject => ({
  id,
  type: 'message',
  role: 'assistant',
  model: '',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 0, output_tokens: 0 },
});

function messageEnd({ stopReason, usage }: AssistantMessage): RawEvent[] {
  const delta = { stop_reason: STOP_REASONS[stopReason] ?? stopReason, stop_sequence: null };
  const counts = {
    input_tokens: usage.input ?? 0,
    output_tokens: usage.output ?? 0,
    ...(usage.cacheRead === null ? {} : { cache_read_input_tokens: usage.cacheRead }),
    ...(usage.cacheWrite === null ? {} : { cache_creation_input_tokens: usage.cacheWrite }),
  };
  return [{ type: 'message_delta', delta, usage: counts }, { type: 'message_stop' }];
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  pause: 'pause_turn',
  content_filter: 'refusal',
};
