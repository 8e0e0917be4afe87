import type { DurableEvent } from '../events/events.ts';
import type { AppendOutcome } from './journal.ts';

const OUTCOME = Symbol('outcome');
const FIRST = Symbol('first');

interface AtOnce<Value> extends Promise<Value> {
  [OUTCOME]?: AppendOutcome;
  [FIRST]?: DurableEvent;
}

/** The answer of an append that had nothing to wait for: a promise like any other, and what it is kept with. */
export function keptAtOnce(outcome: AppendOutcome): Promise<AppendOutcome> {
  const kept: AtOnce<AppendOutcome> = Promise.resolve(outcome);
  kept[OUTCOME] = outcome;
  return kept;
}

/** What came of an append, if this promise was kept when it was made: then there is nothing to wait for. */
export const outcomeAtOnce = (append: Promise<AppendOutcome>): AppendOutcome | undefined =>
  (append as AtOnce<AppendOutcome>)[OUTCOME];

/** The answer of a journal that has begun a log, as it says, with this event, and nothing else is in it. */
export function begunAtOnce(first: DurableEvent): Promise<void> {
  const kept: AtOnce<void> = Promise.resolve();
  kept[FIRST] = first;
  return kept;
}

/** All that is in a log that was begun, if this promise was kept when it was made. */
export const firstAtOnce = (create: Promise<void>): DurableEvent | undefined => (create as AtOnce<void>)[FIRST];
