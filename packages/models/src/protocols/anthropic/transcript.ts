import type { AssistantMessage, ModelMessage } from '@treadle/core';
import { MARK } from './cache.ts';
import {
  anthropicAssistantContent,
  anthropicInterruptedResult,
  anthropicToolResult,
  anthropicUserContent,
  endsWithMarkableBlock,
  withoutTrailingSpace,
} from './content.ts';
import { endsToMark, REMEMBERED_MESSAGES, withMarks } from '../shared/cache-marks.ts';
import type { CacheMarks, WireMessage } from '../shared/cache-marks.ts';
import { createCallIds } from '../shared/call-ids.ts';
import { createGrowingText } from '../shared/growing-text.ts';
import type { Piece } from '../shared/growing-text.ts';
import type { Fragment, TranscriptWriter } from '../shared/transcripts.ts';

const CALL_ID_RULES = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 };

/** What stands in for the user when a conversation begins with the assistant, which this wire doesn't accept. */
const OPENING = '{"type":"text","text":"(The conversation continues.)"}';

type Role = WireMessage['role'];

/** The messages of one conversation as this wire writes them. */
export interface AnthropicTranscript extends TranscriptWriter {
  /** The elements of `messages` with cache marks in them. Without the marks the text of a call begins the next one's. */
  marked(marks: CacheMarks['messages']): readonly Piece[];
  /** Whether the assistant is in the middle of calling tools without the reasoning that led there. */
  endsWithoutThinking(): boolean;
}

const hasSignedThinking = (message: AssistantMessage): boolean =>
  message.content.some(
    (block) => block.type === 'redacted_thinking' || (block.type === 'thinking' && block.signature !== undefined),
  );

/** Content as it follows that of an open message. */
const following = (open: Role | undefined, next: Role, content: string): string => {
  if (open === next) return `,${content}`;
  return `${open === undefined ? '' : ']},'}{"role":"${next}","content":[${content}`;
};

/** A writer of messages for `provider`. */
export function createAnthropicTranscript(provider: string, fragment: Fragment): AnthropicTranscript {
  const ids = createCallIds(CALL_ID_RULES);
  const messages: WireMessage[] = [];
  const written = createGrowingText();
  let callsWithoutThinking = false;

  const openRole = (): Role | undefined => messages.at(-1)?.role;

  const add = (next: Role, content: string, markable = true): void => {
    if (content === '') return;
    const open = openRole();
    if (open === undefined && next === 'assistant') {
      add('user', OPENING);
      return add(next, content, markable);
    }
    written.append(following(open, next, content));
    if (open !== next) messages.push({ role: next, end: 0 });
    const current = messages.at(-1);
    if (markable && current !== undefined) current.end = written.size();
    if (messages.length > REMEMBERED_MESSAGES) messages.shift();
  };

  const answerWaiting = (): void => {
    for (const id of ids.waiting()) add('user', anthropicInterruptedResult(id));
    ids.forgetWaiting();
  };

  const addAssistant = (message: AssistantMessage): void => {
    const own = message.provider === provider;
    const wireIds = new Map<string, string>();
    for (const block of message.content) {
      if (block.type === 'tool_call') wireIds.set(block.callId, ids.assign(block, own));
    }
    const key = wireIds.size === 0 ? '' : [...wireIds.values()].join();
    const said = message.stopReason === 'pause' ? withoutTrailingSpace(message.content) : message.content;
    const content = fragment(message, key, () => anthropicAssistantContent(said, own, wireIds));
    add('assistant', content, endsWithMarkableBlock(said, own));
    callsWithoutThinking = wireIds.size > 0 && !(own && hasSignedThinking(message));
  };

  const marked = (marks: CacheMarks['messages']): readonly Piece[] => {
    let end = '';
    let ends: readonly WireMessage[] = messages;
    const waiting = ids.waiting();
    if (waiting.length > 0) {
      let open = openRole();
      for (const id of waiting) {
        end += following(open, 'user', anthropicInterruptedResult(id));
        open = 'user';
      }
      const before = openRole() === 'user' ? messages.slice(0, -1) : messages;
      ends = [...before, { role: 'user', end: written.size() + end.length }];
    }
    if (written.size() === 0) return [];
    // A mark is the last field of the block that ends there.
    const places = endsToMark(ends, marks).map((place) => place - 1);
    return withMarks(written, `${end}]}`, places, MARK);
  };

  return {
    append(message: ModelMessage) {
      if (message.role === 'tool') {
        const id = ids.take(message.callId);
        if (id === undefined) return;
        return add(
          'user',
          fragment(message, id, () => anthropicToolResult(message, id, provider)),
        );
      }
      answerWaiting();
      if (message.role === 'assistant') return addAssistant(message);
      callsWithoutThinking = false;
      add(
        'user',
        fragment(message, '', () => anthropicUserContent(message.content, provider)),
      );
    },
    pieces: () => marked('none'),
    marked,
    endsWithoutThinking: () => callsWithoutThinking,
  };
}
