import type { AssistantMessage, JsonObject, TreadleEvent } from '@treadle/core';

import { wireBlock } from './content.ts';
import { isSameInput, wireInput, wireName } from './tools.ts';
import { counts, messageUsage, stopReasonOf } from './usage.ts';
import { UNKNOWN_USAGE } from '@treadle/core/model';
import { isJsonObject } from '@treadle/core/json';

type Delta = Extract<TreadleEvent, { readonly type: 'message_delta' }>;

interface OpenBlock {
  readonly index: number;
  readonly kind: Delta['kind'];
  readonly toolName: string;
  /** What has come of a call's arguments: it grows in place. */
  partial: unknown;
}

/** Turns the live events of one session into the stream events of the Messages API. */
export function streamProjection(folder: string) {
  let messageId: string | null = null;
  let open: OpenBlock | null = null;
  let seen = new Set<number>();
  let count = 0;

  /** Ends the block that is open. A call whose fields have other names here is shown at its end, in one piece. */
  function close(): JsonObject[] {
    if (open === null) return [];
    const { kind, toolName, partial } = open;
    const index = count - 1;
    open = null;
    const whole = kind === 'tool_arguments' && !isSameInput(toolName) && isJsonObject(partial) ? partial : null;
    return [
      ...(whole ? [argumentsDelta(index, JSON.stringify(wireInput(toolName, whole, folder)))] : []),
      { type: 'content_block_stop', index },
    ];
  }

  function start(index: number, block: JsonObject): JsonObject {
    seen.add(index);
    count += 1;
    return { type: 'content_block_start', index: count - 1, content_block: block };
  }

  return {
    started(id: string, model: string): JsonObject[] {
      messageId = id;
      open = null;
      seen = new Set();
      count = 0;
      const message = {
        id,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: messageUsage(UNKNOWN_USAGE),
        container: null,
        context_management: null,
        diagnostics: null,
      };
      return [{ type: 'message_start', message }];
    },
    delta(event: Delta): JsonObject[] {
      if (event.messageId !== messageId) return [];
      const { index, kind, text, toolName = '', callId = '' } = event;
      const events: JsonObject[] = [];
      if (open?.index !== index || open.kind !== kind) {
        events.push(...close(), start(index, emptyBlock(kind, callId, toolName)));
        open = { index, kind, toolName, partial: undefined };
      }
      if (kind === 'tool_arguments') {
        open.partial = event.partial;
        if (isSameInput(toolName)) events.push(argumentsDelta(count - 1, text));
      } else {
        const delta = kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text };
        events.push({ type: 'content_block_delta', index: count - 1, delta });
      }
      return events;
    },
    /** The message is whole. Blocks of which nothing was streamed are shown now. */
    ended(message: AssistantMessage): JsonObject[] {
      if (message.id !== messageId) return [];
      messageId = null;
      const events = close();
      for (const [index, block] of message.content.entries()) {
        if (seen.has(index)) continue;
        const whole = wireBlock(block, folder);
        events.push(start(index, block.type === 'tool_call' ? { ...whole, input: {} } : whole));
        if (block.type === 'tool_call') events.push(argumentsDelta(count - 1, JSON.stringify(whole['input'])));
        events.push({ type: 'content_block_stop', index: count - 1 });
      }
      const delta = { stop_reason: stopReasonOf(message.stopReason), stop_sequence: null, stop_details: null };
      return [...events, { type: 'message_delta', delta, usage: counts(message.usage) }, { type: 'message_stop' }];
    },
  };
}

const argumentsDelta = (index: number, text: string): JsonObject => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json: text },
});

function emptyBlock(kind: Delta['kind'], callId: string, toolName: string): JsonObject {
  if (kind === 'text') return { type: 'text', text: '', citations: null };
  if (kind === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return { type: 'tool_use', id: callId, name: wireName(toolName), input: {} };
}
