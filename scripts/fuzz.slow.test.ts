// @module-tag slow

import fc from 'fast-check';
import { describe, it } from 'vitest';
import { TARGETS } from './fuzz/targets.ts';

// A short share of `npm run fuzz`, always of the same cases.

describe('values from outside that no type allows', () => {
  it.each(Object.entries(TARGETS))(
    'end no process, and leave a log that folds again: %s',
    { timeout: 120_000 },
    async (_, { property, runs }) => {
      await fc.assert(property(), { seed: 1, numRuns: runs / 5 });
    },
  );

  it.each(Object.entries(TARGETS))('the first few: %s', { tags: ['share'] }, async (_, { property, runs }) => {
    await fc.assert(property(), { seed: 1, numRuns: Math.ceil(runs / 100) });
  });
});
