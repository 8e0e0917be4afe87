import { openTurn, resultOf, resultsInOrder, type OpenTurn } from '../journal/history.ts';
import type { DurableEvent } from '../events/events.ts';
import type { Message } from '../messages/message.ts';

/** Puts the messages of a run together. */
export interface RunMessagesFold {
  take(event: DurableEvent): void;
  /** All so far, oldest first; what comes later doesn't change the list. */
  messages(): Message[];
}

/**
 * Starts the fold of a run's messages: everything that was added, results of calls included, in the order of the
 * conversation. Results stand in the order of the calls, whatever order they came in.
 */
export function runMessagesFold(): RunMessagesFold {
  const messages: Message[] = [];
  let turn: OpenTurn | null = null;
  const close = (): void => {
    messages.push(...resultsInOrder(turn));
    turn = null;
  };
  return {
    take(event) {
      if (event.type === 'message_added') {
        messages.push(event.message);
        if (event.message.role === 'assistant') turn = openTurn(event.message);
      } else if (event.type === 'tool_ended' || event.type === 'tool_call_rejected') {
        turn?.results.set(event.callId, resultOf(event));
      } else if (event.type === 'turn_ended' || event.type === 'run_ended') close();
    },
    messages: () => [...messages, ...resultsInOrder(turn)],
  };
}
