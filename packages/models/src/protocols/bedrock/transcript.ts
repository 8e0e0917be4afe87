import type { FileBlock, ModelMessage, ToolResultMessage, UserMessage } from '@treadle/core';
import {
  bedrockAssistantContent,
  bedrockInterruptedResult,
  bedrockToolName,
  bedrockToolResult,
  bedrockUserContent,
  isDocument,
} from './content.ts';
import { createDocumentNames } from './names.ts';
import { hasSignedThinking, isThinking, keyOf } from '../shared/call-ids.ts';
import { createConversations, type ConversationWriter } from '../shared/conversation.ts';
import { createFragments, createOnce } from '../shared/fragments.ts';
import { createTurns, type CacheMarks } from '../shared/turns.ts';

const CALL_ID_RULES = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 };

/** Stands in for the user where this wire wants one: a conversation begins and ends with the user. */
const OPENING = '{"text":"(The conversation continues.)"}';
const CLOSING = '{"text":"(Continue.)"}';

/** JSON of blocks with a point behind them that asks the service to keep what comes before it; `''` stays empty. */
export const withCachePoint = (json: string, ttl?: CacheMarks['ttl']): string =>
  json === '' ? '' : `${json},{"cachePoint":{"type":"default"${ttl ? `,"ttl":"${ttl}"` : ''}}}`;

/** The messages of one conversation as this wire writes them. */
export interface BedrockTranscript extends ConversationWriter {
  /** Whether the assistant is in the middle of calling tools without the reasoning that led there. */
  endsWithoutThinking(): boolean;
  /** Names of the tools that were called. */
  readonly called: ReadonlySet<string>;
  /** The messages with cache points in them and, where there is a note, that as the user's last text. */
  json(marks: CacheMarks, note: string): string;
}

type NamedMessage = UserMessage | ToolResultMessage;

/** What documents mean for a message. */
interface Documents {
  readonly list: readonly FileBlock[];
  /** Of all documents only a PDF may have a cache point right behind it: behind another the service makes a bad request. */
  readonly takesPoint: boolean;
}

const documentsIn = ({ role, content }: NamedMessage): Documents => {
  const last = content.findLast((block) => block.type !== 'text' || block.text.trim() !== '');
  const open = role === 'user' && last !== undefined && isDocument(last);
  return {
    list: content.filter((block) => isDocument(block)),
    takesPoint: !open || last.mediaType === 'application/pdf',
  };
};

/** Writes the messages of conversations with models of `provider`, without the thinking of those that it refused. */
export function createBedrockTranscripts(
  provider: string,
  refused: WeakSet<ModelMessage>,
): (messages: readonly ModelMessage[]) => BedrockTranscript {
  const fragment = createFragments();
  const documentsOf = createOnce(documentsIn);
  return createConversations(provider, CALL_ID_RULES, () => {
    const nameOf = createDocumentNames();
    const turns = createTurns('content', OPENING);
    const called = new Set<string>();
    let callsWithoutThinking = false;

    /** Content in which documents have names: they are part of what the JSON depends on. */
    const addNamed = (message: NamedMessage, key: string, write: (nameDocument: () => string) => string): void => {
      const { list, takesPoint } = documentsOf(message);
      const given = list.map((file) => nameOf(file));
      const left = given.values();
      const json = fragment(message, [key, ...given].join('\n'), () => write(() => left.next().value ?? ''));
      turns.add('user', json, takesPoint);
    };

    return {
      user(message) {
        addNamed(message, '', (name) => bedrockUserContent(message.content, name));
        callsWithoutThinking = false;
      },
      assistant(message, own, wireIds) {
        for (const block of message.content) if (block.type === 'tool_call') called.add(bedrockToolName(block.name));
        const said = refused.has(message) ? message.content.filter(({ type }) => !isThinking(type)) : message.content;
        const json = fragment(message, keyOf(wireIds), () => bedrockAssistantContent(said, own, wireIds));
        turns.add('assistant', json);
        callsWithoutThinking = wireIds.size > 0 && !(own && !refused.has(message) && hasSignedThinking(message));
      },
      result: (message, id) => addNamed(message, id, (name) => bedrockToolResult(message, id, name)),
      close(unanswered) {
        for (const id of unanswered) turns.add('user', bedrockInterruptedResult(id));
      },
      called,
      endsWithoutThinking: () => callsWithoutThinking,
      json({ messages, ttl }, note) {
        const ending = note === '' && turns.role() === 'assistant' ? CLOSING : note;
        return turns.json(messages, (json) => withCachePoint(json, ttl), ending);
      },
    };
  });
}
