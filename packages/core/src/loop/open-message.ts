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

/** What has come of a message by now. */
interface Progress {
  readonly place: MessagePlace;
  readonly ids: Ids;
  /** In the order in which they came. */
  blocks: readonly OpenBlock[];
  /** Most deltas are of the same block as the one before. */
  latest: OpenBlock | null;
  begun: boolean;
  restarts: number;
}

export function openMessage(place: MessagePlace, ids: Ids): OpenMessage {
  const progress: Progress = { place, ids, blocks: NONE, latest: null, begun: false, restarts: 0 };
  return {
    place,
    hasBegun: () => progress.begun,
    hasText: () => progress.blocks.some(({ kind, text }) => kind === 'text' && text !== ''),
    take: (event, observed) => take(progress, event, observed),
    restart() {
      const seen = progress.blocks.length > 0;
      if (seen) progress.restarts += 1;
      progress.blocks = NONE;
      progress.latest = null;
      return seen;
    },
    started: () => started(progress),
    replay() {
      const shown = ordered(progress).filter(({ text }) => text !== '');
      return [started(progress), ...shown.map((open) => snapshot(open, place))];
    },
    finished: (stopReason) => contentOf(progress, (open) => finishedBlock(open, stopReason)),
    salvaged: (withThinking) => contentOf(progress, (open) => salvagedBlock(open, withThinking)),
  };
}

const NONE: readonly OpenBlock[] = [];

function take(progress: Progress, event: ModelEvent, observed: boolean): Delta | null {
  switch (event.type) {
    case 'text_delta':
      return grow(progress, blockAt(progress, event.index, 'text'), event.text, observed);
    case 'thinking_delta':
      return grow(progress, blockAt(progress, event.index, 'thinking'), event.text, observed);
    case 'tool_call_start': {
      const { index, name, providerCallId } = event;
      return grow(progress, blockAt(progress, index, 'tool_arguments', name, providerCallId), '', observed);
    }
    case 'tool_arguments_delta':
      return grow(progress, blockAt(progress, event.index, 'tool_arguments'), event.text, observed);
    case 'block_end': {
      const { index, block: final } = event;
      const open =
        final.type === 'tool_call'
          ? blockAt(progress, index, 'tool_arguments', final.name, final.providerCallId)
          : blockAt(progress, index, 'text');
      open.final = final;
      return null;
    }
    default:
      return null;
  }
}

function blockAt(
  progress: Progress,
  index: number,
  kind: OpenBlock['kind'],
  name = '',
  providerCallId = '',
): OpenBlock {
  const { latest, blocks, ids } = progress;
  if (latest?.index === index) return latest;
  let found = blocks.find((block) => block.index === index);
  if (!found) {
    const call = kind === 'tool_arguments' ? { name, callId: ids.create('call'), providerCallId } : null;
    found = { index, kind, text: '', call, partial: null, final: null };
    progress.blocks = [...blocks, found];
  }
  progress.latest = found;
  return found;
}

// Made for every delta, so written out: spreading the place costs several times as much.
function delta(place: MessagePlace, { kind, index, call, partial }: OpenBlock, text: string, offset: number): Delta {
  const { afterSeq, runId, turnIndex, messageId, attempt } = place;
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

function grow(progress: Progress, open: OpenBlock, text: string, observed: boolean): Delta | null {
  const offset = open.text.length;
  open.text += text;
  progress.begun = true;
  if (!observed) return null;
  if (open.call) parse(open, text);
  return delta(progress.place, open, text, offset);
}

const started = ({ place, restarts }: Progress): LiveEvent => ({
  type: 'message_started',
  ...place,
  ...(restarts > 0 ? { restart: restarts } : {}),
});

const ordered = ({ blocks }: Progress): readonly OpenBlock[] =>
  blocks.length < 2 ? blocks : blocks.toSorted((a, b) => a.index - b.index);

/** A message is kept as long as its session: its content has room for what is in it and no more. */
function contentOf(progress: Progress, of: (open: OpenBlock) => AssistantContent[]): AssistantContent[] {
  const [only, ...more] = ordered(progress);
  if (only === undefined) return [];
  return more.length === 0 ? of(only) : [only, ...more].flatMap(of).slice();
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
