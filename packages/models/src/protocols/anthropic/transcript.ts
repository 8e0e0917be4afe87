import type { AssistantMessage, ModelMessage } from '@treadle/core';
import {
  anthropicAssistantContent,
  anthropicInterruptedResult,
  anthropicToolResult,
  anthropicUserContent,
  endsWithMarkableBlock,
  withoutTrailingSpace,
} from './content.ts';
import { createCallIds, hasSignedThinking, keyOf } from '../shared/call-ids.ts';
import { createFragments } from '../shared/fragments.ts';
import { createTurns } from '../shared/turns.ts';
import type { CacheMarks } from '../shared/turns.ts';

const CALL_ID_RULES = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 };

/** Stands in for the user when a conversation begins with the assistant, which this wire doesn't accept. */
const OPENING = '{"type":"text","text":"(The conversation continues.)"}';

/** The messages of one conversation as this wire writes them. */
export interface AnthropicTranscript {
  /** The `messages` with cache marks in them. Without the marks the text of a call begins the next one's. */
  readonly json: string;
  /** Whether the assistant is in the middle of calling tools without the reasoning that led there. */
  readonly endsWithoutThinking: boolean;
}

/** JSON of one or more objects whose last one asks the service to keep what comes before its end; `''` stays empty. */
export const marked = (json: string): string =>
  json === '' ? '' : `${json.slice(0, -1)},"cache_control":{"type":"ephemeral"}}`;

/** Writes the messages of conversations with `provider`. */
export function createAnthropicTranscripts(
  provider: string,
): (messages: readonly ModelMessage[], marks: CacheMarks['messages']) => AnthropicTranscript {
  const fragment = createFragments();
  return (messages, marks) => {
    const ids = createCallIds(CALL_ID_RULES);
    const turns = createTurns('content', OPENING);
    let endsWithoutThinking = false;

    const answerWaiting = (): void => {
      for (const id of ids.takeWaiting()) turns.add('user', anthropicInterruptedResult(id));
    };

    const addAssistant = (message: AssistantMessage): void => {
      const own = message.provider === provider;
      const wireIds = ids.assign(message, own);
      const said = message.stopReason === 'pause' ? withoutTrailingSpace(message.content) : message.content;
      const json = fragment(message, keyOf(wireIds), () => anthropicAssistantContent(said, own, wireIds));
      turns.add('assistant', json, endsWithMarkableBlock(said, own));
      endsWithoutThinking = wireIds.size > 0 && !(own && hasSignedThinking(message));
    };

    for (const message of messages) {
      if (message.role === 'tool') {
        const id = ids.take(message.callId);
        if (id === undefined) continue;
        const json = fragment(message, id, () => anthropicToolResult(message, id, provider));
        turns.add('user', json);
        continue;
      }
      answerWaiting();
      if (message.role === 'assistant') addAssistant(message);
      else {
        const json = fragment(message, '', () => anthropicUserContent(message.content, provider));
        turns.add('user', json);
        endsWithoutThinking = false;
      }
    }
    answerWaiting();
    turns.mark(marks, marked);
    return { json: turns.json(), endsWithoutThinking };
  };
}
