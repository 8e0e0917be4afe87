import type { DurableEvent } from '../events/events.ts';
import { packed, unpacked, type Packed } from './packed.ts';

/** Events as they are, and before them those that were packed because nobody seemed to need them. */
export interface KeptEvents {
  /** Stretches of events, the oldest first. */
  stretches: Stretch[];
  /** How many events the stretches have. */
  packed: number;
  tail: DurableEvent[];
}

/** The index of its first event, and its events: packed, or as they are where packing would change them. */
interface Stretch {
  readonly from: number;
  readonly events: Packed | readonly DurableEvent[];
}

/** Events of a stretch at most: whoever reads one event unpacks no more than these. */
const STRETCH_EVENTS = 256;

const NONE: Stretch[] = [];

export const keptEvents = (): KeptEvents => ({ stretches: NONE, packed: 0, tail: [] });

export const countOf = ({ packed: before, tail }: KeptEvents): number => before + tail.length;

/** Puts all events where they take the least room. What was given out stays as it is. */
export function packEvents(kept: KeptEvents): void {
  const { tail } = kept;
  if (tail.length === 0) return;
  const stretches = kept.stretches.slice();
  for (let at = 0; at < tail.length; at += STRETCH_EVENTS) {
    const events = tail.slice(at, at + STRETCH_EVENTS);
    stretches.push({ from: kept.packed + at, events: packed(events) ?? events });
  }
  kept.stretches = stretches;
  kept.packed += tail.length;
  kept.tail = [];
}

/** Forgets the events from index `length` on. The lists of events that were there stay as they are. */
export function cutEvents(kept: KeptEvents, length: number): void {
  if (length < kept.packed) {
    kept.tail = Array.from(eventsOf(kept, 0, length));
    kept.stretches = NONE;
    kept.packed = 0;
  } else kept.tail = kept.tail.slice(0, length - kept.packed);
}

/** The events from index `from` to before `to`, as an iterator that finds them wherever they are by then. */
function* eventsOf(kept: KeptEvents, from: number, to: number): Generator<DurableEvent, undefined> {
  const next = readerOf(kept, from);
  for (let at = from; at < to; at++) {
    const event = next();
    if (event === undefined) return;
    yield event;
  }
}

/** Gives one event after the other, from index `from` on. Written by hand, for every event of a log goes through it. */
export function readerOf(kept: KeptEvents, from: number): () => DurableEvent | undefined {
  let at = from;
  let open: readonly DurableEvent[] = [];
  let openFrom = 0;
  /** The place of the next stretch: they are looked through once, for a session that often rests has many short ones. */
  let place = -1;
  return () => {
    if (at >= kept.packed) return kept.tail[at++ - kept.packed];
    if (at < openFrom || at >= openFrom + open.length) {
      if (place < 0) place = kept.stretches.findLastIndex((other) => other.from <= at);
      const stretch = kept.stretches[place++];
      if (stretch === undefined) return undefined;
      const { events } = stretch;
      openFrom = stretch.from;
      open = 'text' in events ? (unpacked(events) as unknown as DurableEvent[]) : events;
    }
    return open[at++ - openFrom];
  };
}
