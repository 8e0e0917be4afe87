import process from 'node:process';

import fc from 'fast-check';

// A property that fails for one seed in ten thousand is a bug to be found, but not by whoever changes something else: the
// ordinary tests draw the same cases every time, and `npm run test:random` draws new ones and names the seed of a failure.
const seed = process.env['TREADLE_TEST_SEED'] ?? '1';
if (seed !== 'random') {
  const number = Number(seed);
  if (!Number.isSafeInteger(number))
    throw new Error(`TREADLE_TEST_SEED is "${seed}": make it an integer, or "random".`);
  fc.configureGlobal({ seed: number });
}
