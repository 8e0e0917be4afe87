import type { DurableEvent, DurableEventBody } from '../events/events.ts';
import { asError } from '../as-error.ts';
import type { Owner } from './journal.ts';
import { countOf, readerOf, type KeptEvents } from './kept-events.ts';
import { changesFacts, factsAfter, type SessionFacts } from './session-facts.ts';
import { firstPromptOf } from './support.ts';

/** One log. A fork points at its parent's log, which outlives the parent's removal from the index. */
export interface Log {
  readonly sessionId: string;
  /** Place in the order of creation. */
  readonly ordinal: number;
  readonly parent: { readonly log: Log; readonly seq: number } | undefined;
  /** Events after the parent's part: the one with index 0 has the number `base + 1`. */
  readonly own: KeptEvents;
  readonly base: number;
  readonly createdAt: number;
  readonly agentId: string | undefined;
  facts: SessionFacts;
  updatedAt: number;
  firstPrompt: { readonly seq: number; readonly text: string } | undefined;
  /** The last event that `create` or `append` wrote: everything after it was posted. */
  lastAppended: number;
  epoch: number;
  holder: Owner | undefined;
  /** Where inputs were posted, by key; null before the first. */
  keys: Map<string, number> | null;
  snapshots: Map<number, string> | null;
  isRemoved: boolean;
}

export const seqOf = (log: Log): number => log.base + countOf(log.own);

/** The event, as a copy that has its number. One place for each that turns are made of: an engine copies the shapes it knows there. */
function numbered(body: DurableEventBody, seq: number): DurableEvent {
  switch (body.type) {
    case 'turn_started':
      return { ...body, seq };
    case 'message_added':
      return { ...body, seq };
    case 'tool_started':
      return { ...body, seq };
    case 'tool_ended':
      return { ...body, seq };
    case 'turn_ended':
      return { ...body, seq };
    default:
      return { ...body, seq };
  }
}

export function addEvent(log: Log, body: DurableEventBody): DurableEvent {
  const event = numbered(body, seqOf(log) + 1);
  log.own.tail.push(event);
  if (changesFacts(body)) log.facts = factsAfter(log.facts, body);
  if (event.type === 'input_received') {
    (log.keys ??= new Map()).set(event.key, event.seq);
    if (log.firstPrompt === undefined) {
      const text = firstPromptOf(event.input);
      if (text !== undefined) log.firstPrompt = { seq: event.seq, text };
    }
  }
  log.updatedAt = event.at;
  return event;
}

/** What a log has of its own, from one index to before another. */
interface Part {
  readonly own: KeptEvents;
  readonly from: number;
  readonly to: number;
}

/** The parts of logs that make up events `from` to the end, oldest first. */
function partsFrom(log: Log, from: number): Part[] {
  const parts: Part[] = [];
  let current: Log | undefined = log;
  let last = seqOf(log);
  while (current && last >= from) {
    parts.push({ own: current.own, from: Math.max(0, from - 1 - current.base), to: last - current.base });
    last = Math.min(last, current.base);
    current = current.parent?.log;
  }
  return parts.reverse();
}

/** The events of the parts, one at each call, then undefined. */
function eventsIn(parts: readonly Part[]): () => DurableEvent | undefined {
  let index = -1;
  let left = 0;
  let next = (): DurableEvent | undefined => undefined;
  return () => {
    while (left === 0) {
      const part = parts[++index];
      if (!part) return undefined;
      left = part.to - part.from;
      next = readerOf(part.own, part.from);
    }
    left -= 1;
    return next();
  };
}

/** The events of a log from a number on. A class, for in a literal the engine would make a name for this function each time. */
class Reading implements AsyncIterable<DurableEvent> {
  readonly #find: () => Log;
  readonly #from: number;

  constructor(find: () => Log, from: number) {
    this.#find = find;
    this.#from = from;
  }

  [Symbol.asyncIterator](): AsyncIterator<DurableEvent> {
    let next: (() => DurableEvent | undefined) | undefined;
    return {
      next: () => {
        try {
          next ??= eventsIn(partsFrom(this.#find(), Math.max(1, this.#from)));
          const event = next();
          return Promise.resolve(event ? { done: false, value: event } : END);
        } catch (error) {
          return Promise.reject(asError(error));
        }
      },
      return() {
        next = () => undefined;
        return Promise.resolve(END);
      },
    };
  }
}

const END: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** What `find` finds is read when the first event is asked for. */
export const reading = (find: () => Log, from: number): AsyncIterable<DurableEvent> => new Reading(find, from);

/** What gives back all of a log, also when it was removed: then as it is now. */
export function recallOf(log: Log): () => Iterable<DurableEvent> {
  // What is cut off a removed log, and off those it was forked from, is replaced and not changed.
  const now = partsFrom(log, 1).map(({ own, from, to }): Part => ({ own: { ...own }, from, to }));
  return function* () {
    const next = eventsIn(log.isRemoved ? now : partsFrom(log, 1));
    for (let event = next(); event; event = next()) yield event;
  };
}
