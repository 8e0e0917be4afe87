import type fc from 'fast-check';

/** Cases, and what is played with each. */
export interface Fuzzed<Given> {
  readonly given: fc.Arbitrary<Given>;
  play(given: Given): Promise<void>;
}

export const fuzzed = <Given>(given: fc.Arbitrary<Given>, play: (given: Given) => Promise<void>): Fuzzed<Given> => ({
  given,
  play,
});
