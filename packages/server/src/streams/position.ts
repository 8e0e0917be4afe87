import type { DurableEvent } from '@treadle/core';
import type { LiveEvent } from '@treadle/core/events';

type Delta = Extract<LiveEvent, { type: 'message_delta' }>;
type Started = Extract<LiveEvent, { type: 'message_started' }>;

/** How much a reader has of one block of a message, in UTF-16 code units. */
export interface BlockPosition {
  readonly kind: Delta['kind'];
  readonly length: number;
}

/** How much a reader has of a message that was still being streamed. */
export interface MessagePosition {
  readonly messageId: string;
  readonly attempt: number;
  readonly restart: number;
  /** By the block's index in the message. */
  readonly blocks: ReadonlyMap<number, BlockPosition>;
}

/** A place in a stream: after so many durable events, and in the middle of a message where one is open. */
export interface Position {
  readonly seq: number;
  readonly message: MessagePosition | null;
}

/** The beginning of a log. */
export const BEGINNING: Position = { seq: 0, message: null };

const KINDS = { t: 'text', h: 'thinking', a: 'tool_arguments' } as const;
const LETTERS = { text: 't', thinking: 'h', tool_arguments: 'a' } as const;
const ID =
  /^(\d{1,15})(?:~([A-Za-z0-9_-]{1,80})~(\d{1,9})~(\d{1,9})~([tha]\d{1,6}\.\d{1,12}(?:,[tha]\d{1,6}\.\d{1,12}){0,999})?)?$/;

/** The place that an id of a stream names; null for what is none. */
export function parsePosition(id: string): Position | null {
  const match = ID.exec(id);
  if (!match) return null;
  const [, seq, messageId, attempt, restart, blocks = ''] = match;
  if (messageId === undefined) return { seq: Number(seq), message: null };
  const known = new Map<number, BlockPosition>();
  for (const part of blocks === '' ? [] : blocks.split(',')) {
    const [index = '', length = ''] = part.slice(1).split('.');
    known.set(Number(index), { kind: KINDS[part[0] as keyof typeof KINDS], length: Number(length) });
  }
  const message = { messageId, attempt: Number(attempt), restart: Number(restart), blocks: known };
  return { seq: Number(seq), message };
}

export type PositionTracker = ReturnType<typeof trackPosition>;

/**
 * Follows what a reader is told, so that each message of its stream has an id it can come back with. Work per delta grows with
 * the blocks of its message, as its id does, and not with their length.
 */
export function trackPosition(from: Position) {
  let { seq } = from;
  let open: (Omit<MessagePosition, 'blocks'> & { readonly blocks: Map<number, BlockPosition> }) | null =
    from.message && { ...from.message, blocks: new Map(from.message.blocks) };
  /** The event that ended the message before. What is said of a message and is older is of one that is whole, or void. */
  let endedAt = 0;

  return {
    get seq(): number {
      return seq;
    },
    /** What the reader has of the open message; null when none is open, as far as it was told. */
    get message(): MessagePosition | null {
      return open;
    },
    durable(event: DurableEvent): void {
      ({ seq } = event);
      this.passed(event);
      if (endedAt === seq) open = null;
    },
    /** An event that the reader has been told of before. */
    passed(event: DurableEvent): void {
      if (endsMessage(event)) endedAt = event.seq;
    },
    /** Whether the reader knows that it began, and perhaps more of it: another process may say so late, or again. */
    isKnown({ afterSeq, messageId, attempt, restart = 0 }: Started): boolean {
      if (afterSeq < endedAt) return true;
      return open?.messageId === messageId && open.attempt === attempt && open.restart === restart;
    },
    started({ messageId, attempt, restart = 0 }: Started): void {
      open = { messageId, attempt, restart, blocks: new Map() };
    },
    /**
     * The part of a delta that the reader doesn't have yet; null when it has all of it, or lacks what comes before: also when it
     * wasn't told that the message began, which comes with what is sent again.
     */
    unseen(delta: Delta): Delta | null {
      if (delta.afterSeq < endedAt) return null;
      if (open?.messageId !== delta.messageId || open.attempt !== delta.attempt) return null;
      const known = open.blocks.get(delta.index)?.length ?? 0;
      const skip = known - delta.offset;
      if (skip < 0) return null;
      if (skip === 0) return delta;
      if (skip >= delta.text.length) return null;
      return { ...delta, offset: known, text: delta.text.slice(skip) };
    },
    delta({ messageId, attempt, index, kind, offset, text }: Delta): void {
      if (open?.messageId !== messageId) open = { messageId, attempt, restart: 0, blocks: new Map() };
      open.blocks.set(index, { kind, length: offset + text.length });
    },
    /** What is to be told of a live event: all of it, or the part that the reader lacks; null for nothing. It counts as told. */
    take(event: LiveEvent): LiveEvent | null {
      if (event.type === 'message_started') {
        if (this.isKnown(event)) return null;
        this.started(event);
        return event;
      }
      if (event.type !== 'message_delta') return event;
      const unseen = this.unseen(event);
      if (unseen) this.delta(unseen);
      return unseen;
    },
    /** A snapshot was told, which has everything up to an event. */
    jump(to: number): void {
      seq = to;
      open = null;
    },
    id(): string {
      if (!open) return String(seq);
      const { messageId, attempt, restart, blocks } = open;
      return [seq, messageId, attempt, restart, [...blocks].map(blockText).join(',')].join('~');
    },
  };
}

const blockText = ([index, { kind, length }]: readonly [number, BlockPosition]): string =>
  `${LETTERS[kind]}${index}.${length}`;

/** Whether nothing more of an open message comes after an event: it is there as a whole, or void. One is open at a time. */
function endsMessage(event: DurableEvent): boolean {
  switch (event.type) {
    case 'message_added':
      return event.message.role === 'assistant';
    case 'message_discarded':
    case 'attempt_failed':
    case 'turn_ended':
    case 'run_ended':
      return true;
    default:
      return false;
  }
}

/**
 * What a reader lacks of a message that was finished while it was away, as deltas: told before the message itself, so that
 * what it was streamed is all of the text. Arguments of calls aren't repeated here: the message has them parsed.
 */
export function missedDeltas(
  event: Extract<DurableEvent, { type: 'message_added' }>,
  { attempt, blocks }: MessagePosition,
  turnIndex: number,
): Delta[] {
  const { message, runId, seq } = event;
  if (message.role !== 'assistant') return [];
  return (['text', 'thinking'] as const).flatMap((kind) => {
    // Blocks begin in the order of their indexes, and those that say nothing are in neither list.
    const known = [...blocks].filter(([, block]) => block.kind === kind && block.length > 0).sort(([a], [b]) => a - b);
    const texts = message.content.flatMap((block) => (block.type === kind && block.text !== '' ? [block.text] : []));
    return texts.flatMap((text, place): Delta[] => {
      const [index, block] = known[place] ?? [indexAfter(blocks, place - known.length), { length: 0 }];
      if (block.length >= text.length) return [];
      const rest = { kind, index, offset: block.length, text: text.slice(block.length) };
      return [{ type: 'message_delta', afterSeq: seq - 1, runId, turnIndex, messageId: message.id, attempt, ...rest }];
    });
  });
}

/** An index for a block that the reader has nothing of: behind all that it knows. */
const indexAfter = (blocks: ReadonlyMap<number, BlockPosition>, place: number): number =>
  Math.max(-1, ...blocks.keys()) + 1 + place;
