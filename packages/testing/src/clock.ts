import type { Clock } from '@treadle/core';

/** Time that stands still until it is told to move. */
export interface TestClock extends Clock {
  /**
   * Moves time on by `ms` and runs what falls due on the way, in order of time, then of setting. A timer sees its own due
   * time as `now()`, and timers that it sets run too if they fall due. Between timers pending promises get their turn.
   */
  advance(ms: number): Promise<void>;
  /** Timers that wait, background ones included. */
  readonly pending: number;
}

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly fn: () => void;
}

/** Lets everything that is ready to run do so: promise reactions, and what they schedule for this turn of the loop. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * A clock that a test moves by hand.
 *
 * @example
 * ```ts
 * import { testClock } from '@treadle/testing';
 *
 * const clock = testClock();
 * clock.after(5000, () => console.log('five seconds later:', clock.now()));
 * await clock.advance(5000);
 * ```
 *
 * @param start Milliseconds since 1970-01-01 UTC. Default: 2025-01-01.
 */
export function testClock(start: number = Date.UTC(2025, 0, 1)): TestClock {
  const timers = new Set<Timer>();
  let now = start;
  let order = 0;

  function nextDue(until: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of timers) {
      if (timer.due > until) continue;
      if (!next || timer.due < next.due || (timer.due === next.due && timer.order < next.order)) next = timer;
    }
    return next;
  }

  return {
    now: () => now,
    after(ms, fn) {
      const timer = { due: now + Math.max(0, ms), order: order++, fn };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (let timer = nextDue(until); timer; timer = nextDue(until)) {
        timers.delete(timer);
        now = Math.max(now, timer.due);
        timer.fn();
        await settle();
      }
      now = Math.max(now, until);
    },
    get pending() {
      return timers.size;
    },
  };
}
