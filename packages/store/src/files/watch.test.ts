import { systemClock } from '@treadle/core';
import { expect, it } from 'vitest';
import { createWatchers } from './watch.ts';

/** Looks that answer when the test says so. */
function slowLooks() {
  const asked: ((seq: number | null) => void)[] = [];
  return {
    look: () => new Promise<number | null>((resolve) => asked.push(resolve)),
    async answer(seq: number | null) {
      asked.shift()?.(seq);
      await Promise.resolve();
      await Promise.resolve();
    },
  };
}

it('tells of an own write, though the first look has found it before it was acknowledged', async () => {
  const looks = slowLooks();
  const watchers = createWatchers(systemClock, 1_000_000, looks.look);
  const heard: number[] = [];
  watchers.add('s', (seq) => heard.push(seq));
  await looks.answer(2);
  watchers.wrote('s', 2);
  watchers.wrote('s', 2);
  expect(heard).toEqual([2]);
  watchers.close();
});

it('tells of nothing that was there when somebody began to watch', async () => {
  const looks = slowLooks();
  const watchers = createWatchers(systemClock, 1_000_000, looks.look);
  const heard: number[] = [];
  watchers.add('s', (seq) => heard.push(seq));
  await looks.answer(7);
  expect(heard).toEqual([]);
  watchers.wrote('s', 8);
  expect(heard).toEqual([8]);
  watchers.close();
});
