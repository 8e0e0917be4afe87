import { describe, expect, it } from 'vitest';
import { countingIds, testClock } from './index.ts';

describe('testClock', () => {
  it('runs due timers in order of time and then of setting, each at its own time', async () => {
    const clock = testClock(0);
    const log: string[] = [];
    const note = (name: string) => () => void log.push(`${name}@${clock.now()}`);
    clock.after(20, note('late'));
    clock.after(10, note('first'));
    clock.after(10, note('second'));
    clock.after(31, note('not yet'));
    await clock.advance(30);
    expect(log).toEqual(['first@10', 'second@10', 'late@20']);
    expect([clock.now(), clock.pending]).toEqual([30, 1]);
  });

  it('runs what a timer sets, when that falls due too, and lets promises have their turn in between', async () => {
    const clock = testClock(0);
    const log: number[] = [];
    clock.after(5, () => {
      void Promise.resolve().then(() => clock.after(5, () => log.push(clock.now())));
    });
    await clock.advance(10);
    expect(log).toEqual([10]);
  });

  it('cancels', async () => {
    const clock = testClock();
    let ran = false;
    const cancel = clock.after(1, () => {
      ran = true;
    });
    cancel();
    await clock.advance(10);
    expect([ran, clock.pending]).toEqual([false, 0]);
  });
});

describe('countingIds', () => {
  it('counts each prefix by itself', () => {
    const ids = countingIds();
    expect([ids.create('a'), ids.create('b'), ids.create('a')]).toEqual(['a_1', 'b_1', 'a_2']);
  });
});
