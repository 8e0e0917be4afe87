import type { Journal } from '@treadle/core';
import type { Cases } from '../case.ts';

/** A fresh, empty journal for one case of the contract. */
export interface JournalUnderTest {
  readonly journal: Journal;
  /**
   * Opens the same store once more, as another process would. Journals that live in one process leave it out; the cases
   * that need it are then not part of the contract.
   */
  readonly open?: () => Promise<Journal>;
  /** Called after the case, whatever came of it. */
  readonly dispose?: () => Promise<void>;
}

/** Options of `journalContract`. */
export interface JournalContractOptions {
  /** Include the cases that open the store twice. Default false. */
  readonly shared?: boolean;
  /** Seed of the random interleavings. Default 1: the same each time. A failure names it. */
  readonly seed?: number;
  /** How many random interleavings. Default 25. */
  readonly runs?: number;
}

export type JournalCases = Cases<JournalUnderTest, Required<JournalContractOptions>>;

/** A journal that is closed when it is disposed of. */
export async function closing(make: () => JournalUnderTest | Promise<JournalUnderTest>): Promise<JournalUnderTest> {
  const under = await make();
  return {
    ...under,
    async dispose() {
      await under.journal.close();
      await under.dispose?.();
    },
  };
}
