import { contractOf, type ContractCase } from '../case.ts';
import type { JournalUnderTest } from '../journal/case.ts';
import { answeredSessions } from './answers.ts';
import { changedSessions } from './changes.ts';
import { crowdedSessions } from './crowd.ts';
import { forkedSessions } from './forks.ts';
import { storeOf } from './support.ts';

/**
 * What every session must do whatever journal it is in, as a list of cases for any test runner: many at once, forks at every event and
 * of forks, approvals that are answered twice, late or for another session, and agents whose tools or model are gone. It
 * is for journals that keep `journalContract`. `make` is called for each case; with its `open` the cases use the store as
 * several processes do.
 *
 * @example
 * ```ts
 * import { memoryJournal } from '@treadle/core';
 * import { sessionContract } from '@treadle/testing';
 *
 * // With any runner: for (const { name, run } of sessionContract(make)) it(name, run);
 * for (const { run } of sessionContract(() => ({ journal: memoryJournal() }))) await run();
 * ```
 */
export function sessionContract(make: () => JournalUnderTest | Promise<JournalUnderTest>): ContractCase[] {
  const cases = { ...crowdedSessions, ...forkedSessions, ...answeredSessions, ...changedSessions };
  return contractOf(cases, () => storeOf(make), undefined);
}
