import type { Clock } from '@treadle/core';

/** Something that is waited for. Only {@link createDeadlines} changes it, and it is in one list at a time. */
export interface Awaited {
  /** When it is too late. */
  due: number;
  earlier: this | undefined;
  later: this | undefined;
}

/** Waits that may all last equally long. */
export interface Deadlines<T extends Awaited> {
  /** It is waited for from now on. It isn't in any list. */
  add(item: T): void;
  /** It isn't waited for any more. It is in this list. */
  remove(item: T): void;
}

/** A timer may fire so much later than it was to. If it is later by the clock, somebody has set that. */
const LATE_MS = 1000;

/**
 * One timer for any number of waits that may all last `ms` milliseconds. Nearly every one of them is over long before, so
 * the timer is neither set nor cancelled with each: when it fires it looks whose time is over, and sleeps until that of the
 * one that is due next. It keeps no process alive: what is waited for does.
 */
export function createDeadlines<T extends Awaited>(
  clock: Clock,
  ms: number,
  onPassed: (item: T) => void,
): Deadlines<T> {
  let first: T | undefined;
  let last: T | undefined;
  let isSet = false;
  /** When the timer fires. */
  let firesAt = 0;
  let latest = -Infinity;
  /** How far our time is from the clock's, which may be set forward, or stand still, while timers go on. */
  let offset = 0;

  const timeIs = (time: number): number => {
    offset = time - clock.now();
    return (latest = time);
  };

  const now = (): number => {
    const time = clock.now() + offset;
    if (time < latest) {
      // Set back: nobody knows how long they have waited. They wait anew, so twice as long at most.
      for (let item = first; item !== undefined; item = item.later) item.due = time + ms;
      firesAt = time;
    } else if (isSet && time > firesAt + LATE_MS) {
      // With a timer that has not fired it can't be that late.
      return timeIs(firesAt);
    }
    return (latest = time);
  };

  const remove = (item: T): void => {
    const { earlier, later } = item;
    if (earlier === undefined) first = later;
    else earlier.later = later;
    if (later === undefined) last = earlier;
    else later.earlier = earlier;
    item.earlier = undefined;
    item.later = undefined;
  };

  const setTimer = (after: number): void => {
    isSet = true;
    firesAt = latest + after;
    clock.after(after, look, { background: true });
  };

  const look = (): void => {
    let time = now();
    if (time < firesAt) time = timeIs(firesAt);
    // What is added meanwhile sets no timer of its own: the one below is set for what is due first.
    try {
      for (let item = first; item !== undefined && item.due <= time; item = first) {
        remove(item);
        onPassed(item);
      }
    } finally {
      isSet = false;
      if (first !== undefined) setTimer(Math.max(0, first.due - latest));
    }
  };

  return {
    add(item) {
      item.due = now() + ms;
      item.earlier = last;
      if (last === undefined) first = item;
      else last.later = item;
      last = item;
      if (!isSet) setTimer(ms);
    },
    remove,
  };
}
