import { testClock } from '@treadle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDeadlines } from './deadlines.ts';
import type { Awaited } from './deadlines.ts';

class Wait implements Awaited {
  due = 0;
  earlier: this | undefined = undefined;
  later: this | undefined = undefined;
  readonly name: number;

  constructor(name: number) {
    this.name = name;
  }
}

describe('deadlines', () => {
  it('pass for what is still waited for, each at its own time and once', async () => {
    const steps = fc.array(fc.record({ pause: fc.nat(150), removes: fc.option(fc.nat()) }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const clock = testClock();
        const passed: [number, number][] = [];
        const begun: number[] = [];
        const removed = new Map<number, number>();
        const deadlines = createDeadlines<Wait>(clock, 100, ({ name }) => passed.push([name, clock.now()]));
        const waiting: Wait[] = [];
        for (const [name, { pause, removes }] of all.entries()) {
          const wait = new Wait(name);
          begun.push(clock.now());
          deadlines.add(wait);
          waiting.push(wait);
          const left = waiting.filter((one) => clock.now() < (begun[one.name] ?? 0) + 100 && !removed.has(one.name));
          const gone = removes === null ? undefined : left[removes % left.length];
          if (gone !== undefined) {
            deadlines.remove(gone);
            removed.set(gone.name, clock.now());
          }
          await clock.advance(pause);
        }
        await clock.advance(100);
        const expected = begun.flatMap((at, name) => (removed.has(name) ? [] : [[name, at + 100]]));
        expect(passed).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });

  it('have one timer, however many are waited for', async () => {
    const clock = testClock();
    const deadlines = createDeadlines<Wait>(clock, 100, () => undefined);
    for (let name = 0; name < 50; name++) {
      const wait = new Wait(name);
      deadlines.add(wait);
      if (name % 3 === 0) deadlines.remove(wait);
      await clock.advance(7);
      expect(clock.pending).toBe(1);
    }
    await clock.advance(200);
    expect(clock.pending).toBe(0);
  });

  it('may be set anew by what one of them does when it passes', async () => {
    const clock = testClock();
    const start = clock.now();
    const passed: number[] = [];
    const deadlines = createDeadlines<Wait>(clock, 100, (wait) => {
      passed.push(clock.now() - start);
      if (passed.length < 3) deadlines.add(wait);
    });
    deadlines.add(new Wait(1));
    await clock.advance(1000);
    expect(passed).toEqual([100, 200, 300]);
  });

  it('wait no longer than twice when the time of the machine is set back', async () => {
    const clock = testClock();
    let shift = 0;
    const shifted = { now: () => clock.now() + shift, after: clock.after.bind(clock) };
    const passed: number[] = [];
    const deadlines = createDeadlines<Wait>(shifted, 100, ({ name }) => passed.push(name));
    deadlines.add(new Wait(1));
    await clock.advance(50);
    shift = -3_600_000;
    deadlines.add(new Wait(2));
    await clock.advance(99);
    expect(passed).toEqual([]);
    await clock.advance(1);
    expect(passed).toEqual([1, 2]);
  });

  it('pass no earlier when the time of the machine is set forward', async () => {
    const clock = testClock();
    const start = clock.now();
    let shift = 0;
    const shifted = { now: () => clock.now() + shift, after: clock.after.bind(clock) };
    const passed: [number, number][] = [];
    const deadlines = createDeadlines<Wait>(shifted, 100, ({ name }) => passed.push([name, clock.now() - start]));
    deadlines.add(new Wait(1));
    await clock.advance(90);
    deadlines.add(new Wait(2));
    await clock.advance(5);
    shift = 3_600_000;
    await clock.advance(1000);
    expect(passed).toEqual([
      [1, 100],
      [2, 190],
    ]);
  });

  it('pass also by a clock that stands still', async () => {
    const clock = testClock();
    const passed: number[] = [];
    const still = { now: () => 0, after: clock.after.bind(clock) };
    const deadlines = createDeadlines<Wait>(still, 100, ({ name }) => passed.push(name));
    deadlines.add(new Wait(1));
    await clock.advance(99);
    expect(passed).toEqual([]);
    await clock.advance(1);
    expect(passed).toEqual([1]);
  });
});
