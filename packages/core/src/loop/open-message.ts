import type { LiveEvent } from '../events/events.ts';
import type { AssistantContent } from '../messages/content.ts';
import type { ModelBlock, ModelEvent, ModelToolCall, StopReason } from '../model/model.ts';
import { createPartialJson, type PartialJson } from '../model/partial-json.ts';
import type { Ids } from '../ports/ids.ts';
import { parseArguments, type ParsedArguments } from '../tools/arguments.ts';

type Delta = Extract<LiveEvent, { type: 'message_delta' }>;

interface OpenBlock {
  readonly index: number;
  readonly kind: Delta['kind'];
  text: string;
  /** On tool calls. */
  readonly call: { readonly name: string; readonly callId: string; readonly providerCallId: string } | null;
  partial: PartialJson | null;
  final: ModelBlock | null;
}

/** The facts every live event of one model call shares. */
export interface MessagePlace {
  readonly afterSeq: number;
  readonly runId: string;
  readonly turnIndex: number;
  readonly messageId: string;
  readonly attempt: number;
}

/** A message being streamed. Work per delta is constant, whatever has come before. */
export interface OpenMessage {
  readonly place: MessagePlace;
  /** Takes one model event in; returns the live event it makes when `observed`, else null. */
  take(event: ModelEvent, observed: boolean): Delta | null;
  /** The model began its message again: what came before is void. Returns whether watchers had seen any of it. */
  restart(): boolean;
  /** What watchers are told when it begins, and each time it begins again. */
  started(): LiveEvent;
  /** The whole message so far, as a watcher needs it who joins now. */
  replay(): LiveEvent[];
  /** The content of a message that came to its end. */
  finished(stopReason: StopReason): AssistantContent[];
  /** What may be kept of a message that didn't: readable text, and reasoning when `withThinking`. */
  salvaged(withThinking: boolean): AssistantContent[];
  /** True once watchers may have seen a delta. */
  hasBegun(): boolean;
  /** True once they may have seen text of the reply itself. */
  hasText(): boolean;
}

export function openMessage(place: MessagePlace, ids: Ids): OpenMessage {
  const { afterSeq, runId, turnIndex, messageId, attempt } = place;
  const blocks = new Map<number, OpenBlock>();
  /** Most deltas are of the same block as the one before. */
  let latest: OpenBlock | null = null;
  let begun = false;
  let restarts = 0;

  function block(index: number, kind: OpenBlock['kind'], name = '', providerCallId = ''): OpenBlock {
    if (latest?.index === index) return latest;
    latest = blocks.get(index) ?? null;
    if (latest) return latest;
    const call = kind === 'tool_arguments' ? { name, callId: ids.create('call'), providerCallId } : null;
    latest = { index, kind, text: '', call, partial: null, final: null };
    blocks.set(index, latest);
    return latest;
  }

  // Made for every delta, so written out: spreading the place costs several times as much.
  function delta({ kind, index, call, partial }: OpenBlock, text: string, offset: number): Delta {
    const type = 'message_delta';
    if (!call || !partial) {
      return { type, afterSeq, runId, turnIndex, messageId, attempt, kind, index, offset, text };
    }
    const { name: toolName, callId } = call;
    const { value } = partial;
    return value === undefined
      ? { type, afterSeq, runId, turnIndex, messageId, attempt, kind, index, offset, text, toolName, callId }
      : {
          type,
          afterSeq,
          runId,
          turnIndex,
          messageId,
          attempt,
          kind,
          index,
          offset,
          text,
          toolName,
          callId,
          partial: value,
        };
  }

  /** Nobody's value is parsed before somebody watches; then all of the text so far is. */
  function parse(open: OpenBlock, text: string): void {
    if (open.partial) open.partial.push(text);
    else {
      open.partial = createPartialJson();
      open.partial.push(open.text);
    }
  }

  function grow(open: OpenBlock, text: string, observed: boolean): Delta | null {
    const offset = open.text.length;
    open.text += text;
    begun = true;
    if (!observed) return null;
    if (open.call) parse(open, text);
    return delta(open, text, offset);
  }

  const started = (): LiveEvent => ({
    type: 'message_started',
    ...place,
    ...(restarts > 0 ? { restart: restarts } : {}),
  });

  const ordered = (): OpenBlock[] => [...blocks.values()].sort((a, b) => a.index - b.index);

  return {
    place,
    hasBegun: () => begun,
    hasText: () => [...blocks.values()].some(({ kind, text }) => kind === 'text' && text !== ''),
    take(event, observed) {
      switch (event.type) {
        case 'text_delta':
          return grow(block(event.index, 'text'), event.text, observed);
        case 'thinking_delta':
          return grow(block(event.index, 'thinking'), event.text, observed);
        case 'tool_call_start':
          return grow(block(event.index, 'tool_arguments', event.name, event.providerCallId), '', observed);
        case 'tool_arguments_delta':
          return grow(block(event.index, 'tool_arguments'), event.text, observed);
        case 'block_end': {
          const { index, block: final } = event;
          const open =
            final.type === 'tool_call'
              ? block(index, 'tool_arguments', final.name, final.providerCallId)
              : block(index, 'text');
          open.final = final;
          return null;
        }
        default:
          return null;
      }
    },
    restart() {
      const seen = blocks.size > 0;
      if (seen) restarts += 1;
      blocks.clear();
      latest = null;
      return seen;
    },
    started,
    replay() {
      return [
        started(),
        ...ordered()
          .filter(({ text }) => text !== '')
          .map((open) => snapshot(open, place)),
      ];
    },
    finished: (stopReason) => ordered().flatMap((open) => finishedBlock(open, stopReason)),
    salvaged: (withThinking) => ordered().flatMap((open) => salvagedBlock(open, withThinking)),
  };
}

/** Everything a block has so far, as one delta from its beginning. */
function snapshot(open: OpenBlock, place: MessagePlace): Delta {
  const named = open.call ? { toolName: open.call.name, callId: open.call.callId } : {};
  const value = open.partial?.value;
  const partial = value === undefined ? {} : { partial: value };
  const { kind, index, text } = open;
  return { type: 'message_delta', ...place, kind, index, offset: 0, text, ...named, ...partial };
}

function finishedBlock(open: OpenBlock, stopReason: StopReason): AssistantContent[] {
  const { final, call } = open;
  // A wire closes every block of a message that finished; one it didn't close has nothing that may be relied on.
  if (!final) return [];
  if (final.type === 'text' && final.text === '' && !final.citations && !final.opaque) return [];
  if (final.type !== 'tool_call') return [final];
  const cut = stopReason === 'length' || stopReason === 'refusal' || stopReason === 'content_filter';
  return [
    {
      type: 'tool_call',
      callId: call?.callId ?? '',
      ...(final.providerCallId === '' ? {} : { providerCallId: final.providerCallId }),
      name: final.name,
      ...(final.problem === undefined ? parseArguments(final.argumentsText, cut) : unreadable(final)),
      ...(final.opaque === undefined ? {} : { opaque: final.opaque }),
    },
  ];
}

/** What the model's own reader could not make sense of is kept as it was written. */
function unreadable({ argumentsText, problem, problemMessage }: ModelToolCall): ParsedArguments {
  return {
    arguments: {},
    argumentsText,
    ...(problem === undefined ? {} : { problem }),
    ...(problemMessage === undefined ? {} : { problemMessage }),
  };
}

function salvagedBlock(open: OpenBlock, withThinking: boolean): AssistantContent[] {
  const { final } = open;
  if (final?.type === 'text' || (final?.type === 'thinking' && withThinking)) return [final];
  if (final || open.text === '') return [];
  if (open.kind === 'text') return [{ type: 'text', text: open.text }];
  return open.kind === 'thinking' && withThinking ? [{ type: 'thinking', text: open.text }] : [];
}
