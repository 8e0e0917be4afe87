import type { DurableEvent } from '../events/events.ts';
import type { Message, ToolResultMessage } from '../messages/message.ts';

/** Reads a session's log. */
export interface LogReader {
  /** The events from number `from` on (1 is the first), to the end of the log as it is. */
  read(from: number): AsyncIterable<DurableEvent>;
}

type ResultsCut = Extract<DurableEvent, { type: 'turn_ended' }>['resultsCut'];

/** Told of a conversation as it happened. */
interface HistoryVisitor {
  /** `cut` says to what results were cut in the view. */
  message(message: Message, cut?: ResultsCut): void;
  /** The conversation was replaced, by a reset or an import: what came before is not part of it. */
  replaced(): void;
}

/** A turn whose results are still coming in. */
export interface OpenTurn {
  readonly order: readonly string[];
  readonly results: Map<string, ToolResultMessage>;
}

/** Walks through a conversation in its order, whatever was compacted since: what models have been sent, or have said. */
export function historyFold(visitor: HistoryVisitor): {
  take(event: DurableEvent): void;
  /** Its results are told when it ends. */
  readonly turn: OpenTurn | null;
} {
  let turn: OpenTurn | null = null;
  let runIsOpen = false;
  return {
    get turn() {
      return turn;
    },
    take(event) {
      if (event.type === 'run_started') runIsOpen = true;
      else if (event.type === 'run_ended') runIsOpen = false;
      // During a run an import is refused.
      else if (event.type === 'input_received' && event.input.type === 'import' && !runIsOpen) {
        visitor.replaced();
        for (const message of event.input.messages) visitor.message(message);
      } else if (event.type === 'message_added' && event.inView) {
        visitor.message(event.message);
        if (event.message.role === 'assistant') turn = openTurn(event.message);
      } else if (event.type === 'tool_ended' || event.type === 'tool_call_rejected') {
        turn?.results.set(event.callId, resultOf(event));
      } else if (event.type === 'turn_ended') {
        for (const message of resultsInOrder(turn)) visitor.message(message, event.resultsCut);
        turn = null;
      }
    },
  };
}

/** The turn that a reply begins. */
export function openTurn({ content }: Extract<Message, { role: 'assistant' }>): OpenTurn {
  const order = content.flatMap((block) => (block.type === 'tool_call' ? [block.callId] : []));
  return { order, results: new Map() };
}

/** The results that are there, in the order of the calls. */
export const resultsInOrder = (turn: OpenTurn | null): ToolResultMessage[] =>
  (turn?.order ?? []).flatMap((callId) => turn?.results.get(callId) ?? []);

/** What a model is told of a call's end. */
export function resultOf(
  event: Extract<DurableEvent, { type: 'tool_ended' | 'tool_call_rejected' }>,
): ToolResultMessage {
  const { callId, toolName, at, content } = event;
  const isError = event.type === 'tool_call_rejected' || event.isError;
  return { role: 'tool', id: `result_${callId}`, at, callId, toolName, content, isError };
}

/**
 * The messages a handle names, as they happened: a message's id, a call's id for its result, or two ids with `..` between
 * them for all that is from the one to the other. Empty when there are none.
 */
export async function readHandle(log: LogReader, handle: string): Promise<Message[]> {
  const [from = '', to = from] = handle.includes('..') ? handle.split('..') : [handle];
  let found: Message[] = [];
  let place: 'before' | 'inside' | 'after' = 'before';
  const fold = historyFold({
    message(message) {
      if (place === 'before' && isNamed(message, from)) place = 'inside';
      if (place !== 'inside') return;
      found.push(message);
      if (isNamed(message, to)) place = 'after';
    },
    replaced() {
      found = [];
      place = 'before';
    },
  });
  for await (const event of log.read(1)) fold.take(event);
  return found;
}

const isNamed = (message: Message, id: string): boolean =>
  message.id === id || (message.role === 'tool' && (message.callId === id || hasWhole(message, id)));

/** Whether a text of it was cut, and this is the blob of the whole one. */
const hasWhole = ({ content }: ToolResultMessage, id: string): boolean =>
  content.some((block) => block.type === 'text' && block.whole?.id === id);
