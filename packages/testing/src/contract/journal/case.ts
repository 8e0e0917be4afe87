import type { Journal } from '@treadle/core';

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

/** One case: throws an `AssertionError` when the journal breaks the contract. */
export interface ContractCase {
  readonly name: string;
  run(): Promise<void>;
}

export interface JournalContractOptions {
  /** Include the cases that open the store twice. Default false. */
  readonly shared?: boolean;
  /** Seed of the random interleavings. Default 1: the same each time. A failure names it. */
  readonly seed?: number;
  /** How many random interleavings. Default 25. */
  readonly runs?: number;
}

/** A case before it knows its journal. */
export interface JournalCase {
  readonly name: string;
  run(under: JournalUnderTest, options: Required<JournalContractOptions>): Promise<void>;
}
