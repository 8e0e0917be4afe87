import type { Draft } from '../../draft.ts';
import type { LiveEvent } from '../../events/events.ts';
import type { AssistantContent, ToolCallBlock } from '../../messages/content.ts';
import type { ModelBlock, ModelEvent, ModelToolCall, StopReason } from '../../model/model.ts';
import { createPartialJson, type PartialJson } from '../../model/partial-json.ts';
import type { Ids } from '../../ports/ids.ts';
import { parseArguments, type ParsedArguments } from '../../tools/arguments.ts';

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

export const openMessage = (place: MessagePlace, ids: Ids): OpenMessage => new Progress(place, ids);

/** What has come of a message by now. */
class Progress implements OpenMessage {
  readonly place: MessagePlace;
  readonly ids: Ids;
  /** In the order in which they came. */
  blocks: OpenBlock[] = [];
  /** The highest index among them. */
  highest = -1;
  /** Most deltas are of the same block as the one before. */
  latest: OpenBlock | null = null;
  begun = false;
  restarts = 0;

  constructor(place: MessagePlace, ids: Ids) {
    this.place = place;
    this.ids = ids;
  }
  hasBegun(): boolean {
    return this.begun;
  }
  hasText(): boolean {
    return this.blocks.some(({ kind, text }) => kind === 'text' && text !== '');
  }
  take(event: ModelEvent, observed: boolean): Delta | null {
    return take(this, event, observed);
  }
  restart(): boolean {
    const seen = this.blocks.length > 0;
    if (seen) this.restarts += 1;
    this.blocks = [];
    this.highest = -1;
    this.latest = null;
    return seen;
  }
  started(): LiveEvent {
    return started(this);
  }
  replay(): LiveEvent[] {
    const shown = ordered(this).filter(({ text }) => text !== '');
    return [started(this), ...shown.map((open) => delta(this.place, open, open.text, 0))];
  }
  finished(stopReason: StopReason): AssistantContent[] {
    return ordered(this).flatMap((open) => finishedBlock(open, stopReason));
  }
  salvaged(withThinking: boolean): AssistantContent[] {
    return ordered(this).flatMap((open) => salvagedBlock(open, withThinking));
  }
}

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
  // Blocks come in the order of their indexes, nearly always, and a reply may have thousands.
  const isNew = index > progress.highest;
  let found = isNew ? undefined : blocks.find((block) => block.index === index);
  if (isNew) progress.highest = index;
  if (!found) {
    const call = kind === 'tool_arguments' ? { name, callId: ids.create('call'), providerCallId } : null;
    found = { index, kind, text: '', call, partial: null, final: null };
    blocks.push(found);
  }
  progress.latest = found;
  return found;
}

/** What an open block says, from `offset` on. */
function delta(place: MessagePlace, open: OpenBlock, text: string, offset: number): Delta {
  const { afterSeq, runId, turnIndex, messageId, attempt } = place;
  const { kind, index, call, partial } = open;
  const shown = {
    type: 'message_delta',
    afterSeq,
    runId,
    turnIndex,
    messageId,
    attempt,
    kind,
    index,
    offset,
    text,
  } as const;
  if (!call) return shown;
  const { name: toolName, callId } = call;
  return { ...shown, toolName, callId, ...(partial?.value !== undefined && { partial: partial.value }) };
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
  ...(restarts > 0 && { restart: restarts }),
});

const ordered = ({ blocks }: Progress): readonly OpenBlock[] => blocks.toSorted((a, b) => a.index - b.index);

function finishedBlock(open: OpenBlock, stopReason: StopReason): AssistantContent[] {
  const { final, call } = open;
  // A wire closes every block of a message that finished; one it didn't close has nothing that may be relied on.
  if (!final) return [];
  if (final.type === 'text' && final.text === '' && !final.citations && !final.opaque) return [];
  if (final.type !== 'tool_call') return [final];
  const cut = stopReason === 'length' || stopReason === 'refusal' || stopReason === 'content_filter';
  const parsed = final.problem === undefined ? parseArguments(final.argumentsText, cut) : unreadable(final);
  const type = 'tool_call';
  const callId = call?.callId ?? '';
  const { name, providerCallId } = final;
  const { arguments: args, argumentsText, problem, problemMessage } = parsed;
  const block: Draft<ToolCallBlock> =
    providerCallId === ''
      ? { type, callId, name, arguments: args }
      : { type, callId, providerCallId, name, arguments: args };
  if (argumentsText !== undefined) block.argumentsText = argumentsText;
  if (problem !== undefined) block.problem = problem;
  if (problemMessage !== undefined) block.problemMessage = problemMessage;
  if (final.opaque !== undefined) block.opaque = final.opaque;
  return [block];
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
