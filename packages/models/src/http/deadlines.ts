import type { Clock } from '@treadle/core';

/** Something that is waited for. Only {@link createDeadlines} changes it, and it is in one list at a time. */
export interface Awaited {
  /** When it is too late, by the clock. */
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
  let latest = -Infinity;

  const now = (): number => {
    const time = clock.now();
    // The machine's time was set back: nobody waits for that much longer.
    if (time < latest) for (let item = first; item !== undefined; item = item.later) item.due = time + ms;
    latest = time;
    return time;
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
    clock.after(after, look, { background: true });
  };

  const look = (): void => {
    isSet = false;
    const time = now();
    for (let item = first; item !== undefined && item.due <= time; item = first) {
      remove(item);
      onPassed(item);
    }
    if (first !== undefined && !isSet) setTimer(first.due - time);
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
