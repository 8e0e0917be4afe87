import type { ModelMessage } from '@treadle/core';
import {
  anthropicAssistantContent,
  anthropicInterruptedResult,
  anthropicToolResult,
  anthropicUserContent,
  endsWithMarkableBlock,
  withoutTrailingSpace,
} from './content.ts';
import { hasSignedThinking, isThinking, keyOf } from '../shared/call-ids.ts';
import { createConversations, type ConversationWriter } from '../shared/conversation.ts';
import { createFragments } from '../shared/fragments.ts';
import { createTurns, type CacheMarks } from '../shared/turns.ts';

const CALL_ID_RULES = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 };

/** Stands in for the user when a conversation begins with the assistant, which this wire doesn't accept. */
const OPENING = '{"type":"text","text":"(The conversation continues.)"}';

/** JSON of one or more objects whose last one asks the service to keep what comes before its end; `''` stays empty. */
export const marked = (json: string, ttl?: CacheMarks['ttl']): string =>
  json === '' ? '' : `${json.slice(0, -1)},"cache_control":{"type":"ephemeral"${ttl ? `,"ttl":"${ttl}"` : ''}}}`;

/** The messages of one conversation as this wire writes them. */
export interface AnthropicTranscript extends ConversationWriter {
  /** The `messages` with cache marks in them, and with `note` as the user's last block. Without the marks the text of a call begins the next one's. */
  json(marks: CacheMarks, note?: string): string;
  /** Whether the assistant is in the middle of calling tools without the reasoning that led there. */
  endsWithoutThinking(): boolean;
}

/** Writes the messages of conversations with `provider`, without the thinking of those that it refused. */
export function createAnthropicTranscripts(
  provider: string,
  refused: WeakSet<ModelMessage>,
): (messages: readonly ModelMessage[]) => AnthropicTranscript {
  const fragment = createFragments();
  return createConversations(provider, CALL_ID_RULES, () => {
    const turns = createTurns('content', OPENING);
    let callsWithoutThinking = false;
    return {
      user(message) {
        const json = fragment(message, '', () => anthropicUserContent(message.content, provider));
        turns.add('user', json);
        callsWithoutThinking = false;
      },
      assistant(message, own, wireIds) {
        const kept = refused.has(message) ? message.content.filter(({ type }) => !isThinking(type)) : message.content;
        const said = message.stopReason === 'pause' ? withoutTrailingSpace(kept) : kept;
        const json = fragment(message, keyOf(wireIds), () => anthropicAssistantContent(said, own, wireIds));
        turns.add('assistant', json, endsWithMarkableBlock(said, own));
        callsWithoutThinking = wireIds.size > 0 && !(own && !refused.has(message) && hasSignedThinking(message));
      },
      result(message, id) {
        const json = fragment(message, id, () => anthropicToolResult(message, id, provider));
        turns.add('user', json);
      },
      close(unanswered) {
        for (const id of unanswered) turns.add('user', anthropicInterruptedResult(id));
      },
      json: ({ messages, ttl }, note) => turns.json(messages, (json) => marked(json, ttl), note),
      endsWithoutThinking: () => callsWithoutThinking,
    };
  });
}
