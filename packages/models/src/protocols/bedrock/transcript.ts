import type { AssistantMessage, FileBlock, ModelMessage, ToolResultMessage, UserMessage } from '@treadle/core';
import {
  bedrockAssistantContent,
  bedrockInterruptedResult,
  bedrockToolName,
  bedrockToolResult,
  bedrockUserContent,
  isDocument,
} from './content.ts';
import { createDocumentNames } from './names.ts';
import { endsToMark, REMEMBERED_MESSAGES, withMarks } from '../shared/cache-marks.ts';
import type { CacheMarks, WireMessage } from '../shared/cache-marks.ts';
import { createCallIds } from '../shared/call-ids.ts';
import { createGrowingText } from '../shared/growing-text.ts';
import type { Piece } from '../shared/growing-text.ts';
import { createTranscripts } from '../shared/transcripts.ts';
import type { Fragment, TranscriptWriter } from '../shared/transcripts.ts';

type Role = WireMessage['role'];

const CALL_ID_RULES = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 };

/** What stands in for the user where this wire wants one: a conversation begins and ends with the user. */
const OPENING = '{"text":"(The conversation continues.)"}';
const CLOSING = '{"text":"(Continue.)"}';

/** Asks the service to keep what comes before it. */
export const CACHE_POINT = '{"cachePoint":{"type":"default"}}';

/** The messages of one conversation as this wire writes them. */
export interface BedrockTranscript extends TranscriptWriter {
  /** Whether the assistant is in the middle of calling tools without the reasoning that led there. */
  endsWithoutThinking(): boolean;
  /** Names of the tools that were called. */
  readonly called: ReadonlySet<string>;
  /** The elements with cache points in them and, where there is a note, that as the user's last text. */
  marked(marks: CacheMarks['messages'], note: string): readonly Piece[];
}

const hasReasoning = (message: AssistantMessage): boolean =>
  message.content.some(
    (block) => block.type === 'redacted_thinking' || (block.type === 'thinking' && block.signature !== undefined),
  );

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

/** The documents of each message, looked for once. */
const createDocuments = (): ((message: NamedMessage) => Documents) => {
  const kept = new WeakMap<ModelMessage, Documents>();
  return (message) => {
    let documents = kept.get(message);
    if (documents === undefined) kept.set(message, (documents = documentsIn(message)));
    return documents;
  };
};

/** What a writer uses that others use too. */
interface Shared {
  readonly fragment: Fragment;
  readonly documentsOf: ReturnType<typeof createDocuments>;
}

const createWriter = (provider: string, { fragment, documentsOf }: Shared): BedrockTranscript => {
  const ids = createCallIds(CALL_ID_RULES);
  const names = createDocumentNames();
  const called = new Set<string>();
  const messages: WireMessage[] = [];
  const written = createGrowingText();
  let callsWithoutThinking = false;

  const openRole = (): Role | undefined => messages.at(-1)?.role;

  /** Content as it follows that of an open message. */
  const following = (open: Role | undefined, next: Role, content: string): string => {
    if (open === next) return `,${content}`;
    return `${open === undefined ? '' : ']},'}{"role":"${next}","content":[${content}`;
  };

  const add = (next: Role, content: string, markable = true): void => {
    if (content === '') return;
    if (messages.length === 0 && next === 'assistant') add('user', OPENING);
    const open = openRole();
    written.append(following(open, next, content));
    if (open !== next) messages.push({ role: next, end: 0 });
    const current = messages.at(-1);
    if (markable && current !== undefined) current.end = written.size();
    if (messages.length > REMEMBERED_MESSAGES) messages.shift();
  };

  const answerWaiting = (): void => {
    for (const id of ids.waiting()) add('user', bedrockInterruptedResult(id));
    ids.forgetWaiting();
  };

  const addAssistant = (message: AssistantMessage): void => {
    const own = message.provider === provider;
    const wireIds = new Map<string, string>();
    for (const block of message.content) {
      if (block.type !== 'tool_call') continue;
      wireIds.set(block.callId, ids.assign(block, own));
      called.add(bedrockToolName(block.name));
    }
    const key = wireIds.size === 0 ? '' : [...wireIds.values()].join();
    add(
      'assistant',
      fragment(message, key, () => bedrockAssistantContent(message.content, own, wireIds)),
    );
    callsWithoutThinking = wireIds.size > 0 && !(own && hasReasoning(message));
  };

  /** Content in which documents have names: they are part of what the JSON depends on. */
  const addNamed = (message: NamedMessage, key: string, write: (nameDocument: () => string) => string): void => {
    const { list, takesPoint } = documentsOf(message);
    const given = list.map((file) => names.next(file));
    const json = fragment(message, [key, ...given].join('\n'), () => {
      let at = 0;
      return write(() => given[at++] ?? '');
    });
    add('user', json, takesPoint);
  };

  /** Text that only this request has at its end, the answers to calls that have none among it. */
  const complete = (marks: CacheMarks['messages'], note: string): readonly Piece[] => {
    let end = '';
    let open = openRole();
    let ends: readonly WireMessage[] = messages;
    const user = (content: string): void => {
      end += following(open, 'user', content);
      open = 'user';
    };
    const waiting = ids.waiting();
    if (waiting.length > 0) {
      const before = open === 'user' ? messages.slice(0, -1) : messages;
      for (const id of waiting) user(bedrockInterruptedResult(id));
      ends = [...before, { role: 'user', end: written.size() + end.length }];
    }
    const places = endsToMark(ends, marks);
    if (open === 'assistant') user(note === '' ? CLOSING : note);
    else if (note !== '') user(note);
    return open === undefined ? [] : withMarks(written, `${end}]}`, places, `,${CACHE_POINT}`);
  };

  return {
    append(message: ModelMessage) {
      if (message.role === 'tool') {
        const id = ids.take(message.callId);
        if (id === undefined) return;
        return addNamed(message, id, (name) => bedrockToolResult(message, id, name));
      }
      answerWaiting();
      if (message.role === 'assistant') return addAssistant(message);
      callsWithoutThinking = false;
      addNamed(message, '', (name) => bedrockUserContent(message.content, name));
    },
    pieces: () => complete('none', ''),
    marked: complete,
    called,
    endsWithoutThinking: () => callsWithoutThinking,
  };
};

/** Keeps the writer of each conversation with one model of `provider`. */
export function createBedrockTranscripts(provider: string): (messages: readonly ModelMessage[]) => BedrockTranscript {
  const documentsOf = createDocuments();
  return createTranscripts((fragment) => createWriter(provider, { fragment, documentsOf }));
}
