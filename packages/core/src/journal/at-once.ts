import type { AppendOutcome } from './journal.ts';

const OUTCOME = Symbol('outcome');

interface AtOnce extends Promise<AppendOutcome> {
  [OUTCOME]?: AppendOutcome;
}

/** The answer of an append that had nothing to wait for: a promise like any other, and what it is kept with. */
export function keptAtOnce(outcome: AppendOutcome): Promise<AppendOutcome> {
  const kept: AtOnce = Promise.resolve(outcome);
  kept[OUTCOME] = outcome;
  return kept;
}

/** What came of an append, if this promise was kept when it was made: then there is nothing to wait for. */
export const outcomeAtOnce = (append: Promise<AppendOutcome>): AppendOutcome | undefined => (append as AtOnce)[OUTCOME];
