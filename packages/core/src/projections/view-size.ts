import { viewOfParts } from '../view-parts.ts';
import { estimateMessage } from '../messages/estimate.ts';
import { estimateMessages } from '../messages/estimate-frame.ts';
import { cutResult } from '../messages/result-share.ts';
import { historyFold, type OpenTurn } from '../journal/history.ts';
import type { DurableEvent } from '../events/events.ts';
import { asHookDecision } from '../kernel/services/hook-decision.ts';
import { isJsonObject } from '../json.ts';
import type { Message } from '../messages/message.ts';

/** How big the view is: what a model would be sent. */
export interface ViewSize {
  take(event: DurableEvent): void;
  readonly messages: number;
  /** An estimate of the messages alone, without the system prompt and the tools. */
  readonly tokens: number;
}

/** Starts the fold of a view's size. What is added costs what is new; a compaction costs what it leaves. */
export function viewSizeFold(): ViewSize {
  let view: Message[] = [];
  let tokens = 0;
  const replace = (messages: Message[]): void => {
    view = messages;
    tokens = estimateMessages(messages);
  };
  const history = historyFold({
    replaced: () => replace([]),
    message(message, cut) {
      const shown = cut && message.role === 'tool' ? cutResult(message, cut.tokens, cut.recall) : message;
      view.push(shown);
      tokens += estimateMessage(shown);
    },
  });
  return {
    get messages() {
      return view.length;
    },
    get tokens() {
      return tokens;
    },
    take(event) {
      history.take(event);
      if (event.type === 'decision_made') rewrite(history.turn, event);
      if (event.type === 'compacted') replace(viewOfParts(view, event.view));
    },
  };
}

/** A hook may have put something else in a result's place. */
function rewrite(turn: OpenTurn | null, event: Extract<DurableEvent, { type: 'decision_made' }>): void {
  const { kind, callId, decision } = event;
  const result = callId === undefined ? undefined : turn?.results.get(callId);
  if (kind !== 'hook' || !isJsonObject(decision) || callId === undefined || !result) return;
  const { output } = asHookDecision(decision);
  if (output) turn?.results.set(callId, { ...result, content: output });
}
