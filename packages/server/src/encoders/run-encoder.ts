import type { JsonObject, Message, TreadleEvent } from '@treadle/core';
import { NOTHING, type Encoder, type Frame, type StreamEnd } from './encoder.ts';
import { replyFold, type ReplyFold, type ReplyPart } from './parts.ts';
import { endMessage } from './stream-end.ts';

export type EventOf<Type extends TreadleEvent['type']> = Extract<TreadleEvent, { type: Type }>;

/** The words of a protocol whose stream is one run. Each function returns what is told, in order. */
export interface RunWords<Told> {
  /** Before all else. */
  readonly begin: (runId: string | undefined) => readonly Told[];
  /** Of the parts of the run's replies. */
  readonly reply: (part: ReplyPart) => readonly Told[];
  /** Of the run's other events. Nothing is told after `run_paused` and `run_ended`. */
  readonly event: (event: TreadleEvent) => readonly Told[];
  /** Of what belongs to no run; undefined for all other events. */
  readonly beside?: (event: TreadleEvent) => readonly Told[] | undefined;
  /** Of a sub-agent. Default: nothing. */
  readonly child?: (event: EventOf<'child_event'>, replies: ReplyFold) => readonly Told[];
  /** When the stream ends before the run does. */
  readonly cut: (end: StreamEnd, message: string) => readonly Told[];
}

/** An encoder of one run: the first one that it is told of. Other runs of the session are passed over. */
export function runEncoder<Told>(words: RunWords<Told>, frame: (told: Told) => Frame): Encoder {
  const replies = replyFold();
  let root: string | undefined;
  let isBegun = false;
  let isOver = false;

  function tell(told: readonly Told[]): readonly Frame[] {
    const first = isBegun ? [] : words.begin(root);
    isBegun = true;
    return [...first, ...told].map(frame);
  }

  return {
    begin({ runId }) {
      root = runId;
      return NOTHING;
    },
    event(event) {
      if (isOver) return NOTHING;
      if (event.type === 'child_event') return words.child ? tell(words.child(event, replies)) : NOTHING;
      const beside = event.type === 'snapshot' ? undefined : words.beside?.(event);
      if (beside) return tell(beside);
      if (!('runId' in event) || event.runId === undefined) return NOTHING;
      root ??= event.runId;
      // The conversation that a snapshot has, the client has already.
      if (event.runId !== root || event.type === 'snapshot') return NOTHING;
      isOver = event.type === 'run_ended' || event.type === 'run_paused';
      return tell([...replies.take(event).flatMap(words.reply), ...words.event(event)]);
    },
    end(end) {
      if (isOver) return NOTHING;
      isOver = true;
      return tell(words.cut(end, end.reason === 'finished' ? 'The stream ended before the run did.' : endMessage(end)));
    },
  };
}

/** A message that reached the model in the middle of a run. The prompt is the client's own. */
export const injectedMessage = (message: Message): Extract<Message, { role: 'user' }> | null =>
  message.role === 'user' && (message.origin === 'steering' || message.origin === 'follow_up') ? message : null;

/** What goes on beside the conversation; null for all other events. */
export function noticeOf(event: TreadleEvent): { readonly name: string; readonly data: JsonObject } | null {
  switch (event.type) {
    case 'status':
      return { name: 'status', data: { status: event.status } };
    case 'warning':
      return { name: 'warning', data: { code: event.code, message: event.message } };
    case 'compacted': {
      const { trigger, tokensBefore, tokensAfter } = event;
      return { name: 'compacted', data: { trigger, tokensBefore, tokensAfter } };
    }
    default:
      return null;
  }
}
