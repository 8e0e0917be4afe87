import { contractOf, type ContractCase } from '../case.ts';
import { closing, type JournalContractOptions, type JournalUnderTest } from './case.ts';
import { claims } from './claims.ts';
import { concurrency } from './concurrency.ts';
import { forks } from './forks.ts';
import { listing } from './listing.ts';
import { logs } from './logs.ts';
import { secondHandle } from './second-handle.ts';
import { snapshots } from './snapshots.ts';
import { wakes } from './wakes.ts';

/**
 * What every `Journal` must do, as a list of cases for any test runner. `make` is called for each case.
 *
 * @example
 * ```ts
 * import { memoryJournal } from '@treadle/core';
 * import { journalContract } from '@treadle/testing';
 *
 * // With any runner: for (const { name, run } of journalContract(make)) it(name, run);
 * for (const { run } of journalContract(() => ({ journal: memoryJournal() }))) await run();
 * ```
 */
export function journalContract(
  make: () => JournalUnderTest | Promise<JournalUnderTest>,
  options: JournalContractOptions = {},
): ContractCase[] {
  const settings = { shared: false, seed: 1, runs: 25, ...options };
  const shared = settings.shared ? secondHandle : {};
  const cases = { ...logs, ...claims, ...concurrency, ...forks, ...listing, ...snapshots, ...wakes, ...shared };
  return contractOf(cases, () => closing(make), settings);
}
