import fc from 'fast-check';
import { answers, clientResults, inputs, results } from './in-process.ts';
import { calls, replies } from './wires.ts';
import type { Fuzzed } from './fuzzed.ts';

export interface Target {
  /** The cases and what must hold for each; `before` is called with each case first. */
  property(before?: (given: unknown) => Promise<void>): fc.IAsyncProperty<unknown>;
  /** Cases of one round. */
  readonly runs: number;
}

function target<Given>({ given, play }: Fuzzed<Given>, runs: number): Target {
  return {
    property: (before) =>
      fc.asyncProperty(given, async (one) => {
        await before?.(one);
        await play(one);
      }),
    runs,
  };
}

/** What is fuzzed, by name. */
export const TARGETS: Readonly<Record<string, Target>> = {
  results: target(results, 100),
  'client-results': target(clientResults, 50),
  answers: target(answers, 50),
  inputs: target(inputs, 50),
  calls: target(calls, 50),
  replies: target(replies, 100),
};
