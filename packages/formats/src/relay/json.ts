import type { JsonObject, JsonValue } from '@treadle/core';
import type { Frame, StreamFormat } from '@treadle/server';
import { relayFormat, type RelayItem, type RelayOptions, type Speaker } from './encoder.ts';
import { pieces } from './pieces.ts';

/** Bytes of a line at most, with the `data: ` before it. */
const LINE_BYTES = 2048;
const PREFIX_BYTES = 6;

/**
 * The JSON envelopes of browser-tool relays: `{ type, agent, final, delta, … }`, a line of at most 2,048 bytes each. What is
 * longer comes in several, of which only the last has `final: true`. Texts are closed by an empty one.
 */
export const relayJsonFormat = (options: RelayOptions = {}): StreamFormat => relayFormat('json', options, () => write);

function write(item: RelayItem, { agent, parent }: Speaker): readonly Frame[] {
  const who = { agent, ...(parent === null ? {} : { parent_agent: parent }) };
  const whole = (type: string, value: JsonValue, extras: JsonObject = {}): readonly Frame[] =>
    envelopes(type, who, typeof value === 'string' ? value : JSON.stringify(value), true, extras);
  switch (item.type) {
    case 'text':
    case 'thinking':
      if (item.step === 'start') return [];
      return item.step === 'end'
        ? envelopes(item.type, who, '', true, {})
        : envelopes(item.type, who, item.text, false, {});
    case 'meta_init':
    case 'meta_files':
    case 'meta_final':
      return whole(item.type, item.data);
    case 'tool_call':
    case 'server_tool_call':
      return whole(item.type, item.input, { id: item.id, name: item.name });
    case 'tool_result':
      return item.content.flatMap((block) => {
        const place = { id: item.id, name: item.name };
        if (block.type === 'text') return whole('tool_result', block.text, place);
        const source = block.url ?? `data:${block.mediaType};base64,${block.data ?? ''}`;
        const extras = { ...place, media_type: block.mediaType };
        // A source that is too long for a line comes in pieces, in the place of the text.
        return source.length > LINE_BYTES / 2
          ? whole('tool_result_image', source, extras)
          : whole('tool_result_image', '', { ...extras, src: source });
      });
    case 'server_tool_result':
      return whole(item.type, item.raw, { id: item.id, name: item.name });
    case 'citations':
      return item.citations.flatMap((citation) => whole('citation', citation));
    case 'awaiting_frontend_tools':
    case 'awaiting_approvals':
      return whole(item.type, item.tools);
    case 'discarded':
      return whole(item.type, '');
    case 'error':
      return whole(item.type, item.message);
    case 'message_start':
    case 'message_end':
      return [];
  }
}

function envelopes(type: string, who: JsonObject, text: string, closes: boolean, extras: JsonObject): readonly Frame[] {
  const envelope = (delta: string, final: boolean): string => JSON.stringify({ type, ...who, final, delta, ...extras });
  // `false` is the longer word.
  const room = LINE_BYTES - PREFIX_BYTES - new TextEncoder().encode(envelope('', false)).length;
  const parts = pieces(text, room);
  return parts.map((part, index) => ({ data: envelope(part, closes && index === parts.length - 1) }));
}
