import type { Clock, ModelEvent, ModelRequest, ModelToolCall, Usage } from '@treadle/core';
import type { Decision } from './plan.ts';

/** How fast the deltas come. */
export interface Pace {
  readonly clock: Clock;
  /** Between two events. 0: at once. */
  readonly delayMs: number;
}

/** A reply as data: what is said, then what is called. */
export interface Reply {
  readonly text: string;
  readonly calls: readonly ModelToolCall[];
  readonly inputTokens: number;
}

/** The reply that a decision comes to. `callsBefore` keeps the ids of calls unique in a conversation. */
export function replyOf(decision: Decision, inputTokens: number, callsBefore: number): Reply {
  if (decision.kind === 'answer') return { text: decision.text, calls: [], inputTokens };
  const calls = decision.action.calls.map((call, i) => ({
    type: 'tool_call' as const,
    providerCallId: `offline_call_${callsBefore + i + 1}`,
    name: call.name,
    argumentsText: JSON.stringify(call.arguments),
  }));
  return { text: decision.action.say, calls, inputTokens };
}

/** Tokens are estimated: four characters each. */
export function tokensOf(characters: number): number {
  return Math.ceil(characters / 4);
}

/** A cursor over a reply: each call of `next` gives the next event, and nothing when the stream is over. */
interface EventSource {
  next(): ModelEvent | undefined;
}

const TEXT_PIECE = 18;
const ARGUMENTS_PIECE = 14;

/**
 * The events of a reply, made one at a time. `maxTokens` and `stopSequences` of the request hold: a text is cut there, and
 * a call that doesn't fit any more is never finished.
 */
export function eventsOf(reply: Reply, request: ModelRequest, model: string): EventSource {
  const stopAt = firstStop(reply.text, request.stopSequences ?? []);
  const limit = (request.maxTokens ?? Number.POSITIVE_INFINITY) * 4;
  const text = wholeCharacters(reply.text, Math.min(stopAt ?? reply.text.length, limit));
  const cutText = text.length < (stopAt ?? reply.text.length);
  const calls = stopAt === undefined && !cutText ? reply.calls : [];
  let state: 'start' | 'text' | 'text end' | 'call' | 'arguments' | 'over' = 'start';
  let at = 0;
  let sent = 0;
  let call = 0;
  let cut = cutText;

  const index = (): number => (text === '' ? call : call + 1);
  const finish = (): ModelEvent => {
    state = 'over';
    const usage = usageOf(reply.inputTokens, sent);
    if (cut) return { type: 'finish', stopReason: 'length', rawStopReason: 'max_tokens', usage };
    if (stopAt !== undefined) return { type: 'finish', stopReason: 'stop', rawStopReason: 'stop_sequence', usage };
    return { type: 'finish', stopReason: calls.length > 0 ? 'tool_use' : 'stop', usage };
  };
  const textDelta = (): ModelEvent => {
    const piece = pieceOf(text, at, TEXT_PIECE, true);
    at += piece.length;
    sent += piece.length;
    if (at >= text.length) state = 'text end';
    return { type: 'text_delta', index: 0, text: piece };
  };
  const argumentsDelta = (current: ModelToolCall): ModelEvent => {
    const piece = pieceOf(current.argumentsText, at, Math.min(ARGUMENTS_PIECE, limit - sent), false);
    at += piece.length;
    sent += piece.length;
    return { type: 'tool_arguments_delta', index: index(), text: piece };
  };
  const callEvent = (): ModelEvent => {
    const current = calls[call];
    if (current === undefined) return finish();
    if (state === 'call') {
      state = 'arguments';
      at = 0;
      return { type: 'tool_call_start', index: index(), providerCallId: current.providerCallId, name: current.name };
    }
    if (at < current.argumentsText.length) {
      cut = sent >= limit;
      return cut ? finish() : argumentsDelta(current);
    }
    const event: ModelEvent = { type: 'block_end', index: index(), block: current };
    call += 1;
    state = 'call';
    return event;
  };

  return {
    next() {
      switch (state) {
        case 'start':
          state = text === '' ? 'call' : 'text';
          return { type: 'start', model };
        case 'text':
          return textDelta();
        case 'text end':
          state = 'call';
          return { type: 'block_end', index: 0, block: { type: 'text', text } };
        case 'call':
        case 'arguments':
          return callEvent();
        case 'over':
          return undefined;
      }
    },
  };
}

/** The beginning of a text, never ending in half of a surrogate pair. */
function wholeCharacters(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const half = length < text.length && last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, half ? length - 1 : length);
}

function usageOf(input: number, characters: number): Usage {
  return { input, output: tokensOf(characters), cacheRead: 0, cacheWrite: 0, reasoning: 0 };
}

function firstStop(text: string, sequences: readonly string[]): number | undefined {
  const found = sequences
    .filter((sequence) => sequence !== '')
    .map((sequence) => text.indexOf(sequence))
    .filter((at) => at >= 0);
  return found.length === 0 ? undefined : Math.min(...found);
}

/** The next few words, or characters; never half of a surrogate pair. */
function pieceOf(text: string, from: number, size: number, words: boolean): string {
  let end = Math.min(text.length, from + Math.max(1, size));
  if (words && end < text.length) {
    const space = text.indexOf(' ', end);
    if (space >= 0 && space - end < size) end = space;
  }
  const last = text.charCodeAt(end - 1);
  if (end < text.length && last >= 0xd800 && last <= 0xdbff) end += 1;
  return text.slice(from, end);
}
