import type { AssistantMessage, ModelMessage, ToolResultMessage, UserMessage } from '@treadle/core';
import { createCallIds, type CallIdRules, type CallIds } from './call-ids.ts';

/** Writes the messages of a conversation, one after another. */
export interface ConversationWriter {
  user(message: UserMessage): void;
  /** `own`: it was made by the provider the request goes to. `wireIds`: those of its calls, by Treadle's. */
  assistant(message: AssistantMessage, own: boolean, wireIds: ReadonlyMap<string, string>): void;
  /** `id` is the wire id of the call it answers. */
  result(message: ToolResultMessage, id: string): void;
  /** No more results of the message's calls follow. These calls have none. */
  close(unanswered: readonly string[]): void;
}

interface Conversation<Writer> {
  readonly writer: Writer;
  readonly ids: CallIds;
  readonly seen: ModelMessage[];
}

/**
 * Writes conversations as every wire wants them: results follow their calls, and no call is left without one. A request
 * that only adds messages to the one before goes on with its writer. A conversation is known by its first message.
 */
export function createConversations<Writer extends ConversationWriter>(
  provider: string,
  rules: CallIdRules,
  create: () => Writer,
): (messages: readonly ModelMessage[]) => Writer {
  const kept = new WeakMap<ModelMessage, Conversation<Writer>>();
  return (messages) => {
    const [first] = messages;
    const known = first && kept.get(first);
    const isLonger = known?.seen.every((message, index) => message === messages[index]) === true;
    const { writer, ids, seen } = isLonger ? known : { writer: create(), ids: createCallIds(rules), seen: [] };
    for (const message of messages.slice(seen.length)) {
      seen.push(message);
      if (message.role === 'tool') {
        const id = ids.take(message.callId);
        if (id !== undefined) writer.result(message, id);
        continue;
      }
      writer.close(ids.takeWaiting());
      if (message.role === 'user') {
        writer.user(message);
        continue;
      }
      const own = message.provider === provider;
      writer.assistant(message, own, ids.assign(message, own));
    }
    const unanswered = ids.takeWaiting();
    writer.close(unanswered);
    // The results may still come: then the conversation is written anew.
    if (first && unanswered.length === 0) kept.set(first, { writer, ids, seen });
    else if (first) kept.delete(first);
    return writer;
  };
}

/** The elements of an array, one after another. */
export function createElements() {
  let text = '';
  let last = '';
  return {
    /** Adds elements, unless their JSON is empty. */
    add(...elements: readonly string[]): void {
      for (const json of elements) {
        if (json === '') continue;
        text += `,${json}`;
        last = json;
      }
    },
    /** The array, which begins with `first` unless that is empty, and whose last element is what `mark` makes of it. */
    json(first: string, mark?: (last: string) => string): string {
      const all = mark && last !== '' ? text.slice(0, -last.length) + mark(last) : text;
      return `[${first === '' ? all.slice(1) : first + all}]`;
    },
  };
}
