import type { DurableEvent, DurableEventBody } from '../events/events.ts';
import type { Owner, Rest } from './journal.ts';
import { changesFacts, factsAfter, type SessionFacts } from './session-facts.ts';
import { firstPromptOf, isDrivenElsewhere } from './support.ts';

/** One log. A fork points at its parent's log, which outlives the parent's removal from the index. */
export interface Log {
  readonly sessionId: string;
  /** Place in the order of creation. */
  readonly ordinal: number;
  readonly parent: { readonly log: Log; readonly seq: number } | undefined;
  /** Events after the parent's part: the one with index 0 has the number `base + 1`. */
  own: DurableEvent[];
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
  /** Where inputs were posted, by key. */
  readonly keys: Map<string, number>;
  readonly snapshots: Map<number, string>;
  /** How it was left, and since when it is due; null for one that another session drives. */
  wake: (Pick<Rest, 'status' | 'waitsFor'> & { readonly dueAt: number | null }) | null;
}

export const seqOf = (log: Log): number => log.base + log.own.length;

export function addEvent(log: Log, body: DurableEventBody): DurableEvent {
  const event: DurableEvent = { ...body, seq: seqOf(log) + 1 };
  log.own.push(event);
  if (changesFacts(body)) log.facts = factsAfter(log.facts, body);
  if (event.type === 'input_received') {
    log.keys.set(event.key, event.seq);
    if (log.firstPrompt === undefined) {
      const text = firstPromptOf(event.input);
      if (text !== undefined) log.firstPrompt = { seq: event.seq, text };
    }
  }
  log.updatedAt = event.at;
  if (isDrivenElsewhere(body)) log.wake = null;
  return event;
}

/** The events of a log from number `from` on, those of the logs it was forked from first. `find` is asked at the first. */
export async function* reading(find: () => Log, from: number): AsyncGenerator<DurableEvent> {
  const parts: { readonly own: readonly DurableEvent[]; readonly start: number; readonly end: number }[] = [];
  const first = Math.max(1, from);
  let log: Log | undefined = find();
  let last = seqOf(log);
  while (log && last >= first) {
    parts.unshift({ own: log.own, start: Math.max(0, first - 1 - log.base), end: last - log.base });
    last = Math.min(last, log.base);
    log = log.parent?.log;
  }
  for (const { own, start, end } of parts) {
    for (let index = start; index < end; index++) {
      const event = own[index];
      if (event) yield event;
    }
  }
}
