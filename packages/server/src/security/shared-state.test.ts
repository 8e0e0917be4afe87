import { testClock } from '@treadle/testing';
import { expect, it } from 'vitest';
import { memoryState } from './shared-state.ts';

it('keeps a value for its time, and the newest of too many', async () => {
  const clock = testClock();
  const state = memoryState(clock, 2);
  const count = (key: string) =>
    state.update<number>(key, (before) => (before === 2 ? null : { value: (before ?? 0) + 1, forMs: 1000 }));
  expect([await count('a'), await count('a'), await count('a')]).toEqual([1, 2, 2]);
  await clock.advance(1000);
  expect(await count('a')).toBe(1);
  await count('b');
  await count('c');
  expect([await count('c'), await count('b'), await count('a')]).toEqual([2, 2, 1]);
});
