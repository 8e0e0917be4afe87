import { setImmediate as nextRound } from 'node:timers/promises';
import type { Journal } from '../index.ts';

/**
 * A journal whose every answer takes some rounds of the event loop, as a disk's or a network's does: what happens
 * meanwhile is what a test of races is about.
 */
export function slowJournal(journal: Journal, rounds = 3): Journal {
  const late = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    for (let n = 0; n < rounds; n++) await nextRound();
    const value = await work();
    for (let n = 0; n < rounds; n++) await nextRound();
    return value;
  };
  return {
    ...journal,
    create: (...args) => late(() => journal.create(...args)),
    claim: (...args) => late(() => journal.claim(...args)),
    append: (...args) => late(() => journal.append(...args)),
    post: (...args) => late(() => journal.post(...args)),
    async *read(sessionId, from) {
      for (let n = 0; n < rounds; n++) await nextRound();
      yield* journal.read(sessionId, from);
      // The end is only known late: what is written meanwhile belongs to the next read.
      for (let n = 0; n < rounds; n++) await nextRound();
    },
  };
}
